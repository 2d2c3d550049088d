"""Why an element cannot be changed now, if so: operation 12 tells it and writing refuses by it (D15, D20)."""

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
    """The values of readOnlyContext."""

    NONE = "None"
    DIAGRAM = "Diagram"
    """It lives in the diagram of a version that is no draft."""
    ARCHITECT = "Architect"
    """Its type is for architects to change."""
    ALL = "All"
    """Its version is no draft, so nobody can change it."""
    NOT_CURRENT_USER = "NotCurrentUser"
    """It has authors, and the caller is none of them."""
    NEVER = "Never"
    """The caller's roles do not allow to change anything."""


def find_lock(
    caller: Caller, type: ElementType, category: str, authors: Collection[UUID], diagrams: Collection[str]
) -> Lock:
    """`diagrams` are the categories of the versions in whose diagrams the element is drawn."""
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
    """What can still be changed while versions in these categories lock an element: in a published version some
    properties, in any other that is no draft none."""
    if any(category != Category.PUBLISHED for category in locking):
        return frozenset()
    return frozenset(each.key for each in type.properties if each.editable_in_released)


def locking_categories(lock: Lock, own: str, diagrams: Collection[str]) -> set[str]:
    """The categories that a lock by states comes from: those of the diagrams, or that of the version itself."""
    return {each for each in (diagrams if lock is Lock.DIAGRAM else (own,)) if each not in CHANGEABLE}
