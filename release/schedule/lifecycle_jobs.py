"""Scheduled jobs of the lifecycle (D21, D23): versions take effect and expire, and stuck tasks are marked.

The jobs can run repeatedly and concurrently: each finds what is due, locks it, and checks it again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

from django.utils import timezone

from elements.reading.rows import VersionRow, read_versions
from elements.writing.authors import Author
from elements.writing.stored import hold_elements
from facets.blueprint.cycles import Category
from facets.configuration import CompiledCycle, Configuration, configuration_of, settled_configuration
from release.models import Task
from release.steps.effects import LifecycleChange, open_tasks, with_state, write_steps
from release.steps.log import Step, StepTaken
from release.steps.opening import open_tasks_of
from release.tasks.approvers import look_up_approvers
from repository_site.core.database.repeating import repeated
from repository_site.core.database.statements import fetch
from storage.models import Storage
from storage.tenancy.scope import tenant_scope

CALLER = "run_lifecycle"
# Versions in one transaction.
BATCH = 200


@dataclass(slots=True)
class LifecycleJobResult:
    """The changes of a storage, or the planned ones in a dry run: one line of text each."""

    in_effect: list[str] = field(default_factory=list)
    expired: list[str] = field(default_factory=list)
    overtaken: list[str] = field(default_factory=list)
    stuck: list[str] = field(default_factory=list)
    freed: list[str] = field(default_factory=list)
    opened: list[str] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        return not (self.in_effect or self.expired or self.overtaken or self.stuck or self.freed or self.opened)


def run_lifecycle(
    storage: Storage, *, dry_run: bool = False, outcome: LifecycleJobResult | None = None
) -> LifecycleJobResult:
    """Do what is due now, or only report it with `dry_run`.

    `outcome` collects the changes as they are made, so that a caller sees those before a failure.
    """
    if dry_run:
        return _plan(storage)
    outcome = LifecycleJobResult() if outcome is None else outcome
    for find, step, done in ((_due_effects, Step.EFFECT, outcome.in_effect), (_due_ends, Step.EXPIRY, outcome.expired)):
        batch = partial(_run_batch, storage, find, step)
        while (taken := repeated(batch)) is not None:
            done += taken.lines
            outcome.overtaken += taken.tasks
    while opened := repeated(partial(_open_missing_tasks, storage)):
        outcome.opened += opened
    marks = repeated(partial(_mark_tasks, storage))
    outcome.stuck += marks.stuck
    outcome.freed += marks.freed
    return outcome


def _plan(storage: Storage) -> LifecycleJobResult:
    with tenant_scope(storage):
        configuration, now = configuration_of(storage), timezone.now()
        effects = _read_in_order(_due_effects(configuration, now, None))
        ends = _read_in_order(_due_ends(configuration, now, None))
        overtaken = list(open_tasks({row.version for row in (*effects, *ends)}))
        kept = Task.objects.filter(state=Task.State.OPEN).exclude(id__in={each.id for each in overtaken})
        marks = _find_marks(storage, now, kept)
        alone = _read_in_order(_waiting_alone(configuration, None))
    return LifecycleJobResult(
        [_line(row) for row in effects],
        [_line(row) for row in ends],
        [_task_line(each) for each in overtaken],
        marks.stuck,
        marks.freed,
        [_line(row) for row in alone],
    )


# Returns the ids of due versions, given the configuration, the time and a limit.
Finder = Callable[[Configuration, datetime, int | None], list[str]]


def _due_ends(configuration: Configuration, now: datetime, limit: int | None) -> list[str]:
    sql = """SELECT v.id::text FROM elements_elementversion v WHERE v.category = %s AND v.valid_until <= %s
        ORDER BY v.valid_until, v.id LIMIT %s"""
    return [row[0] for row in fetch(sql, [Category.PUBLISHED.value, now, limit])]


def _due_effects(configuration: Configuration, now: datetime, limit: int | None) -> list[str]:
    """Find valid versions that are to leave the first published state, in cycles with a state for taking effect."""
    found: list[str] = []
    for cycle, types in _cycles_with_effect(configuration):
        sql = """SELECT v.id::text FROM elements_elementversion v JOIN elements_element e ON e.id = v.element_id
            WHERE v.category = %s AND v.state = %s AND v.valid_from <= %s AND e.type_id = ANY(%s::uuid[])
            ORDER BY v.id LIMIT %s"""
        found += [row[0] for row in fetch(sql, [Category.PUBLISHED.value, cycle.published_state, now, types, limit])]
    return found


def _cycles_with_effect(configuration: Configuration) -> Iterator[tuple[CompiledCycle, list[UUID]]]:
    cycles = {each.cycle.key: each for each in configuration.cycles.values() if each.cycle.takes_effect}
    for cycle in cycles.values():
        yield cycle, [configuration.type_ids[key] for key, each in configuration.cycles.items() if each is cycle]


class BatchResult(NamedTuple):
    """Lines about the versions that took the step, and about the tasks that this made obsolete."""

    lines: list[str]
    tasks: list[str]


def _run_batch(storage: Storage, find: Finder, step: Step) -> BatchResult | None:
    with tenant_scope(storage):
        configuration = settled_configuration(storage)
        wanted = find(configuration, timezone.now(), BATCH)
        if not wanted:
            return None
        hold_elements((), wanted)
        author = Author(None, CALLER, "")
        due = [row for row in _read_in_order(wanted) if _is_due(configuration, row, step, author.now)]
        change = LifecycleChange(configuration, ZoneInfo(storage.time_zone), author)
        overtaken = write_steps(change, [_taken(change, row, step) for row in due])
        return BatchResult([_line(row) for row in due], [_task_line(each) for each in overtaken])


def _read_in_order(versions: Sequence[str]) -> list[VersionRow]:
    """Return the versions in the given order; the database returns rows in any order."""
    found = read_versions(versions, with_attributes=False)
    return [found[each] for each in versions if each in found]


def _is_due(configuration: Configuration, row: VersionRow, step: Step, now: datetime) -> bool:
    """Check a version again under the lock, because another transaction may have changed it."""
    if row.category != Category.PUBLISHED:
        return False
    if step is Step.EXPIRY:
        return row.valid_until is not None and row.valid_until <= now
    cycle = configuration.cycles[configuration.types_by_id[row.type].key]
    return row.state == cycle.published_state and row.valid_from is not None and row.valid_from <= now


def _taken(change: LifecycleChange, row: VersionRow, step: Step) -> StepTaken:
    cycle = change.cycle_of(row)
    target = cycle.cycle.takes_effect if step is Step.EFFECT else cycle.retired_state
    return StepTaken(step, row, with_state(cycle, row, target))


def _line(row: VersionRow) -> str:
    return f"{row.version}, version {row.major}.{row.minor} of {row.element}"


def _task_line(task: Task) -> str:
    return f"{task.id}, {task.type}"


def _waiting_alone(configuration: Configuration, limit: int | None) -> list[str]:
    """Find versions that wait without a task: they were imported, or their state got its task later."""
    found: list[str] = []
    cycles = {each.cycle.key: each for each in configuration.cycles.values() if each.waiting}
    for cycle in cycles.values():
        types = [configuration.type_ids[key] for key, each in configuration.cycles.items() if each is cycle]
        sql = """SELECT v.id::text FROM elements_elementversion v JOIN elements_element e ON e.id = v.element_id
            WHERE v.category = %s AND v.state = ANY(%s::text[]) AND e.type_id = ANY(%s::uuid[])
              AND NOT EXISTS (SELECT 1 FROM release_task t WHERE t.version_id = v.id AND t.state = %s)
            ORDER BY v.id LIMIT %s"""
        given = [Category.REVIEW.value, list(cycle.waiting), types, Task.State.OPEN.value, limit]
        found += [row[0] for row in fetch(sql, given)]
    return found


def _open_missing_tasks(storage: Storage) -> list[str]:
    with tenant_scope(storage):
        configuration = settled_configuration(storage)
        if not (wanted := _waiting_alone(configuration, BATCH)):
            return []
        hold_elements((), wanted)
        alone = set(_waiting_alone(configuration, BATCH))
        rows = [row for row in _read_in_order(wanted) if row.version in alone]
        cycles = [(row, configuration.cycles[configuration.types_by_id[row.type].key]) for row in rows]
        open_tasks_of(Author(None, CALLER, ""), cycles)
        return [_line(row) for row in rows]


@dataclass(slots=True)
class StuckMarks:
    """Tasks whose stuck reasons have changed, with the new reasons and a line about each."""

    tasks: list[tuple[Task, list[str]]] = field(default_factory=list)
    stuck: list[str] = field(default_factory=list)
    freed: list[str] = field(default_factory=list)


def _find_marks(storage: Storage, now: datetime, found: Iterable[Task]) -> StuckMarks:
    tasks = list(found)
    lookup = look_up_approvers(tasks, storage.stuck_after_days, now)
    marks = StuckMarks()
    for task in tasks:
        reasons = [each.value for each in lookup.reasons(task)]
        if reasons != task.stuck_reasons:
            lines = marks.stuck if reasons else marks.freed
            lines.append(f"{_task_line(task)}: {', '.join(reasons)}" if reasons else _task_line(task))
            marks.tasks.append((task, reasons))
    return marks


def _mark_tasks(storage: Storage) -> StuckMarks:
    """Mark tasks that nobody can decide, or that wait too long, with the reasons; clear the marks of others."""
    with tenant_scope(storage):
        now = timezone.now()
        # Decisions change several tasks of a version in an order of their own. Waiting for a task that is being decided
        # could be a deadlock; the next run marks the tasks that are left.
        marks = _find_marks(
            storage, now, Task.objects.filter(state=Task.State.OPEN).select_for_update(skip_locked=True)
        )
        for task, reasons in marks.tasks:
            task.stuck_reasons = reasons
            task.stuck_on = (task.stuck_on or now) if reasons else None
        Task.objects.bulk_update([task for task, _ in marks.tasks], ["stuck_reasons", "stuck_on"], batch_size=BATCH)
    return marks
