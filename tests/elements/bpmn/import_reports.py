"""Reports of imports."""

from __future__ import annotations


def counts(**given: int) -> dict[str, int]:
    return {"added": 0, "changed": 0, "removed": 0, "unchanged": 0, "kept": 0, "lost": 0} | given
