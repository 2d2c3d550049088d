"""Transitions (D21): list those that a caller can apply now, and apply one with all its effects in one transaction."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.utils.translation import gettext as _

from elements.reading.rows import VersionRow
from elements.writing.writers import Writer
from facets.blueprint.cycles import Transition
from facets.configuration import CompiledCycle
from release.models import Task
from release.steps.effects import LifecycleChange, take_transition
from release.steps.locking import LifecycleVersion, OnLocked, lock_version
from release.steps.permissions import may_apply, require_transition
from release.steps.validation import check
from release.tasks.decisions import request_consent
from repository_site.core.problems import Conflict, Invalid, NotFound, placed
from repository_site.core.wording import listed


@dataclass(frozen=True, slots=True, kw_only=True)
class TransitionRequest:
    transition: str
    ignore_warnings: bool = False
    comment: str = ""
    valid_until: datetime | None = None
    """The requested end, for transitions that request the end of a version."""
    languages: str = ""
    """The languages that the caller prefers, as in Accept-Language."""


def offered_transitions(current: LifecycleVersion) -> list[Transition]:
    """Return the transitions that the caller can apply now, in configured order."""
    cycle = current.cycle
    if cycle is None:
        return []
    found = [
        each for each in cycle.cycle.transitions if each.source == current.row.state and may_apply(current, cycle, each)
    ]
    if any(each.task for each in found) and _has_open_task(current):
        return [each for each in found if not each.task]
    return found


def _has_open_task(current: LifecycleVersion) -> bool:
    return Task.objects.filter(version_id=UUID(current.row.version), state=Task.State.OPEN).exists()


def apply_transition(
    writer: Writer,
    found: VersionRow,
    request: TransitionRequest,
    *,
    named: str | None = None,
    on_locked: OnLocked | None = None,
) -> str:
    """Apply a transition and return the id of the version.

    `named` is the id in the request, of an element or of a version. Raises NotFound for an unknown transition and
    Conflict for one that is not offered now. Of concurrent callers one succeeds.
    """
    current = lock_version(writer, found, named=named, on_locked=on_locked)
    cycle = current.cycle
    if cycle is None:
        raise NotFound(
            _("Elements of type %(type)s have no versions and therefore no transitions.") % {"type": current.type.key}
        )
    transition = cycle.transition(request.transition)
    require_transition(current, cycle, transition)
    _require_offered(current, cycle, transition)
    if request.valid_until is not None and not transition.ends_version:
        text = _("only a transition that ends a version accepts this, not %(key)s.")
        raise Invalid(placed("validUntil", text % {"key": transition.key}))
    now = writer.author.now
    ignored = check(current, transition, now, ignore_warnings=request.ignore_warnings, languages=request.languages)
    change = LifecycleChange(writer.configuration, writer.zone, writer.author)
    if transition.task:
        request_consent(change, current, transition, request.comment, request.valid_until, ignored)
    else:
        take_transition(change, current.row, transition, request.comment, ignored)
    return current.row.version


def _require_offered(current: LifecycleVersion, cycle: CompiledCycle, transition: Transition) -> None:
    if transition.source != current.row.state:
        offered = [each.key for each in offered_transitions(current)]
        words = {"label": current.label, "state": current.row.state, "key": transition.key}
        if not offered:
            text = _("%(key)s is not available for %(label)s in the state %(state)s. No transition is available.")
            raise Conflict(text % words)
        text = _("%(key)s is not available for %(label)s in the state %(state)s. Available transitions: %(offered)s.")
        raise Conflict(text % {**words, "offered": listed(offered, _("and"))})
    if transition.task and _has_open_task(current):
        text = _("%(label)s has an open task %(task)s; decide or withdraw it first.")
        raise Conflict(text % {"task": transition.task, "label": current.label})
