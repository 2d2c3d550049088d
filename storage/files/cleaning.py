"""Removal of files that nothing uses any more, and of contents without a file (D454)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from uuid import UUID

import structlog
from django.db import connection
from django.utils import timezone

from repository_site.core.database.statements import fetch
from storage.extension import storage_extensions
from storage.files.contents import DIGEST, age_of_content, delete_content, names_in, remove_abandoned
from storage.files.storing import can_remove_contents, lock_content
from storage.files.texts import forget_text
from storage.models import Storage
from storage.quotas import note_bytes
from storage.tenancy.scope import StorageGone, tenant_scope

log = structlog.get_logger("files")
KEPT = timedelta(days=7)
# Contents that are looked for in one statement.
ASKED_AT_ONCE = 1_000


def remove_unused_files(storage: Storage) -> int:
    """Remove the files of a storage that nothing has used for a week, and contents that a failed upload has left.

    Return the number of removed files.
    """
    remove_abandoned()
    now = timezone.now()
    _note_use(storage, now)
    before = now - KEPT
    removed = 0
    while count := sum(_remove(storage, digest, before) for digest in _unused(storage, before)):
        removed += count
    for digest in _without_rows(storage):
        if age_of_content(storage.pk, digest) > KEPT:
            _remove(storage, digest, before)
    return removed


def discard_content(storage: Storage, digest: str) -> None:
    """Remove the content of an upload that failed, unless a file has it. If this fails, too, a nightly job does it."""
    try:
        _remove(storage, digest, timezone.now() - KEPT)
    except StorageGone:
        # No job looks at the contents of a storage that was removed meanwhile.
        delete_content(storage.pk, digest)
    except Exception as problem:
        log.warning("the content of a failed upload stays for a week", digest=digest, exc_info=problem)


def is_unused() -> str:
    """Return the condition that no app uses the file `f`."""
    return (
        " AND ".join(f"NOT EXISTS ({each.uses_of_file})" for each in storage_extensions if each.uses_of_file) or "TRUE"
    )


def _note_use(storage: Storage, now: datetime) -> None:
    """Note which files nothing uses any more, and which ones are used again."""
    sql = f"""UPDATE storage_storedfile f SET unused_since = CASE WHEN f.unused_since IS NULL THEN %s::timestamptz END
        WHERE (f.unused_since IS NULL) = ({is_unused()})"""  # noqa: S608  constants
    with tenant_scope(storage), connection.cursor() as cursor:
        cursor.execute(sql, [now])


def _unused(storage: Storage, before: datetime) -> list[str]:
    # A file was uploaded before it was unused, so the index by age finds it.
    sql = f"""SELECT f.digest FROM storage_storedfile f WHERE f.uploaded_on < %s AND f.unused_since < %s
        AND {is_unused()} ORDER BY f.uploaded_on LIMIT %s"""  # noqa: S608  constants
    with tenant_scope(storage):
        return sorted({row[0] for row in fetch(sql, [before, before, ASKED_AT_ONCE])})


def _remove(storage: Storage, digest: str, before: datetime) -> int:
    """Remove the rows of a content that nothing has used since `before`, and the content with its last row."""
    with tenant_scope(storage), connection.cursor() as cursor:
        lock_content(digest)
        if not can_remove_contents():
            return 0
        # Changes that attach one of them have locked it. After they have ended, the next statement sees what they did.
        cursor.execute("SELECT size FROM storage_storedfile WHERE digest = %s FOR UPDATE", [digest])
        sizes = [size for (size,) in cursor.fetchall()]
        sql = f"DELETE FROM storage_storedfile f WHERE f.digest = %s AND f.unused_since < %s AND {is_unused()}"  # noqa: S608  constants
        cursor.execute(sql, [digest, before])
        removed = int(cursor.rowcount)
        if removed == len(sizes):
            forget_text(digest)
            delete_content(storage.pk, digest)
            note_bytes(storage, -sizes[0] if sizes else 0)
        return removed


def _without_rows(storage: Storage) -> Iterator[str]:
    for digests in _contents(storage.pk):
        with tenant_scope(storage):
            rows = fetch("SELECT DISTINCT f.digest FROM storage_storedfile f WHERE f.digest = ANY(%s)", [digests])
        yield from sorted({*digests} - {digest for (digest,) in rows})


def _contents(storage: UUID) -> Iterator[list[str]]:
    """Yield the digests of all contents of a storage, folder by folder."""
    for folder in names_in(str(storage))[0]:
        found = [name for name in names_in(f"{storage}/{folder}")[1] if DIGEST.fullmatch(name)]
        yield from (found[start : start + ASKED_AT_ONCE] for start in range(0, len(found), ASKED_AT_ONCE))
