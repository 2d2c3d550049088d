"""Create the storages of a benchmark installation and a token for each: `python -m benchmarks.storages FOLDER JSON`.

All of it happens in one process, because a command for each of a thousand storages would take two seconds each.
`python -m benchmarks.storages FOLDER KEY COUNT` limits one of them with COUNT permission sets, and
`python -m benchmarks.storages FOLDER visitor` begins a session.
"""

from __future__ import annotations

import hashlib
import sys
from io import StringIO
from pathlib import Path
from uuid import UUID

import django
import orjson
from django.core.management import call_command

from benchmarks.installation import COLLECTION
from benchmarks.workloads import USER_KIND, sample_id

# Name of the account whose session asks for pages.
VISITOR = "visitor"


def make_storages(folder: Path, sizes: dict[str, int]) -> None:
    from elements.demo.sample import sample_lines
    from repository_site.core.terminal.progress import with_progress
    from storage.access.tokens import issue_token
    from storage.models import Storage
    from storage.options import Role
    from storage.tenancy.contexts import find_context

    generator, file = folder / "generator", folder / "tokens.json"
    digest = hashlib.sha256(b"".join(sample_lines(100))).hexdigest()
    if generator.exists() and generator.read_text() != digest:
        sys.exit(f"error: an older generator made the storages in {folder}; remove the folder and run again")
    generator.write_text(digest)
    existing = set(Storage.objects.values_list("key", flat=True))
    tokens = orjson.loads(file.read_bytes()) if file.exists() else {}
    file.touch(mode=0o600)
    for key, count in with_progress(sizes.items(), f"Storages in {folder.name}", len(sizes)):
        if key not in existing:
            call_command("sample_storage", COLLECTION, key, str(count), "--plain", stderr=StringIO())
        if key not in tokens:
            tokens[key] = issue_token(find_context(COLLECTION, key), "benchmark", [Role.ADMINISTRATOR]).value
            file.write_bytes(orjson.dumps(tokens))


def limit_storage(folder: Path, key: str, count: int) -> None:
    """Give an editor a token, and limit what the editor sees by permission sets, if any.

    Every set covers a branch of the tree, and every second one hides it from the editor.
    """
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


def open_session(folder: Path) -> None:
    """Begin a session of a site administrator, for the pages."""
    from importlib import import_module

    from django.conf import settings
    from django.contrib.auth import login
    from django.http import HttpRequest

    from storage.models import StaffAccount

    file = folder / "tokens.json"
    account, _ = StaffAccount.objects.get_or_create(
        username=VISITOR, defaults={"is_staff": True, "is_superuser": True, "password": "!"}
    )
    request = HttpRequest()
    request.META["REMOTE_ADDR"] = "127.0.0.1"
    request.session = import_module(settings.SESSION_ENGINE).SessionStore()
    login(request, account, backend=settings.AUTHENTICATION_BACKENDS[0])
    request.session.save()
    file.write_bytes(orjson.dumps({**orjson.loads(file.read_bytes()), VISITOR: request.session.session_key}))


if __name__ == "__main__":
    django.setup()
    if len(sys.argv) > 3:
        limit_storage(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
    elif sys.argv[2:] == [VISITOR]:
        open_session(Path(sys.argv[1]))
    else:
        make_storages(Path(sys.argv[1]), orjson.loads(sys.argv[2]))
