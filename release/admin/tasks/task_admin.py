"""The list of release tasks in the back office of a storage."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from unfold.dataclasses import UnfoldAction

from release.admin.tasks import task_cells
from release.admin.tasks.task_filters import (
    TaskAgeFilter,
    TaskAssigneeFilter,
    TaskStateFilter,
    TaskStuckFilter,
    TaskTypeFilter,
)
from release.admin.tasks.task_page import task_page
from release.admin.tasks.task_rows import TaskRow, open_tasks_of, reading_open_tasks_of, task_rows
from release.admin.tasks.task_steps import MAX_TASKS, OfficeTaskStep, step_page, steps_for
from release.models import Task
from repository_site.core.database.statements import Reading
from storage.back_office import StorageModelAdmin, storage_office
from storage.pages import storage_of


class TaskChangeList(ChangeList):
    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        shown = list(self.result_list)
        for row in task_rows(request, shown):
            row.task.row = row  # type: ignore[attr-defined]  # for the columns, which get the task alone
        self.result_list = shown


def _begin(step: OfficeTaskStep) -> Callable[..., HttpResponseBase]:
    def begin(admin: TaskAdmin, request: HttpRequest, queryset: QuerySet[Task]) -> HttpResponseBase:
        return step_page(request, step, list(queryset))

    return begin


def _no_method() -> None:
    """Unfold reads HTML attributes from the method of an action. The page of a step is registered separately."""


_no_method.attrs = {}  # type: ignore[attr-defined]


def _column(cell: Callable[[TaskRow], SafeString], description: Any, ordering: str | None = None) -> Any:
    @admin.display(description=description, ordering=ordering)
    def column(admin: TaskAdmin, task: Task) -> SafeString:
        return cell(task.row)  # type: ignore[attr-defined]  # set by the change list

    return column


@admin.register(Task, site=storage_office)
class TaskAdmin(StorageModelAdmin):
    """A read-only list: tasks change only by the steps of `task_steps`."""

    changers = frozenset()
    list_display = ("what", "asked", "decides", "age", "situation")
    list_display_links = None
    list_filter = (TaskStateFilter, TaskStuckFilter, TaskTypeFilter, TaskAssigneeFilter, TaskAgeFilter)
    list_per_page = 50
    list_max_show_all = MAX_TASKS
    show_full_result_count = True
    show_facets = admin.ShowFacets.NEVER
    list_disable_select_all = True
    list_before_template = "back_office/tasks/summary.html"
    search_fields = ("element__newest__sort_name",)
    search_help_text = _("Name of the element")
    ordering = ("requested_on", "id")

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return TaskChangeList

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """Return the steps that the caller's roles allow; each opens the page of the step."""
        return {each.key: (_begin(each), each.key, each.title) for each in steps_for(request)}

    def get_actions_row(self, request: HttpRequest) -> list[UnfoldAction]:
        return [
            UnfoldAction(each.page, _no_method, str(each.title), each.key, icon=each.icon)
            for each in steps_for(request)
        ]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        found = open_tasks_of(request)
        context = {
            "title": _("Release tasks"),
            "open_tasks": len(found.tasks),
            "stuck_tasks": len(found.stuck),
            "limit": storage_of(request).stuck_after_days,
        }
        return cast("HttpResponse", super().changelist_view(request, {**context, **(extra_context or {})}))

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        return task_page(request, object_id)

    what = _column(task_cells.what, _("request"))
    asked = _column(task_cells.asked, _("requester"))
    decides = _column(task_cells.decides, _("approver"))
    age = _column(task_cells.age, _("age"), "requested_on")
    situation = _column(task_cells.situation, _("status"))


def number_of_stuck(request: HttpRequest) -> Reading[int | None]:
    return len((yield from reading_open_tasks_of(request)).stuck)
