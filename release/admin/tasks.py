"""Release tasks in the back office of a storage, above all those that are stuck."""

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

from release.admin import task_cells
from release.admin.task_actions import MAX_TASKS, Step, step_page, steps_for
from release.admin.task_filters import AgeFilter, AssigneeFilter, StateFilter, StuckFilter, TypeFilter
from release.admin.task_page import task_page
from release.admin.task_rows import TaskRow, open_tasks_of, task_rows
from release.models import Task
from storage.back_office import StorageModelAdmin, storage_office
from storage.pages import storage_of


class TaskChangeList(ChangeList):
    """Reads what the rows of a page show at once, whatever their number."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        shown = list(self.result_list)
        for row in task_rows(request, shown):
            row.task.row = row  # type: ignore[attr-defined]  # for the columns, which get the task alone
        self.result_list = shown


def _begin(step: Step) -> Callable[..., HttpResponseBase]:
    def begin(admin: TaskAdmin, request: HttpRequest, queryset: QuerySet[Task]) -> HttpResponseBase:
        return step_page(request, step, list(queryset))

    return begin


def _no_method() -> None:
    """Unfold asks the method of an action for its HTML attributes; the page of the step is a page of its own."""


_no_method.attrs = {}  # type: ignore[attr-defined]


def row_of(task: Task) -> TaskRow:
    return cast("TaskRow", task.row)  # type: ignore[attr-defined]  # set by the change list


@admin.register(Task, site=storage_office)
class TaskAdmin(StorageModelAdmin):
    """Nothing is edited here: a task changes by the steps of `task_actions`, which the domain decides on."""

    list_display = ("what", "asked", "decides", "age", "situation")
    list_display_links = None
    list_filter = (StateFilter, StuckFilter, TypeFilter, AssigneeFilter, AgeFilter)
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

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """Those that the roles of the caller allow at all; they open the page of the step."""
        return {each.key: (_begin(each), each.key, each.title) for each in steps_for(request)}

    def get_actions_row(self, request: HttpRequest) -> list[UnfoldAction]:
        """The same, in the menu of each row."""
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

    @admin.display(description=_("what is asked for"))
    def what(self, task: Task) -> SafeString:
        return task_cells.what(row_of(task))

    @admin.display(description=_("who asked"))
    def asked(self, task: Task) -> SafeString:
        return task_cells.asked(row_of(task))

    @admin.display(description=_("who decides"))
    def decides(self, task: Task) -> SafeString:
        return task_cells.decides(row_of(task))

    @admin.display(description=_("age"), ordering="requested_on")
    def age(self, task: Task) -> SafeString:
        return task_cells.age(row_of(task))

    @admin.display(description=_("situation"))
    def situation(self, task: Task) -> SafeString:
        return task_cells.situation(row_of(task))


def number_of_stuck(request: HttpRequest) -> int:
    return len(open_tasks_of(request).stuck)
