"""Tags of single elements: the version and its revision, which `If-Match` is about, then a digest of all else."""

from __future__ import annotations

import re

FULL = re.compile(r'"([0-9a-f-]{36}\.[0-9]+)\.[0-9a-f]{16}"')


def version_tag(tag: str) -> str:
    """The tag that a write answers for the same version."""
    found = FULL.fullmatch(tag)
    assert found, tag
    return f'"{found[1]}"'
