"""Permissions of a caller on an element (D20). Operation 12 reports them and writing enforces them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from uuid import UUID

from django.utils.translation import gettext as _

from elements.derived import AUTHOR_CONTEXTS
from facets.blueprint.definitions import ElementType
from facets.configuration import Configuration
from repository_site.core.problems import Forbidden
from storage.access.callers import Caller
from storage.options import Role


class Permission(StrEnum):
    NEW = "NewElement"
    EDIT = "EditElement"
    DELETE = "DeleteElement"
    SHOW = "ShowElement"
    APPROVE = "ApproveElement"
    OPEN = "OpenElement"


READING = frozenset({Permission.SHOW, Permission.OPEN})
CHANGING = frozenset({Permission.NEW, Permission.EDIT, Permission.DELETE})
ROLE_PERMISSIONS = {
    Role.VIEWER: READING,
    Role.ANALYZER: READING,
    Role.EDITOR: READING | CHANGING,
    Role.APPROVER: READING | {Permission.APPROVE},
    Role.ARCHITECT: frozenset(Permission),
    Role.ADMINISTRATOR: frozenset(Permission),
}
ARCHITECTS = frozenset({Role.ARCHITECT, Role.ADMINISTRATOR})


def sees_drafts(caller: Caller) -> bool:
    """Every role above viewer sees all states."""
    return bool(caller.roles - {Role.VIEWER})


def is_architect(caller: Caller) -> bool:
    return bool(caller.roles & ARCHITECTS)


def needs_permission(permission: str) -> str:
    return _("This requires the permission %(permission)s.") % {"permission": permission}


def require_reporting(caller: Caller) -> None:
    if not sees_drafts(caller):
        raise Forbidden("Reporting requires the role Analyzer or a higher one.")


def require_history(caller: Caller) -> None:
    """Refuse callers who must not see drafts, because the change history shows them."""
    if not sees_drafts(caller):
        raise Forbidden("The change history requires the role Analyzer or a higher one.")


def require_whole(configuration: Configuration, type: str) -> None:
    """Refuse the change history of an element that the caller sees only in part: it contains all values (D398)."""
    if type in configuration.partial:
        raise Forbidden("Only the user and the role Administrator can read the change history of a user.")


def require_lifecycle(caller: Caller) -> None:
    """Refuse callers who must not see drafts, because the lifecycle log and the tasks show them."""
    if not sees_drafts(caller):
        raise Forbidden("Lifecycle and tasks require the role Analyzer or a higher one.")


def granted_to(caller: Caller) -> frozenset[Permission]:
    """Return the permissions of the caller's roles, within the scope of a token (D489)."""
    granted = frozenset[Permission]().union(*(ROLE_PERMISSIONS[role] for role in caller.roles))
    return granted & READING if caller.scope.is_read_only else granted


def role_permissions(caller: Caller, type: ElementType) -> frozenset[Permission]:
    """Return the permissions of the caller's roles on elements of a type. Only architects can change architectural
    types."""
    if caller.scope.facets is not None and type.facet not in caller.scope.facets:
        return frozenset()
    granted = granted_to(caller)
    return granted - CHANGING if type.is_architectural and not is_architect(caller) else granted


def authors_in(held: Iterable[Mapping[str, Sequence[str]]]) -> set[UUID]:
    return {UUID(each) for contexts in held for name in AUTHOR_CONTEXTS for each in contexts.get(name, ())}


def permissions(
    caller: Caller, type: ElementType, authors: Collection[UUID], denied: frozenset[Permission] = frozenset()
) -> frozenset[Permission]:
    """Return the permissions on one element. If it has authors, only they and architects may change it. Permission sets
    deny some to others than administrators (D490)."""
    granted = role_permissions(caller, type) - denied
    if authors and caller.element_id not in authors and not is_architect(caller):
        return granted - {Permission.EDIT, Permission.DELETE}
    return granted
