"""Permissions of transitions (D21), for listing the available transitions and for applying one."""

from __future__ import annotations

from django.utils.translation import gettext as _

from elements.permissions import Permission
from facets.blueprint.cycles import Category, Transition
from facets.configuration import CompiledCycle
from release.steps.locking import LifecycleVersion
from repository_site.core.problems import Forbidden
from repository_site.core.wording import listed


def needed_permissions(cycle: CompiledCycle, transition: Transition) -> tuple[Permission, ...]:
    """Return the permissions of which the caller needs one.

    Requests and steps into review need the edit permission, publishing needs the approve permission, and either is
    enough to send a version back.
    """
    target = cycle.categories[transition.target]
    if transition.task or target is Category.REVIEW:
        return (Permission.EDIT,)
    if target is Category.DRAFT:
        return (Permission.EDIT, Permission.APPROVE)
    return (Permission.APPROVE,)


def may_apply(current: LifecycleVersion, cycle: CompiledCycle, transition: Transition) -> bool:
    return not current.granted.isdisjoint(needed_permissions(cycle, transition))


def require_transition(current: LifecycleVersion, cycle: CompiledCycle, transition: Transition) -> None:
    if not may_apply(current, cycle, transition):
        needed = listed(needed_permissions(cycle, transition), _("or"))
        raise Forbidden(_lacking(transition.key, current, needed))


def require(current: LifecycleVersion, permission: Permission, what: str) -> None:
    """Raise Forbidden without the permission. `what` names the action in the message."""
    if permission not in current.granted:
        raise Forbidden(_lacking(what, current, permission))


def _lacking(what: str, current: LifecycleVersion, needed: str) -> str:
    words = {"what": what, "label": current.label, "permission": needed}
    return _("%(what)s of %(label)s requires the permission %(permission)s.") % words
