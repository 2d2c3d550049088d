"""Entity tags of single elements: version and revision, which `If-Match` compares, then a digest of the rest."""

from __future__ import annotations

import re


class Unlike(int):
    """A revision in an expected row: any but this one, because every change replaces it with a random number."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, int) and int(self) != int(other)

    __hash__ = int.__hash__


FULL = re.compile(r'"([0-9a-f-]{36}\.[0-9]+)\.[0-9a-f]{16}"')


def is_version_tag(tag: str, version: str) -> bool:
    return re.fullmatch(rf'"{version}\.[0-9]+"', tag) is not None


def version_tag(tag: str) -> str:
    """Return the entity tag that a write answers for the same version."""
    found = FULL.fullmatch(tag)
    assert found, tag
    return f'"{found[1]}"'
