"""The filters of the task list: state, type, element, assignee, requester, and stuck tasks."""

from __future__ import annotations

from typing import Any, ClassVar
from uuid import UUID

import django_filters
from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet
from django_filters.widgets import CSVWidget

from release.models import Task
from release.tasks.choosing import requested_by, waiting_for
from repository_site.core.wording import GUID
from storage.access.callers import Caller

ME, ALL = "me", "all"
Tasks = QuerySet[Task]


def check_guid(text: str) -> None:
    if not GUID.fullmatch(text):
        raise ValidationError("expected the id of an element or a version")


def check_person(text: str) -> None:
    if text not in (ME, ALL) and not GUID.fullmatch(text):
        raise ValidationError(f"expected {ME}, {ALL} or the id of a user or group")


class ListFilter(django_filters.BaseInFilter):
    """Values that are separated by commas."""

    def __init__(self, **options: Any) -> None:
        # Without a widget, each request would create a class for one.
        super().__init__(widget=CSVWidget, **options)


class ChoicesFilter(ListFilter, django_filters.ChoiceFilter):
    """One or more of the known values."""


class TextsFilter(ListFilter, django_filters.CharFilter):
    """One or more texts."""


class GuidFilter(django_filters.CharFilter):
    def __init__(self, **options: Any) -> None:
        super().__init__(validators=[check_guid], **options)


class PersonFilter(django_filters.CharFilter):
    """`me`, `all`, or the id of a user or group."""

    def __init__(self, **options: Any) -> None:
        super().__init__(validators=[check_person], **options)


class TaskFilter(django_filters.FilterSet):
    """The default is the open tasks that the caller can decide."""

    state = ChoicesFilter(choices=Task.State.choices, help_text="States, separated by commas. The default is `open`.")
    type = TextsFilter(help_text="Types, separated by commas, such as `Approve expiry`.")
    element = GuidFilter(method="about", help_text="Id of an element or a version.")
    assignee = PersonFilter(method="for_whom", help_text="`me` (the default), `all`, or the id of a user or group.")
    requester = PersonFilter(method="from_whom", help_text="`me`, `all`, or the id of a user.")
    stuck = django_filters.ChoiceFilter(
        choices=[("true", "true"), ("false", "false")],
        method="which_is_stuck",
        help_text="`true` returns only stuck tasks, `false` only tasks that are not stuck.",
    )

    _form_class: ClassVar[Any] = None

    class Meta:
        model = Task
        fields: list[str] = []

    def __init__(self, *args: Any, caller: Caller, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.caller = caller

    def get_form_class(self) -> Any:
        """Return the class that the first request has created, because a class is a reference cycle (D211)."""
        if TaskFilter._form_class is None:
            TaskFilter._form_class = super().get_form_class()
        return TaskFilter._form_class

    def close(self) -> None:
        """Break the reference cycles between filters, form, fields and this set (D211)."""
        for each in (*self.filters.values(), *self.form.fields.values(), self.form, self):
            each.__dict__.clear()

    def filter_queryset(self, queryset: Tasks) -> Tasks:
        found = super().filter_queryset(queryset)
        said = {name for name, value in self.form.cleaned_data.items() if value}
        if "state" not in said:
            found = found.filter(state=Task.State.OPEN)
        if not said & {"assignee", "requester"}:
            found = self.for_whom(found, "assignee", ME)
        return found

    def about(self, queryset: Tasks, name: str, value: str) -> Tasks:
        return queryset.filter(Q(element_id=UUID(value)) | Q(version_id=UUID(value)))

    def for_whom(self, queryset: Tasks, name: str, value: str) -> Tasks:
        if value == ALL:
            return queryset
        if value != ME:
            return queryset.filter(assignee_id=UUID(value))
        return queryset & waiting_for(self.caller)

    def from_whom(self, queryset: Tasks, name: str, value: str) -> Tasks:
        if value == ALL:
            return queryset
        if value != ME:
            return queryset.filter(requester_id=UUID(value))
        return queryset.filter(requested_by(self.caller))

    def which_is_stuck(self, queryset: Tasks, name: str, value: str) -> Tasks:
        return queryset.filter(stuck_on__isnull=value == "false")
