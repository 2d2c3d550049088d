"""Status of tasks for the back office: age, due date, state of the assignee, and reasons for being stuck.

`run_lifecycle` marks stuck tasks for the API. The back office computes the reasons for each page instead, so that they
are never out of date (D115).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from django.utils import timezone

from release.models import LifecycleEntry, Task
from release.tasks.approvers import People, due_date, reading_lookup
from repository_site.core.database.statements import Question, Reading, ask_for, id_array, models_of, side_by_side
from storage.models import Storage

# A task that is due within this time is highlighted.
SOON = timedelta(days=3)
# The columns that decide whether a task is stuck. Every page of the back office reads all open tasks.
DECISIVE = (
    "state", "element_id", "version_id", "assignee_id", "requester_id", "requested_on", "due_on", "round_id",
    "approvals",
)  # fmt: skip


class AssigneeStatus(StrEnum):
    EVERYBODY = "everybody"
    ACTIVE = "active"
    INACTIVE = "inactive"
    NO_ROLE = "noRole"
    GROUP = "group"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class Reminders:
    count: int = 0
    last: datetime | None = None


@dataclass(frozen=True, slots=True)
class TaskStatus:
    task: Task
    assignee_status: AssigneeStatus
    reasons: Sequence[Task.Stuck]
    reminders: Reminders
    due: datetime
    now: datetime

    @property
    def is_open(self) -> bool:
        return self.task.state == Task.State.OPEN

    @property
    def age(self) -> int:
        return ((self.task.decided_on or self.now) - self.task.requested_on).days

    @property
    def is_overdue(self) -> bool:
        return self.is_open and self.now > self.due

    @property
    def is_due_soon(self) -> bool:
        return self.is_open and not self.is_overdue and self.due - self.now <= SOON

    @property
    def was_decided_for_another(self) -> bool:
        task = self.task
        decided = task.state in (Task.State.ACCEPTED, Task.State.REJECTED)
        return (
            decided
            and self.assignee_status is not AssigneeStatus.GROUP
            and task.assignee_id not in (None, task.decider_id)
        )


@dataclass(frozen=True, slots=True)
class OpenTasks:
    """The open tasks of a storage, which are few, and the reasons why some are stuck."""

    tasks: Sequence[Task]
    """Only some columns are loaded."""
    reasons: Mapping[UUID, Sequence[Task.Stuck]]

    @property
    def stuck(self) -> list[UUID]:
        return [each for each, reasons in self.reasons.items() if reasons]

    def stuck_by(self, reason: Task.Stuck) -> list[UUID]:
        return [each for each, reasons in self.reasons.items() if reason in reasons]


def reading_open_tasks(storage: Storage) -> Reading[OpenTasks]:
    """Return the open tasks, oldest first.

    Whether a task is stuck depends on attributes of people. A condition in SQL would repeat that rule, so it is
    computed for every open task, and lists filter by the resulting ids.
    """
    tasks = yield from ask_for(models_of(Task.objects.filter(state=Task.State.OPEN).only(*DECISIVE)))
    lookup = yield from reading_lookup(tasks, storage.stuck_after_days, timezone.now())
    return OpenTasks(tasks, {each.id: lookup.reasons(each) for each in tasks})


def reading_task_statuses(storage: Storage, tasks: Sequence[Task]) -> Reading[list[TaskStatus]]:
    """Return the status of any number of tasks, in their order."""
    now = timezone.now()
    lookup, reminders = yield from side_by_side(
        reading_lookup(tasks, storage.stuck_after_days, now), ask_for(reminders_of(tasks))
    )
    return [
        TaskStatus(
            task,
            _assignee_status(task.assignee_id, lookup.people),
            lookup.reasons(task),
            reminders.get(task.id, Reminders()),
            due_date(task, storage.stuck_after_days),
            now,
        )
        for task in tasks
    ]


def _assignee_status(assignee: UUID | None, people: People) -> AssigneeStatus:
    if assignee is None:
        return AssigneeStatus.EVERYBODY
    if assignee in people.groups:
        return AssigneeStatus.GROUP
    person = people.users.get(assignee)
    if person is None:
        return AssigneeStatus.GONE
    if not person.is_active:
        return AssigneeStatus.INACTIVE
    return AssigneeStatus.ACTIVE if person.may_approve else AssigneeStatus.NO_ROLE


def reminders_of(tasks: Collection[Task]) -> Question[dict[UUID, Reminders]]:
    """Return the reminders by task, without tasks that have none. The log is indexed by element."""
    sql = """SELECT l.task_id, count(*), max(l.changed_on) FROM release_lifecycleentry l
        WHERE l.element_id = ANY(%s::uuid[]) AND l.step = %s AND l.task_id = ANY(%s::uuid[]) GROUP BY l.task_id"""
    elements = id_array({str(each.element_id) for each in tasks})
    parameters = [elements, LifecycleEntry.Step.REMINDER.value, id_array(str(each.id) for each in tasks)]
    return Question(
        sql if tasks else "", parameters, lambda rows: {task: Reminders(count, last) for task, count, last in rows}
    )
