"""Limit a storage of the benchmark by permission sets: `python -m benchmarks.limited FOLDER KEY COUNT`.

Every set covers a branch of the tree, and every second one hides it from the editor whose token is kept in the folder.
With a count of 0 the storage stays as it is, and the editor sees all of it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from uuid import UUID

import django
import orjson

from benchmarks.installation import COLLECTION
from benchmarks.workloads import USER_KIND, sample_id


def limit_storage(folder: Path, key: str, count: int) -> None:
    from elements.permission_sets.inheritance import rebuild_inherited
    from elements.writing.statements import execute
    from facets.models import PermissionSet
    from storage.access.tokens import issue_token
    from storage.models import Storage
    from storage.options import Role
    from storage.tenancy.contexts import find_context
    from storage.tenancy.scope import tenant_scope

    file, name = folder / "tokens.json", editor_of(key)
    tokens = orjson.loads(file.read_bytes())
    if name in tokens:
        return
    editor, other = (sample_id(number, USER_KIND) for number in range(2))
    with tenant_scope(Storage.objects.get(key=key)):
        PermissionSet.objects.bulk_create(
            PermissionSet(
                number=number + 1,
                # The tree has a fan-out of ten: a power of ten is the size of a level, which begins here.
                creation_id=sample_id((count - 1) // 9 + number),
                entries={"show": [other] if number % 2 else [editor, other]},
            )
            for number in range(count)
        )
        rebuild_inherited()
    execute("ANALYZE elements_inheritedset", ())
    token = issue_token(find_context(COLLECTION, key), name, [Role.EDITOR], user_id=UUID(editor), never_expires=True)
    file.write_bytes(orjson.dumps({**tokens, name: token.value}))


def editor_of(key: str) -> str:
    """Return the name of the editor's token."""
    return f"{key}-editor"


if __name__ == "__main__":
    django.setup()
    limit_storage(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
