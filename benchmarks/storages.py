"""Create the storages of a benchmark installation and a token for each: `python -m benchmarks.storages FOLDER JSON`.

All of it happens in one process, because a command for each of a thousand storages would take two seconds each.
"""

from __future__ import annotations

import hashlib
import sys
from io import StringIO
from pathlib import Path

import django
import orjson
from django.core.management import call_command

from benchmarks.installation import COLLECTION


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


if __name__ == "__main__":
    django.setup()
    make_storages(Path(sys.argv[1]), orjson.loads(sys.argv[2]))
