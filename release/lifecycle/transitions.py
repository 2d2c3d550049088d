"""Transitions (D21): which are offered to a caller now, and applying one, with all its effects in one transaction."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.utils.translation import gettext as _

from elements.reading.rows import VersionRow
from elements.writing.updating import Writer
from facets.blueprint.cycles import Category, Transition
from facets.configuration import CompiledCycle
from release.lifecycle.validation import check
from release.models import Task
from release.steps.effects import Change, ended, entered, published, read_published, write_steps
from release.steps.holding import Life, OnHeld, hold
from release.steps.log import Step, Taken
from release.steps.permissions import may_apply, require_transition
from release.tasks.decisions import request_consent
from repository_site.core.problems import Conflict, Invalid, NotFound, placed
from repository_site.core.wording import listed


@dataclass(frozen=True, slots=True, kw_only=True)
class TransitionRequest:
    transition: str
    ignore_warnings: bool = False
    comment: str = ""
    valid_until: datetime | None = None
    """The end that is asked for, where the transition only asks."""
    languages: str = ""
    """What the caller reads, as in Accept-Language."""


def offered_transitions(life: Life) -> list[Transition]:
    """What the caller may apply now, in configured order."""
    cycle = life.cycle
    if cycle is None:
        return []
    found = [each for each in cycle.cycle.transitions if each.source == life.row.state and may_apply(life, cycle, each)]
    if any(each.task for each in found) and _has_open_task(life):
        return [each for each in found if not each.task]
    return found


def _has_open_task(life: Life) -> bool:
    return Task.objects.filter(version_id=UUID(life.row.version), state=Task.State.OPEN).exists()


def apply_transition(
    writer: Writer,
    found: VersionRow,
    request: TransitionRequest,
    *,
    named: str | None = None,
    on_held: OnHeld | None = None,
) -> str:
    """The id of the version; `named` is the id that was asked with, an element's or a version's. Unknown is NotFound,
    what is not offered now is a Conflict; of many who try at the same time one succeeds."""
    life = hold(writer, found, named=named, on_held=on_held)
    cycle = life.cycle
    if cycle is None:
        raise NotFound(_("There is no transition of a %(type)s: it has no versions.") % {"type": life.type.key})
    transition = cycle.transition(request.transition)
    require_transition(life, cycle, transition)
    _refuse_what_is_not_offered(life, cycle, transition)
    if request.valid_until is not None and not transition.ends_version:
        text = _("is possible with a request to end a version only, not with %(key)s.")
        raise Invalid(placed("validUntil", text % {"key": transition.key}))
    now = writer.author.now
    ignored = check(life, transition, now, ignore_warnings=request.ignore_warnings, languages=request.languages)
    change = Change(writer.configuration, writer.zone, writer.author)
    if transition.task:
        request_consent(change, life, transition, request.comment, request.valid_until, ignored)
    elif cycle.enters_published(transition):
        _publish(change, life, transition, request.comment, ignored)
    else:
        if cycle.categories[transition.target] is Category.RETIRED:
            after = ended(change, life.row, transition.target)
        else:
            after = entered(cycle, life.row, transition.target)
        step = Taken(Step.TRANSITION, life.row, after, transition.key, request.comment, ignored)
        write_steps(change, [step])
    return life.row.version


def _refuse_what_is_not_offered(life: Life, cycle: CompiledCycle, transition: Transition) -> None:
    if transition.source != life.row.state:
        offered = [each.key for each in offered_transitions(life)]
        words = {"label": life.label, "state": life.row.state, "key": transition.key}
        if not offered:
            text = _("%(label)s is in the state %(state)s, %(key)s is not offered; nothing is offered now.")
            raise Conflict(text % words)
        text = _("%(label)s is in the state %(state)s, %(key)s is not offered; offered now: %(offered)s.")
        raise Conflict(text % {**words, "offered": listed(offered, _("and"))})
    if transition.task and _has_open_task(life):
        text = _("A task %(task)s of %(label)s is open; it must be decided or withdrawn first.")
        raise Conflict(text % {"task": transition.task, "label": life.label})


def _publish(change: Change, life: Life, transition: Transition, comment: str, ignored: list[str]) -> None:
    after = published(change, life.row, transition.target)
    steps = [Taken(Step.TRANSITION, life.row, after, transition.key, comment, ignored)]
    if (earlier := read_published(life.row)) is not None:
        steps.append(Taken(Step.SUCCESSION, earlier, ended(change, earlier)))
    write_steps(change, steps)
