"""Events of steps in the lifecycle of a version, and of tasks (D329)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

from elements.reading.rows import VersionRow
from elements.writing.events import ElementEvent
from facets.blueprint.cycles import OPEN, Category
from release.models import LifecycleEntry, Task
from storage.models import EventType

Step = LifecycleEntry.Step
# Decisions by the steps that log them. Accepting a task logs the step that was asked for.
DECISIONS = {Step.REJECTION: Task.State.REJECTED, Step.WITHDRAWAL: Task.State.WITHDRAWN}


def state_events(before: VersionRow, after: VersionRow, transition: str, changed: Sequence[str]) -> list[ElementEvent]:
    """Return the events of a version that has taken a step, which changed the named values."""

    def event(type: EventType, **data: Any) -> ElementEvent:
        return ElementEvent(type, after.element, after.version, data, after.state)

    number = f"{after.major}.{after.minor}"
    found = []
    if before.state != after.state:
        step = {"transition": transition} if transition else {}
        found.append(event(EventType.VERSION_STATE_CHANGED, **{"from": before.state, "to": after.state, **step}))
    elif changed:
        found.append(event(EventType.ELEMENT_CHANGED, attributes=sorted(changed), contexts=[]))
    if before.category in OPEN and after.category == Category.PUBLISHED:
        found.append(event(EventType.VERSION_RELEASED, version=number))
    if before.category != Category.RETIRED and after.category == Category.RETIRED:
        found.append(event(EventType.VERSION_EXPIRED, version=number))
    return found


def task_events(step: Step, row: VersionRow, task: UUID | None, assignee: UUID | None) -> Iterator[ElementEvent]:
    """Yield the event of a step about a task; most steps have none."""
    if task is None:
        return
    data = {"taskId": str(task)}
    chosen = {"assigneeId": str(assignee)} if assignee else {}
    if step is Step.REQUEST:
        yield ElementEvent(EventType.TASK_OPENED, row.element, row.version, data | chosen, row.state)
    elif step is Step.DELEGATION:
        yield ElementEvent(EventType.TASK_REASSIGNED, row.element, row.version, data | chosen, row.state)
    elif step is Step.REMINDER:
        yield ElementEvent(EventType.TASK_REMINDED, row.element, row.version, data | chosen, row.state)
    elif step in DECISIONS:
        yield decision_event(row.element, row.version, task, DECISIONS[step], row.state)
    elif step in (Step.TRANSITION, Step.APPROVAL):
        yield decision_event(row.element, row.version, task, Task.State.ACCEPTED, row.state)


def opened_event(task: Task) -> ElementEvent:
    """Return the event of a task that a version waits for."""
    chosen = {"assigneeId": str(task.assignee_id)} if task.assignee_id else {}
    data = {"taskId": str(task.id), **chosen}
    return ElementEvent(EventType.TASK_OPENED, str(task.element_id), str(task.version_id), data, task.source_state)


def decision_event(
    element: str, version: str, task: UUID, decision: Task.State, state: str | None = None
) -> ElementEvent:
    data = {"taskId": str(task), "decision": decision.value}
    return ElementEvent(EventType.TASK_DECIDED, element, version, data, state)
