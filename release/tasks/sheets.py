"""Tasks as the back office shows them: how old they are, who could decide now, and why they are stuck.

`run_lifecycle` marks stuck tasks for the API; here the reasons are found anew, so that a list never tells what was true
when the clock last ran (D115).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from django.utils import timezone

from release.models import LifecycleEntry, Task
from release.tasks.approvers import People, watch_tasks
from repository_site.core.database.statements import fetch
from storage.models import Storage

# A task that is due within these days is marked before it is overdue.
SOON = timedelta(days=3)
# What says whether a task is stuck, and of which element. Every page of the office asks for all open tasks.
DECISIVE = ("state", "element_id", "assignee_id", "requester_id", "requested_on")


class Standing(StrEnum):
    """Whether who is to decide can do so."""

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
class Sheet:
    """One task with what a row or a page tells of it, but for names."""

    task: Task
    standing: Standing
    reasons: Sequence[Task.Stuck]
    reminders: Reminders
    due: datetime
    now: datetime

    @property
    def is_open(self) -> bool:
        return self.task.state == Task.State.OPEN

    @property
    def age(self) -> int:
        """How many days it was or is open."""
        return ((self.task.decided_on or self.now) - self.task.requested_on).days

    @property
    def is_overdue(self) -> bool:
        return self.is_open and self.now > self.due

    @property
    def is_due_soon(self) -> bool:
        return self.is_open and not self.is_overdue and self.due - self.now <= SOON

    @property
    def was_decided_for_another(self) -> bool:
        """By somebody else than whom it was for, who can only have been an administrator."""
        task = self.task
        decided = task.state in (Task.State.ACCEPTED, Task.State.REJECTED)
        return decided and self.standing is not Standing.GROUP and task.assignee_id not in (None, task.decider_id)


@dataclass(frozen=True, slots=True)
class OpenTasks:
    """The open tasks of a storage, which are few, and why some of them are stuck."""

    tasks: Sequence[Task]
    """With a few of their columns."""
    reasons: Mapping[UUID, Sequence[Task.Stuck]]

    @property
    def stuck(self) -> list[UUID]:
        return [each for each, reasons in self.reasons.items() if reasons]

    def stuck_by(self, reason: Task.Stuck) -> list[UUID]:
        return [each for each, reasons in self.reasons.items() if reason in reasons]


def read_open_tasks(storage: Storage) -> OpenTasks:
    """Oldest first. Whether a task is stuck depends on the attributes of people, and no condition in SQL says that
    without repeating the rule; so it is asked of every open task, and lists are narrowed to the ids that are found."""
    tasks = list(Task.objects.filter(state=Task.State.OPEN).only(*DECISIVE))
    watch = watch_tasks(tasks, storage.stuck_after_days, timezone.now())
    return OpenTasks(tasks, {each.id: watch.reasons(each) for each in tasks})


def read_sheets(storage: Storage, tasks: Sequence[Task]) -> list[Sheet]:
    """In their order; five statements at most, for any number."""
    now = timezone.now()
    limit = timedelta(days=storage.stuck_after_days)
    watch = watch_tasks(tasks, storage.stuck_after_days, now)
    reminders = read_reminders(tasks)
    return [
        Sheet(
            task,
            _standing(task.assignee_id, watch.people),
            watch.reasons(task),
            reminders.get(task.id, Reminders()),
            task.requested_on + limit,
            now,
        )
        for task in tasks
    ]


def _standing(assignee: UUID | None, people: People) -> Standing:
    if assignee is None:
        return Standing.EVERYBODY
    if assignee in people.groups:
        return Standing.GROUP
    person = people.users.get(assignee)
    if person is None:
        return Standing.GONE
    if not person.is_active:
        return Standing.INACTIVE
    return Standing.ACTIVE if person.may_approve else Standing.NO_ROLE


def read_reminders(tasks: Collection[Task]) -> dict[UUID, Reminders]:
    """By task; those that were never reminded of are missing. The log is indexed by element."""
    if not tasks:
        return {}
    sql = """SELECT l.task_id, count(*), max(l.changed_on) FROM release_lifecycleentry l
        WHERE l.element_id = ANY(%s) AND l.step = %s AND l.task_id = ANY(%s) GROUP BY l.task_id"""
    elements = list({each.element_id for each in tasks})
    rows = fetch(sql, [elements, LifecycleEntry.Step.REMINDER.value, [each.id for each in tasks]])
    return {task: Reminders(count, last) for task, count, last in rows}
