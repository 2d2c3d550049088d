"""Contents of files in zip archives: backups (D454) and transfer."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Iterable, Iterator
from typing import Any
from uuid import UUID

from django.core.files import File

from repository_site.core.problems import Invalid, NotFound
from storage.files.contents import incoming_file, open_content, put_content, storing

# Folder of the contents in an archive; their names are their digests.
FOLDER = "files/"
BLOCK = 1024 * 1024


def add_contents(archive: zipfile.ZipFile, storage: UUID, digests: Iterable[str]) -> list[str]:
    """Write contents into an archive, in constant memory. Return the digests of contents that are missing."""
    missing = []
    for digest in digests:
        try:
            content = open_content(storage, digest)
        except NotFound:
            missing.append(digest)
            continue
        # Most contents are compressed already.
        entry = zipfile.ZipInfo(f"{FOLDER}{digest}")
        with content, archive.open(entry, "w", force_zip64=True) as target:
            for block in _blocks(content):
                target.write(block)
    return missing


def _blocks(content: File[Any]) -> Iterator[bytes]:
    while True:
        with storing():
            block = content.read(BLOCK)
        if not block:
            return
        yield block


def take_content(archive: zipfile.ZipFile, storage: UUID, digest: str, size: int, *, keep: bool = True) -> bool:
    """Store a content of an archive, or only check it. Return whether the archive has it."""
    try:
        entry = archive.open(f"{FOLDER}{digest}")
    except KeyError:
        return False
    with entry, incoming_file() as file:
        found, left = hashlib.sha256(), size
        # One byte more than expected is enough to know.
        while block := entry.read(min(BLOCK, left + 1)):
            found.update(block)
            left -= len(block)
            if left < 0:
                break
            with storing():
                file.write(block)
        if left or found.hexdigest() != digest:
            raise Invalid(f"The content of the file {digest} is damaged: its size or its digest differs.")
        with storing():
            file.flush()
        if keep:
            put_content(storage, digest, str(file.name))
    return True
