"""Entity tags of versions, and the digest of the code that is part of every entity tag (D74, D129, D135)."""

from __future__ import annotations

from functools import cache
from hashlib import blake2b

from elements.reading.rows import VersionRow
from repository_site.core.environment import PROJECT_DIR

# Not `release`: it has no conditional reads, and nothing that these use can import it.
PACKAGES = ("elements", "facets", "repository_site", "storage")


@cache
def code_digest() -> str:
    """Return a digest of our modules, the files beside them and the required libraries.

    After an upgrade a response may differ although nothing in the storage has changed.
    """
    found = sorted(
        file
        for package in PACKAGES
        for file in (PROJECT_DIR / package).rglob("*")
        if file.is_file() and file.suffix != ".pyc"
    )
    files = (*found, PROJECT_DIR / "requirements.txt")
    parts = [(str(file.relative_to(PROJECT_DIR)), blake2b(file.read_bytes()).digest()) for file in files]
    return blake2b(repr(parts).encode(), digest_size=16).hexdigest()


def is_tag_of(tag: str, row: VersionRow) -> bool:
    """Return whether a tag belongs to the current state of the version, whichever response contained it."""
    own = row.entity_tag
    return tag == own or tag.startswith(f"{own[:-1]}.")
