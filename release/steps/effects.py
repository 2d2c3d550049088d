"""The effects of entering a state on versions, pointers, tasks and the log (D21).

Callers, approvers and the scheduled jobs all change states through `write_steps`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID
from zoneinfo import ZoneInfo

from django.db.models import QuerySet

from elements.reading.rows import VersionRow, read_versions
from elements.writing import statements
from elements.writing.authors import Author
from elements.writing.diagrams import diagram_statements
from elements.writing.events import event_statements
from elements.writing.statements import execute_together
from facets.blueprint.cycles import Category, Transition
from facets.configuration import CompiledCycle, Configuration
from release.models import Task
from release.steps.days import start_of_day
from release.steps.locking import read_majors
from release.steps.log import Step, StepTaken, log_steps, record_steps
from release.steps.opening import open_tasks_of
from release.steps.step_events import decision_event


@dataclass(frozen=True, slots=True)
class LifecycleChange:
    """The configuration, time zone and author of a change. The elements are locked."""

    configuration: Configuration
    zone: ZoneInfo
    author: Author

    def cycle_of(self, row: VersionRow) -> CompiledCycle:
        return self.configuration.cycles[self.configuration.types_by_id[row.type].key]


def with_state(cycle: CompiledCycle, row: VersionRow, state: str) -> VersionRow:
    return row._replace(state=state, category=cycle.categories[state].value)


def as_published(change: LifecycleChange, row: VersionRow, state: str, major: int) -> VersionRow:
    author = change.author
    return with_state(change.cycle_of(row), row, state)._replace(
        major=major,
        minor=0,
        released_on=author.now,
        released_by=str(author.element) if author.element else None,
        valid_from=row.valid_from or start_of_day(author.now, change.zone),
    )


def as_retired(change: LifecycleChange, row: VersionRow, state: str | None = None) -> VersionRow:
    """Return a published version as its retirement leaves it: it ends today unless it ended earlier."""
    cycle, today = change.cycle_of(row), start_of_day(change.author.now, change.zone)
    return with_state(cycle, row, state or cycle.retired_state)._replace(
        valid_until=min(row.valid_until or today, today)
    )


def read_published(row: VersionRow) -> VersionRow | None:
    if row.published is None or row.published == row.version:
        return None
    return read_versions([row.published])[row.published]


def take_transition(
    change: LifecycleChange,
    row: VersionRow,
    transition: Transition,
    comment: str,
    ignored: Sequence[str] = (),
    task: Task | None = None,
    assignee: UUID | None = None,
) -> None:
    """Bring a version to the target of a transition, with all that follows from it.

    `task` is the accepted task, and `assignee` the approver on whose behalf it was accepted.
    """
    take_transitions(change, [(row, transition, ignored)], comment, task, assignee)


def take_transitions(
    change: LifecycleChange,
    taken: Sequence[tuple[VersionRow, Transition, Sequence[str]]],
    comment: str,
    task: Task | None = None,
    assignee: UUID | None = None,
) -> None:
    """Do the same for versions of different elements, each with its ignored warnings, in a number of statements that
    does not depend on their number."""
    published = [row for row, transition, _ in taken if change.cycle_of(row).enters_published(transition)]
    majors = read_majors([row.element for row in published])
    earlier = read_versions([row.published for row in published if row.published not in (None, row.version)])
    steps: list[StepTaken] = []
    for row, transition, ignored in taken:
        cycle = change.cycle_of(row)
        if row.element in majors:
            after = as_published(change, row, transition.target, majors[row.element] + 1)
        elif cycle.categories[transition.target] is Category.RETIRED:
            after = as_retired(change, row, transition.target)
        else:
            after = with_state(cycle, row, transition.target)
        named = task.id if task else None
        steps.append(StepTaken(Step.TRANSITION, row, after, transition.key, comment, ignored, named, assignee))
        if row.element in majors and row.published in earlier:
            before = earlier[row.published]
            steps.append(StepTaken(Step.SUCCESSION, before, as_retired(change, before)))
    write_steps(change, steps)


def write_steps(change: LifecycleChange, steps: Sequence[StepTaken]) -> list[Task]:
    """Write the versions as the steps leave them, with pointers, diagrams, tasks, log and change history.

    A version may take several steps. Returns the tasks that the steps made obsolete.
    """
    last = {each.after.version: each.after for each in steps}
    retired = [row for row in last.values() if row.category == Category.RETIRED]
    others = [row for row in last.values() if row.category != Category.RETIRED]
    # Retire first: a unique index allows one published version of an element.
    statements.set_states(retired, change.author.now, change.author.element)
    statements.set_states(others, change.author.now, change.author.element)
    pointers: dict[str, str | None] = {row.element: None for row in retired if row.published == row.version}
    pointers |= {row.element: row.version for row in others if row.category == Category.PUBLISHED}
    newest = {row.element: row.newest for row in last.values()}
    newest |= {each.after.element: each.after.version for each in steps if each.is_release}
    statements.point_elements([(element, newest[element], version) for element, version in pointers.items()])
    changed = [each.after.version for each in steps if each.before.category != each.after.category]
    diagram_statements.settle_diagrams(changed, change.configuration.living_in_diagrams)
    log_steps(change.author, steps)
    record_steps(change.author, change.zone, steps)
    moved = {each.after.version for each in steps if each.before.state != each.after.state}
    closed = close_tasks(list(moved), change.author)
    open_tasks_of(change.author, [(row, change.cycle_of(row)) for row in last.values() if row.version in moved])
    return closed


def close_tasks(versions: Sequence[str], author: Author) -> list[Task]:
    """Make the open tasks of the versions obsolete, and return them."""
    found = list(open_tasks(versions)) if versions else []
    if found:
        Task.objects.filter(id__in=[each.id for each in found]).update(
            state=Task.State.OBSOLETE,
            decided_on=author.now,
            decider_id=author.element,
            decider_label=author.label,
            stuck_on=None,
            stuck_reasons=[],
        )
        overtaken = Task.State.OBSOLETE
        events = [decision_event(str(each.element_id), str(each.version_id), each.id, overtaken) for each in found]
        execute_together(event_statements(author, events))
    return found


def open_tasks(versions: Iterable[str]) -> QuerySet[Task]:
    return Task.objects.filter(version_id__in=[UUID(each) for each in versions], state=Task.State.OPEN)
