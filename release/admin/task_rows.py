"""Tasks with names: what the list, the page of a task and the pages of its steps show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast
from uuid import UUID

from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _

from elements.admin.labels import Labels, Named, element_address, labels_of
from elements.models.people import GROUP_TYPE
from elements.users import USER_TYPE
from release.models import Task
from release.schedule.clock import CALLER
from release.tasks.sheets import OpenTasks, Sheet, read_open_tasks, read_sheets
from storage.access.staff import staff_names
from storage.pages import storage_of


@dataclass(frozen=True, slots=True)
class Who:
    """Somebody: a name, and where to read more of them, if anywhere."""

    name: str
    address: str = ""


NOBODY = Who("")
# Where people are made active again and get roles; tokens are shown as elements.
PAGES = {USER_TYPE: "elements_user_change", GROUP_TYPE: "elements_usergroup_change"}


@dataclass(frozen=True, slots=True)
class TaskRow:
    sheet: Sheet
    what: Named | None
    """The version that the task is about."""
    target: str
    transition: str
    """The state that is asked for, and the way to it, in words."""
    requester: Who
    assignee: Who
    """Without a name: every approver, or somebody who is gone; the sheet's standing tells."""
    decider: Who

    @property
    def task(self) -> Task:
        return self.sheet.task

    @property
    def address(self) -> str:
        return reverse("admin:release_task_change", args=[self.task.id])

    @property
    def name(self) -> str:
        return self.what.name if self.what else str(self.task.element_id)

    @property
    def element_address(self) -> str:
        return element_address(str(self.task.element_id), version=str(self.task.version_id))


class Directory:
    """Names of people and of who has done something, read at once: two statements for any number."""

    def __init__(self, labels: Labels, elements: Iterable[UUID | None], callers: Iterable[str]) -> None:
        self._elements: Mapping[str, Named] = labels.elements(str(each) for each in elements if each)
        self._staff = staff_names(callers)

    def person(self, element: UUID | None) -> Who:
        found = self._elements.get(str(element))
        if found is None:
            return NOBODY
        page = PAGES.get(found.type.key)
        return Who(found.name, reverse(f"admin:{page}", args=[element]) if page else found.address)

    def caller(self, element: UUID | None, label: str) -> Who:
        """By the element that stands for them, else by their account."""
        if label == CALLER:
            return Who(_("the clock"))
        found = self.person(element)
        return found if found.name else Who(self._staff.get(label, label))


def task_rows(request: HttpRequest, tasks: Sequence[Task]) -> list[TaskRow]:
    """In their order; eight statements at most, for any number."""
    labels = labels_of(request)
    sheets = read_sheets(storage_of(request), tasks)
    versions = labels.versions({str(each.version_id) for each in tasks})
    people = [one for each in tasks for one in (each.requester_id, each.assignee_id, each.decider_id)]
    callers = [one for each in tasks for one in (each.requester_label, each.decider_label)]
    directory = Directory(labels, people, callers)
    return [_row(sheet, versions.get(str(sheet.task.version_id)), labels, directory) for sheet in sheets]


def _row(sheet: Sheet, what: Named | None, labels: Labels, directory: Directory) -> TaskRow:
    task = sheet.task
    return TaskRow(
        sheet,
        what,
        labels.state(what.type, task.target_state) if what else task.target_state,
        transition_words(labels, what, task.transition),
        directory.caller(task.requester_id, task.requester_label),
        directory.person(task.assignee_id),
        directory.caller(task.decider_id, task.decider_label) if task.decided_on else NOBODY,
    )


def transition_words(labels: Labels, what: Named | None, key: str) -> str:
    """One that the release cycle has no more keeps its key."""
    cycle = labels.configuration.cycles.get(what.type.key) if what else None
    found = next((each for each in cycle.cycle.transitions if each.key == key), None) if cycle else None
    return labels.transition(found) if found else key


def open_tasks_of(request: HttpRequest) -> OpenTasks:
    """Once a request: the badge of the navigation, the filters and the overview all ask."""
    if not hasattr(request, "open_tasks"):
        request.open_tasks = read_open_tasks(storage_of(request))  # type: ignore[attr-defined]  # kept for this request
    return cast("OpenTasks", request.open_tasks)  # type: ignore[attr-defined]
