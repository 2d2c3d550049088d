"""Contents of files, outside of the database: one folder for each storage, and each content once (D450).

Django's storage API keeps them, in a folder or in a bucket (D455).
"""

from __future__ import annotations

import errno
import os
import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import IO, Any, Protocol, cast
from uuid import UUID

import structlog
from django.conf import settings
from django.core.files import File
from django.core.files.storage import Storage as Backend
from django.core.files.storage import storages
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from repository_site.core.problems import Busy, NotFound

# Beside the folders of the storages, so that a received file becomes a content by renaming it.
INCOMING = "incoming"
DIGEST = re.compile(r"[0-9a-f]{64}")
# Seconds after which a file that is still incoming was left by a process that was killed.
ABANDONED = 24 * 3600
# Packages of the errors of a bucket. They are not imported unless a bucket is configured.
REMOTE = ("boto3.", "botocore.", "s3transfer.")
NO_ROOM = _(
    "The server has no room for the file, so nothing was stored. Ask the operator of the installation to free disk"
    " space, then try again."
)
UNAVAILABLE = _("The server cannot reach the contents of files; try again in a few seconds.")
LOST = "The content of this file is missing on the server. Upload the file again."
log = structlog.get_logger("files")


def backend() -> Backend:
    return storages["files"]


def content_path(storage: UUID, digest: str) -> str:
    # A row of a forged backup must not lead into the folder of another storage.
    if not DIGEST.fullmatch(digest):
        raise ValueError(f"{digest[:80]!r} is not a SHA-256")
    return f"{storage}/{digest[:2]}/{digest}"


class Readable(Protocol):
    """An open content, or a part of one."""

    def read(self, size: int, /) -> bytes: ...

    def close(self) -> None: ...


class _Received(File):  # type: ignore[type-arg]  # not generic when it runs
    """A received file, which the folder of contents takes by renaming it."""

    def temporary_file_path(self) -> str:
        return str(self.name)


@contextmanager
def incoming_file() -> Iterator[IO[bytes]]:
    """Return a new file for a content that arrives. It is removed in the end, unless it has become a content."""
    folder = Path(settings.FILES_DIR) / INCOMING
    with storing():
        folder.mkdir(parents=True, exist_ok=True, mode=0o750)
        file = tempfile.NamedTemporaryFile(dir=folder, delete=False)  # noqa: SIM115  closed below
    try:
        yield cast("IO[bytes]", file)
    finally:
        # On a full disk, closing tries to write the rest again and fails again.
        with suppress(OSError):
            file.close()
        with suppress(FileNotFoundError):
            Path(file.name).unlink()


@contextmanager
def storing() -> Iterator[None]:
    """Turn errors of the disk, or of the bucket, into problems."""
    try:
        yield
    except Exception as problem:
        if not isinstance(problem, OSError) and not type(problem).__module__.startswith(REMOTE):
            raise
        log.error("contents of files are not available", error=str(problem))
        is_full = isinstance(problem, OSError) and problem.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        raise Busy(str(NO_ROOM if is_full else UNAVAILABLE), retry_after=30 if is_full else 5) from problem


def put_content(storage: UUID, digest: str, path: str) -> None:
    """Make a received file the content with this digest. If the content exists already, it is replaced by itself."""
    with storing():
        name = content_path(storage, digest)
        with Path(path).open("rb") as file:
            # Before the row names it: after a power failure, a row without its content would stay.
            os.fsync(file.fileno())
            backend().save(name, _Received(file, path))


def has_content(storage: UUID, digest: str) -> bool:
    with storing():
        return backend().exists(content_path(storage, digest))


def open_content(storage: UUID, digest: str) -> File[Any]:
    with storing():
        try:
            return backend().open(content_path(storage, digest), "rb")
        except FileNotFoundError:
            raise NotFound(LOST) from None


def open_part(storage: UUID, digest: str, start: int, end: int) -> Readable:
    """Open a content for reading its bytes from `start` to `end`."""
    content = open_content(storage, digest)
    with storing():
        if hasattr(content, "obj") and start < end:
            # In a bucket. Reading from the file itself would get the whole content first.
            found: Readable = content.obj.get(Range=f"bytes={start}-{end - 1}")["Body"]
            return found
        content.seek(start)
    return content


def delete_content(storage: UUID, digest: str) -> None:
    with storing():
        backend().delete(content_path(storage, digest))


def age_of_content(storage: UUID, digest: str) -> timedelta:
    with storing():
        return timezone.now() - backend().get_modified_time(content_path(storage, digest))


def names_in(folder: str) -> tuple[list[str], list[str]]:
    """Return the names of folders and of files in a folder of the contents."""
    with storing():
        try:
            folders, files = backend().listdir(folder)
        except FileNotFoundError:
            return [], []
        return sorted(folders), sorted(files)


def remove_contents(storage: UUID) -> None:
    """Remove all contents of a storage that does not exist any more."""
    for folder in names_in(str(storage))[0]:
        for name in names_in(f"{storage}/{folder}")[1]:
            with storing():
                backend().delete(f"{storage}/{folder}/{name}")
        with storing():
            backend().delete(f"{storage}/{folder}")
    with storing():
        backend().delete(str(storage))


def remove_abandoned() -> int:
    """Remove incoming files that a killed process has left, and return their number."""
    folder, removed = Path(settings.FILES_DIR) / INCOMING, 0
    with suppress(FileNotFoundError):
        for path in folder.iterdir():
            with suppress(FileNotFoundError):
                if path.stat().st_mtime < time.time() - ABANDONED:
                    path.unlink()
                    removed += 1
    return removed
