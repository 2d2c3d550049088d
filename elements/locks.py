"""Locks: reasons for which an element cannot be changed now. Operation 12 reports them and writing enforces them (D15,
D20)."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from uuid import UUID

from elements.permissions import Permission, granted_to, permissions, role_permissions
from facets.blueprint.cycles import Category
from facets.blueprint.definitions import ElementType
from storage.access.callers import Caller

CHANGEABLE = frozenset({Category.DRAFT, Category.STATIC})


class Lock(StrEnum):
    NONE = "None"
    DIAGRAM = "Diagram"
    """The element lives in the diagram of a version that is not a draft."""
    ARCHITECT = "Architect"
    """Only architects can change the type."""
    ALL = "All"
    """The version is not a draft, so nobody can change it."""
    NOT_CURRENT_USER = "NotCurrentUser"
    """The element has authors, and the caller is not one of them."""
    NEVER = "Never"
    """The caller's roles do not allow any change."""


def find_lock(
    caller: Caller,
    type: ElementType,
    category: str,
    authors: Collection[UUID],
    diagrams: Collection[str],
    denied: frozenset[Permission] = frozenset(),
) -> Lock:
    """Return the lock of an element. `diagrams` are the categories of the versions whose diagrams show it; `denied` is
    what permission sets deny the caller."""
    if Permission.EDIT in denied:
        return Lock.NEVER
    if Permission.EDIT not in role_permissions(caller, type):
        return Lock.ARCHITECT if Permission.EDIT in granted_to(caller) else Lock.NEVER
    if Permission.EDIT not in permissions(caller, type, authors):
        return Lock.NOT_CURRENT_USER
    if type.lives_in_diagrams and any(each not in CHANGEABLE for each in diagrams):
        return Lock.DIAGRAM
    if category not in CHANGEABLE:
        return Lock.ALL
    return Lock.NONE


def open_properties(type: ElementType, locking: Collection[str]) -> frozenset[str]:
    """Return the properties that can be changed while versions of these categories lock an element: some in a published
    version, none in others that are not drafts."""
    if any(category != Category.PUBLISHED for category in locking):
        return frozenset()
    return frozenset(each.key for each in type.properties if each.editable_in_released)


def locking_categories(lock: Lock, own: str, diagrams: Collection[str]) -> set[str]:
    """Return the categories that cause a lock: those of the diagrams, or that of the version itself."""
    return {each for each in (diagrams if lock is Lock.DIAGRAM else (own,)) if each not in CHANGEABLE}
