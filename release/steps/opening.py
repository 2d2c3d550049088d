"""Open tasks: for a requested transition (D23), and for versions that wait in a state until people accept (D355)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

from elements.reading.rows import VersionRow, read_references
from elements.writing.authors import Author
from elements.writing.events import event_statements
from elements.writing.statements import execute_together
from facets.blueprint.cycles import State, Transition
from facets.configuration import CompiledCycle
from release.models import Task
from release.steps.step_events import opened_event


def new_task(
    author: Author, row: VersionRow, transition: Transition, type: str, assignee: UUID | None, **more: Any
) -> Task:
    """Return a task that is not stored yet: to take a transition of a version when it is accepted."""
    return Task(
        type=type,
        element_id=UUID(row.element),
        version_id=UUID(row.version),
        revision=row.revision,
        transition=transition.key,
        source_state=transition.source,
        target_state=transition.target,
        requested_on=author.now,
        requester_id=author.element,
        requester_label=author.label,
        assignee_id=assignee,
        **more,
    )


def open_tasks_of(author: Author, entered: Iterable[tuple[VersionRow, CompiledCycle]]) -> list[Task]:
    """Open the tasks of versions that have entered a state, with three statements for any number of versions."""
    waiting = [(row, cycle) for row, cycle in entered if row.state in cycle.waiting]
    if not waiting:
        return []
    contexts = {name for row, cycle in waiting for name in cycle.waiting[row.state].assignees}
    related = read_references([row.version for row, _ in waiting], contexts) if contexts else {}
    tasks = [task for row, cycle in waiting for task in _round(author, row, cycle, related.get(row.version, {}))]
    events = [opened_event(each) for each in tasks]
    found = Task.objects.bulk_create(tasks)
    execute_together(event_statements(author, events))
    return found


def _round(
    author: Author, row: VersionRow, cycle: CompiledCycle, related: Mapping[str, Sequence[str]]
) -> Iterable[Task]:
    state = cycle.waiting[row.state]
    people = choose_assignees(state, related, author.element)
    same = {
        "round_id": uuid4(),
        "approvals": min(state.approvals, len(people)) or len(people),
        "due_on": author.now + timedelta(days=state.due_days) if state.due_days else None,
    }
    for assignee in people:
        yield new_task(author, row, cycle.transition(state.accept), state.task, assignee, **same)


def choose_assignees(
    state: State, related: Mapping[str, Sequence[str]], requester: UUID | None
) -> Sequence[UUID | None]:
    """Return the people in the first context that names anybody but the requester (four-eyes principle).

    If no context does, every approver can decide: there is one such task for each approval that is needed.
    """
    for context in state.assignees:
        people = [UUID(each) for each in dict.fromkeys(related.get(context, ())) if UUID(each) != requester]
        if people:
            return people
    return [None] * (state.approvals or 1)
