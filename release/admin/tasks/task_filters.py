"""Filters of the task list. Each page computes which tasks are stuck; marks of scheduled jobs may be old (D115)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.contrib.admin import ModelAdmin
from django.db.models import F, Q, QuerySet, Value
from django.db.models.functions import Coalesce
from django.http import HttpRequest
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from elements.admin.labels import labels_of
from release.admin.tasks.task_rows import open_tasks_of
from release.admin.tasks.task_texts import REASONS, STATES
from release.models import Task
from release.tasks.reading import AGES
from storage.back_office.select_filter import SelectFilter
from storage.pages import storage_of

Tasks = QuerySet[Task]
Choices = Iterable[tuple[str, str | Promise]]
ALL, YES, NO, EVERYBODY = "all", "yes", "no", "everybody"


class TaskStateFilter(SelectFilter):
    title = gettext_lazy("state")
    parameter_name = "state"
    all_option = None

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin[Any]) -> Choices:
        return [*STATES.items(), (ALL, _("All"))]

    def value(self) -> str:
        return str(super().value() or Task.State.OPEN.value)

    def queryset(self, request: HttpRequest, queryset: Tasks) -> Tasks:
        if self.value() == ALL:
            return queryset
        return queryset.filter(state=self.value()) if self.value() in STATES else queryset.none()


class TaskStuckFilter(SelectFilter):
    title = gettext_lazy("reason for being stuck")
    parameter_name = "stuck"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin[Any]) -> Choices:
        return [(YES, _("Stuck for any reason")), *REASONS.items(), (NO, _("Not stuck"))]

    def queryset(self, request: HttpRequest, queryset: Tasks) -> Tasks:
        value = self.value()
        if not value:
            return queryset
        found = open_tasks_of(request)
        if value == NO:
            return queryset.exclude(id__in=found.stuck)
        if value == YES:
            return queryset.filter(id__in=found.stuck)
        return queryset.filter(id__in=found.stuck_by(Task.Stuck(value))) if value in REASONS else queryset.none()


class TaskTypeFilter(SelectFilter):
    """Filter by the task types of the release cycles. Django calls `lookups` for every request."""

    title = gettext_lazy("type")
    parameter_name = "type"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin[Any]) -> Choices:
        cycles = labels_of(request).configuration.cycles.values()
        found = {each.task for cycle in cycles for each in cycle.cycle.transitions if each.task}
        return [(each, each) for each in sorted(found)]

    def queryset(self, request: HttpRequest, queryset: Tasks) -> Tasks:
        value = self.value()
        if not value:
            return queryset
        return queryset.filter(type=value) if value in dict(self.lookup_choices) else queryset.none()


class TaskAssigneeFilter(SelectFilter):
    title = gettext_lazy("approver")
    parameter_name = "assignee"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin[Any]) -> Choices:
        people = {str(each.assignee_id) for each in open_tasks_of(request).tasks if each.assignee_id}
        named = labels_of(request).elements(people)
        choices = [(each, named[each].name if each in named else _("Deleted user")) for each in people]
        return [(EVERYBODY, _("Every approver")), *sorted(choices, key=lambda choice: choice[1].casefold())]

    def queryset(self, request: HttpRequest, queryset: Tasks) -> Tasks:
        value = self.value()
        if not value:
            return queryset
        if value == EVERYBODY:
            return queryset.filter(assignee_id=None)
        try:
            return queryset.filter(assignee_id=UUID(value))
        except ValueError:
            return queryset.none()


class TaskAgeFilter(SelectFilter):
    """Filter by the age groups of `rest/tasks/summary`: how long a task was or is open."""

    title = gettext_lazy("age")
    parameter_name = "age"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin[Any]) -> Choices:
        limit = storage_of(request).stuck_after_days
        words = (
            _("Less than a day"),
            _("Less than a week"),
            _("Up to the limit of %(number)s days") % {"number": limit},
            _("Over the limit of %(number)s days") % {"number": limit},
        )
        return list(zip(AGES, words, strict=True))

    def queryset(self, request: HttpRequest, queryset: Tasks) -> Tasks:
        if self.value() not in AGES:
            return queryset
        under_day, under_week, within, _over = AGES
        limit = timedelta(days=storage_of(request).stuck_after_days)
        day, week = timedelta(days=1), timedelta(days=7)
        condition = {
            under_day: Q(open_for__lt=day, open_for__lte=limit),
            under_week: Q(open_for__gte=day, open_for__lt=week, open_for__lte=limit),
            within: Q(open_for__gte=week, open_for__lte=limit),
        }.get(str(self.value()), Q(open_for__gt=limit))
        end = Coalesce(F("decided_on"), Value(timezone.now()))
        return queryset.alias(open_for=end - F("requested_on")).filter(condition)
