"""Transitions (D21): list those that a caller can apply now, and apply one with all its effects in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from uuid import UUID

from django.utils.translation import gettext as _

from elements.permission_sets.callers import NOTHING
from elements.reading.rows import VersionRow
from elements.writing.findings import no_element
from elements.writing.stored import lock_elements
from elements.writing.writers import Writer
from facets.blueprint.cycles import Transition
from release.models import Task
from release.steps.effects import LifecycleChange, take_transitions
from release.steps.locking import LifecycleVersion, OnLocked, lock_version
from release.steps.permissions import may_apply, require_transition
from release.steps.validation import check
from release.tasks.decisions import request_consents
from repository_site.core.problems import Conflict, Invalid, NotFound, Problem, placed
from repository_site.core.wording import listed
from storage.tenancy.scope import whole_content


@dataclass(frozen=True, slots=True, kw_only=True)
class TransitionRequest:
    transition: str
    ignore_warnings: bool = False
    comment: str = ""
    valid_until: datetime | None = None
    """The requested end, for transitions that request the end of a version."""
    languages: str = ""
    """The languages that the caller prefers, as in Accept-Language."""


def offered_transitions(current: LifecycleVersion, has_open_task: Callable[[], bool] | None = None) -> list[Transition]:
    """Return the transitions that the caller can apply now, in configured order."""
    cycle, has_open_task = current.cycle, has_open_task or partial(_has_open_task, current)
    if cycle is None:
        return []
    found = [
        each for each in cycle.cycle.transitions if each.source == current.row.state and may_apply(current, cycle, each)
    ]
    if any(each.task for each in found) and has_open_task():
        return [each for each in found if not each.task]
    return found


def _has_open_task(current: LifecycleVersion) -> bool:
    return Task.objects.filter(version_id=UUID(current.row.version), state=Task.State.OPEN).exists()


@whole_content()
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
    _take(writer, [_decide(writer, current, request, lambda: _has_open_task(current))], request)
    return current.row.version


@whole_content()
def apply_transitions(
    writer: Writer, elements: Collection[str], request: TransitionRequest
) -> Mapping[str, Sequence[str]]:
    """Apply a transition to the newest version of each element that allows it; return the reasons of the others.

    The number of statements does not depend on the number of elements.
    """
    stored = lock_elements(elements, ()).visible()
    rows = [row for each in sorted(elements) if (row := stored.version_of(each, None))]
    tasks = Task.objects.filter(version_id__in=[UUID(row.version) for row in rows], state=Task.State.OPEN)
    waiting = {str(each) for each in tasks.values_list("version_id", flat=True)}
    # Others may have deleted some of them.
    refused: dict[str, Sequence[str]] = {each: [no_element(each)] for each in elements if each not in stored.elements}
    decided = []
    for row in rows:
        references = stored.references.get(row.version, {})
        denied = stored.denied.get(row.element, NOTHING)
        current = LifecycleVersion(writer.configuration, writer.caller, row, references, denied)
        try:
            decided.append(_decide(writer, current, request, partial(waiting.__contains__, row.version)))
        except Problem as problem:
            refused[row.element] = problem.details
    _take(writer, decided, request)
    return refused


# A version with the transition that it takes and the warnings that are ignored.
Decided = tuple[LifecycleVersion, Transition, Sequence[str]]


def _take(writer: Writer, decided: Sequence[Decided], request: TransitionRequest) -> None:
    change = LifecycleChange(writer.configuration, writer.zone, writer.author)
    asked = [each for each in decided if each[1].task]
    if asked:
        request_consents(change, asked, request.comment, request.valid_until)
    taken = [(current.row, transition, ignored) for current, transition, ignored in decided if not transition.task]
    if taken:
        take_transitions(change, taken, request.comment)


def _decide(
    writer: Writer, current: LifecycleVersion, request: TransitionRequest, has_open_task: Callable[[], bool]
) -> Decided:
    cycle = current.cycle
    if cycle is None:
        raise NotFound(
            _("Elements of type %(type)s have no versions and therefore no transitions.") % {"type": current.type.key}
        )
    transition = cycle.transition(request.transition)
    require_transition(current, cycle, transition)
    _require_offered(current, transition, has_open_task)
    if request.valid_until is not None and not transition.ends_version:
        text = _("only a transition that ends a version accepts this, not %(key)s.")
        raise Invalid(placed("validUntil", text % {"key": transition.key}))
    now = writer.author.now
    ignored = check(current, transition, now, ignore_warnings=request.ignore_warnings, languages=request.languages)
    return current, transition, ignored


def _require_offered(current: LifecycleVersion, transition: Transition, has_open_task: Callable[[], bool]) -> None:
    if transition.source != current.row.state:
        offered = [each.key for each in offered_transitions(current, has_open_task)]
        words = {"label": current.label, "state": current.row.state, "key": transition.key}
        if not offered:
            text = _("%(key)s is not available for %(label)s in the state %(state)s. No transition is available.")
            raise Conflict(text % words)
        text = _("%(key)s is not available for %(label)s in the state %(state)s. Available transitions: %(offered)s.")
        raise Conflict(text % {**words, "offered": listed(offered, _("and"))})
    if transition.task and has_open_task():
        text = _("%(label)s has an open task %(task)s; decide or withdraw it first.")
        raise Conflict(text % {"task": transition.task, "label": current.label})
