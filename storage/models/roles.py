"""Roles of callers (D20), from the least to the most powerful."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum


class Role(StrEnum):
    VIEWER = "viewer"
    ANALYZER = "analyzer"
    EDITOR = "editor"
    APPROVER = "approver"
    ARCHITECT = "architect"
    ADMINISTRATOR = "administrator"


def parse_roles(names: Iterable[str]) -> tuple[Role, ...]:
    """Return roles by their names, from the least to the most powerful; raise ValueError for an unknown name."""
    given = [name.strip().lower() for name in names]
    unknown = sorted(set(given) - set(Role))
    if unknown:
        raise ValueError(f"unknown role {', '.join(unknown)}; roles are {', '.join(Role)}")
    return tuple(role for role in Role if role in given)
