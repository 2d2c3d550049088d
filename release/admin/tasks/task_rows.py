"""Tasks with names, for the list, the page of a task and the pages of its steps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast
from uuid import UUID

from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _

from elements.admin.labels import OfficeLabels, element_address, labels_of
from elements.models.people import GROUP_TYPE
from elements.presentation.labels import Named, key_words
from facets.blueprint.private_content import USER_TYPE
from release.models import Task
from release.schedule.lifecycle_jobs import CALLER
from release.tasks.task_status import OpenTasks, TaskStatus, reading_open_tasks, reading_task_statuses
from release.tasks.titles import task_title
from repository_site.core.database.statements import Reading, ask_for, read_together, side_by_side
from storage.access.staff import staff_names_of
from storage.pages import storage_of


@dataclass(frozen=True, slots=True)
class PersonLink:
    """The name of a person, with the address of their page if there is one."""

    name: str
    address: str = ""


NOBODY = PersonLink("")
# The pages on which people are reactivated and get roles; tokens have the page of their element.
PAGES = {USER_TYPE: "elements_user_change", GROUP_TYPE: "elements_usergroup_change"}


@dataclass(frozen=True, slots=True)
class TaskRow:
    status: TaskStatus
    what: Named | None
    """The version of the task."""
    target: str
    transition: str
    """Names of the requested state and of the transition to it."""
    requester: PersonLink
    assignee: PersonLink
    """Without a name if the task is for every approver or the assignee was deleted; see `assignee_status`."""
    decider: PersonLink

    @property
    def task(self) -> Task:
        return self.status.task

    @property
    def title(self) -> str:
        return task_title(self.task.type)

    @property
    def address(self) -> str:
        return reverse("admin:release_task_change", args=[self.task.id])

    @property
    def name(self) -> str:
        return self.what.name if self.what else str(self.task.element_id)

    @property
    def element_address(self) -> str:
        return element_address(str(self.task.element_id), version=str(self.task.version_id))


def reading_directory(
    labels: OfficeLabels, elements: Iterable[UUID | None], callers: Iterable[str]
) -> Reading[Directory]:
    """Read the names of any number of people and callers in one round."""
    people = labels.elements_of(str(each) for each in elements if each)
    return Directory(*(yield [people, staff_names_of(callers)]))


class Directory:
    """Names of people and callers."""

    def __init__(self, elements: Mapping[str, Named], staff: Mapping[str, str]) -> None:
        self._elements = elements
        self._staff = staff

    def person(self, element: UUID | None) -> PersonLink:
        found = self._elements.get(str(element))
        if found is None:
            return NOBODY
        page = PAGES.get(found.type.key)
        return PersonLink(found.name, reverse(f"admin:{page}", args=[element]) if page else found.address)

    def caller(self, element: UUID | None, label: str) -> PersonLink:
        if label == CALLER:
            return PersonLink(_("scheduled job"))
        found = self.person(element)
        return found if found.name else PersonLink(self._staff.get(label, label))


def task_rows(request: HttpRequest, tasks: Sequence[Task]) -> list[TaskRow]:
    """Return the rows of any number of tasks, in their order."""
    rows: list[TaskRow] = read_together(reading_task_rows(request, tasks))[0]
    return rows


def reading_task_rows(request: HttpRequest, tasks: Sequence[Task]) -> Reading[list[TaskRow]]:
    labels = labels_of(request)
    people = [one for each in tasks for one in (each.requester_id, each.assignee_id, each.decider_id)]
    callers = [one for each in tasks for one in (each.requester_label, each.decider_label)]
    statuses, versions, directory = yield from side_by_side(
        reading_task_statuses(storage_of(request), tasks),
        ask_for(labels.versions_of({str(each.version_id) for each in tasks})),
        reading_directory(labels, people, callers),
    )
    return [_row(status, versions.get(str(status.task.version_id)), labels, directory) for status in statuses]


def _row(status: TaskStatus, what: Named | None, labels: OfficeLabels, directory: Directory) -> TaskRow:
    task = status.task
    return TaskRow(
        status,
        what,
        labels.state(what.type, task.target_state) if what else key_words(task.target_state),
        transition_text(labels, what, task.transition),
        directory.caller(task.requester_id, task.requester_label),
        directory.person(task.assignee_id),
        directory.caller(task.decider_id, task.decider_label) if task.decided_on else NOBODY,
    )


def transition_text(labels: OfficeLabels, what: Named | None, key: str) -> str:
    """Return the name of a transition, or its key if the release cycle no longer has it."""
    cycle = labels.configuration.cycles.get(what.type.key) if what else None
    found = next((each for each in cycle.cycle.transitions if each.key == key), None) if cycle else None
    return labels.transition(found) if found else labels.titles.get(key) or key_words(key)


def open_tasks_of(request: HttpRequest) -> OpenTasks:
    """Return the open tasks, read once per request for the navigation, the filters and the overview."""
    return cast("OpenTasks", read_together(reading_open_tasks_of(request))[0])


def reading_open_tasks_of(request: HttpRequest) -> Reading[OpenTasks]:
    if not hasattr(request, "open_tasks"):
        request.open_tasks = yield from reading_open_tasks(storage_of(request))  # type: ignore[attr-defined]  # kept for this request
    return cast("OpenTasks", request.open_tasks)  # type: ignore[attr-defined]
