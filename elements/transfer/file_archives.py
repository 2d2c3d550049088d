"""Files of a storage in a zip archive beside the transfer lines: `files.ndjson`, and the contents by their digests."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.db import connection
from django.utils import timezone

from elements.transfer.files import MAX_LINE
from repository_site.core.database.statements import fetch
from repository_site.core.problems import Invalid, Problem
from repository_site.core.rest.rendering import to_json
from repository_site.core.rest.strict_json import parse_json
from repository_site.core.wording import GUID
from storage.files.archiving import add_contents, take_content
from storage.files.contents import DIGEST
from storage.files.media_types import KNOWN, LONGEST_NAME, UNKNOWN, file_name
from storage.files.storing import hold_contents
from storage.files.texts import note_missing_texts
from storage.models import Storage
from storage.quotas import note_bytes
from storage.tenancy.scope import tenant_scope

INDEX = "files.ndjson"
_USED = """FROM storage_storedfile f
    WHERE EXISTS (SELECT FROM elements_versionfile u WHERE u.file_id = f.id)"""
_FILES = f"SELECT f.id::text, f.name, f.media_type, f.size, f.digest {_USED} ORDER BY f.id"
FIELDS = ("id", "name", "mimeType", "size", "sha256")


def count_files(storage: Storage) -> int:
    """Return the number of files that versions have."""
    with tenant_scope(storage):
        return int(fetch(f"SELECT count(*) {_USED}")[0][0])


def export_files(storage: Storage, path: Path) -> tuple[int, int]:
    """Write the files that versions have. Return their number, and the number of contents that are missing."""
    draft = path.with_name(f"{path.name}.part")
    try:
        with zipfile.ZipFile(draft, "w", zipfile.ZIP_STORED) as archive:
            digests: dict[str, None] = {}
            count = 0
            with archive.open(INDEX, "w", force_zip64=True) as index, tenant_scope(storage, snapshot=True):
                for row in fetch(_FILES):
                    index.write(to_json(dict(zip(FIELDS, row, strict=True))) + b"\n")
                    digests[row[4]] = None
                    count += 1
            missing = add_contents(archive, storage.pk, digests)
        draft.replace(path)
    except OSError as problem:
        raise Invalid(f"{path} cannot be written: {problem.strerror or problem}.") from None
    finally:
        draft.unlink(missing_ok=True)
    return count, len(missing)


def import_files(storage: Storage, path: Path, caller: str, *, keep: bool) -> None:
    """Store the files of an archive that the storage does not have yet; call this in its scope. The files keep their
    ids. Contents of an import that fails are removed later, like those of failed uploads."""
    try:
        with zipfile.ZipFile(path) as archive:
            hold_contents()
            for number, raw in _index(archive):
                place = f"{path.name}, {INDEX}, line {number}"
                try:
                    _import_file(storage, archive, parse_json(raw, noun="The line"), caller, keep)
                except Problem as problem:
                    raise Invalid(f"{place}: {problem.message}") from None
            note_missing_texts(storage)
    except OSError as error:
        raise Invalid(f"{path} cannot be read: {error.strerror or error}.") from None
    except (zipfile.BadZipFile, KeyError, EOFError) as error:
        raise Invalid(f"{path} is not an archive of files, or is damaged: {error}.") from None


def _index(archive: zipfile.ZipFile) -> Iterator[tuple[int, bytes]]:
    with archive.open(INDEX) as index:
        number = 0
        while raw := index.readline(MAX_LINE):
            number += 1
            if raw.strip():
                yield number, raw


def _import_file(storage: Storage, archive: zipfile.ZipFile, found: Any, caller: str, keep: bool) -> None:
    if problem := _problem(found):
        raise Invalid(f"{problem}.")
    id, digest, size = found["id"].lower(), found["sha256"], found["size"]
    known = fetch("SELECT id::text, digest FROM storage_storedfile WHERE (id = %s OR digest = %s)", [id, digest])
    there = dict(known).get(id)
    if there not in (None, digest):
        raise Invalid(f"the storage has another file with the id {id}.")
    if there is not None:
        return
    if not take_content(archive, storage.pk, digest, size, keep=keep):
        raise Invalid(f"the archive does not have the content {digest}.")
    if not known:
        note_bytes(storage, size)
    with connection.cursor() as cursor:
        media_type = found["mimeType"] if found["mimeType"] in KNOWN else UNKNOWN
        # The same content and name again may have another id.
        cursor.execute(
            "INSERT INTO storage_storedfile (id, digest, size, media_type, name, uploaded_by, uploaded_on)"
            " VALUES (%s, %s, %s, %s, %s, %s, %s)",
            [id, digest, size, media_type, file_name(found["name"]), f"{caller} {id}", timezone.now()],
        )


def _problem(found: Any) -> str | None:
    if not isinstance(found, dict) or set(found) != set(FIELDS):
        return f"expected an object with {', '.join(FIELDS)}"
    texts = [found[name] for name in FIELDS if name != "size"]
    if not all(isinstance(text, str) for text in texts) or type(found["size"]) is not int or found["size"] < 0:
        return "size must be a number of bytes, and everything else text"
    if not GUID.fullmatch(found["id"]) or not DIGEST.fullmatch(found["sha256"]):
        return "id must be a GUID, and sha256 64 hexadecimal digits"
    if not file_name(found["name"]) or len(found["name"]) > LONGEST_NAME:
        return f"name must have 1 to {LONGEST_NAME} characters"
    return None
