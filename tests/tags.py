"""Entity tags of single elements: version and revision, which `If-Match` compares, then a digest of the rest."""

from __future__ import annotations

import re

FULL = re.compile(r'"([0-9a-f-]{36}\.[0-9]+)\.[0-9a-f]{16}"')


def version_tag(tag: str) -> str:
    """Return the entity tag that a write answers for the same version."""
    found = FULL.fullmatch(tag)
    assert found, tag
    return f'"{found[1]}"'
