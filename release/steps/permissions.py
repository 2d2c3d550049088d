"""Who may apply which transition (D21): the list of transitions shows it and applying enforces it, both from here."""

from __future__ import annotations

from django.utils.translation import gettext as _

from elements.permissions import Permission
from facets.blueprint.cycles import Category, Transition
from facets.configuration import CompiledCycle
from release.steps.holding import Life
from repository_site.core.problems import Forbidden
from repository_site.core.wording import listed


def needed_permissions(cycle: CompiledCycle, transition: Transition) -> tuple[Permission, ...]:
    """One of these: asking for something and handing in for review is editing, publishing is approving, and whoever
    does either may send a version back."""
    target = cycle.categories[transition.target]
    if transition.task or target is Category.REVIEW:
        return (Permission.EDIT,)
    if target is Category.DRAFT:
        return (Permission.EDIT, Permission.APPROVE)
    return (Permission.APPROVE,)


def may_apply(life: Life, cycle: CompiledCycle, transition: Transition) -> bool:
    return not life.granted.isdisjoint(needed_permissions(cycle, transition))


def require_transition(life: Life, cycle: CompiledCycle, transition: Transition) -> None:
    if not may_apply(life, cycle, transition):
        needed = listed(needed_permissions(cycle, transition), _("or"))
        raise Forbidden(_lacking(transition.key, life, needed))


def require(life: Life, permission: Permission, what: str) -> None:
    """`what` is what needs it."""
    if permission not in life.granted:
        raise Forbidden(_lacking(what, life, permission))


def _lacking(what: str, life: Life, needed: str) -> str:
    words = {"what": what, "label": life.label, "permission": needed}
    return _("%(what)s of %(label)s needs the permission %(permission)s.") % words
