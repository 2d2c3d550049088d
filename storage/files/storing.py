"""Rows of files: the caller of an upload gets one, and the content is stored once (D450)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import uuid4

from django.utils.translation import gettext_lazy as _

from repository_site.core.database.statements import fetch
from repository_site.core.problems import Busy
from storage.files.contents import has_content
from storage.files.receiving import ReceivedFile
from storage.files.texts import note_text
from storage.models import Storage
from storage.quotas import note_bytes, quota_of

AGAIN = _("The same content was just removed. Send the file again.")


@dataclass(frozen=True, slots=True)
class FileRow:
    """A file as responses and attributes show it."""

    id: str
    digest: str
    size: int
    media_type: str
    name: str
    uploaded_on: datetime


COLUMNS = "f.id::text, f.digest, f.size, f.media_type, f.name, f.uploaded_on"
_INSERT = f"""INSERT INTO storage_storedfile AS f (id, digest, size, media_type, name, uploaded_by, uploaded_on)
    VALUES (%s, %s, %s, %s, %s, %s, %s) ON CONFLICT (storage_id, digest, name, uploaded_by)
    DO UPDATE SET uploaded_on = excluded.uploaded_on, media_type = excluded.media_type, unused_since = NULL
    RETURNING {COLUMNS}"""  # noqa: S608  constants


def lock_content(digest: str) -> None:
    """Let uploads and the removal of one content wait for each other until the transaction ends."""
    sql = "SELECT pg_advisory_xact_lock(hashtextextended('file ' || current_setting('repository.storage') || %s, 0))"
    fetch(sql, [digest])


_ALL = "hashtextextended('files ' || current_setting('repository.storage'), 0)"


def hold_contents() -> None:
    """Let nobody remove contents until the transaction ends. An import has too many of them for a lock each."""
    fetch(f"SELECT pg_advisory_xact_lock({_ALL})")


def can_remove_contents() -> bool:
    """Return whether nobody holds the contents, and let those who want to wait until the transaction ends."""
    return bool(fetch(f"SELECT pg_try_advisory_xact_lock_shared({_ALL})")[0][0])


def store_file(storage: Storage, received: ReceivedFile, caller: str, now: datetime) -> FileRow:
    """Store a received file, whose content is in its place already. Call this in the scope of the storage.

    The same caller gets the same file again for the same content and name, so an upload can be repeated.
    """
    lock_content(received.digest)
    if not has_content(storage.pk, received.digest):
        raise Busy(str(AGAIN), retry_after=1)
    quota = quota_of(storage)
    if quota and not fetch("SELECT FROM storage_storedfile WHERE digest = %s LIMIT 1", [received.digest]):
        note_bytes(storage, received.size)
        quota.check({"bytes": received.size})
    note_text(storage, received.digest)
    values = (received.digest, received.size, received.media_type, received.name, caller, now)
    return FileRow(*fetch(_INSERT, [uuid4(), *values])[0])
