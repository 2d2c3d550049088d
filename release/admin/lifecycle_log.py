"""The lifecycle log of the whole storage in the back office, newest first."""

from __future__ import annotations

from datetime import date
from typing import Any, cast
from uuid import UUID
from zoneinfo import ZoneInfo

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import formats, timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.views import ChangeList

from elements.admin.labels import element_address, labels_of
from elements.admin.listing.bounded_lists import UncountedList
from release.admin.lifecycle_log_rows import STEP_TEXTS, LogRow, log_rows
from release.admin.tasks.task_cells import cell, link, quiet
from release.admin.tasks.task_filters import Choices
from release.models import LifecycleEntry
from release.releases import Entries, last_mondays, recent, releases, within_week
from repository_site.core.problems import NotFound
from storage.back_office import StorageModelAdmin, storage_office
from storage.back_office.cells import moment
from storage.back_office.select_filter import SelectFilter
from storage.pages import storage_of

PAGE_SIZE = 50
RELEASE, RECENT = "release", "recent"


def _zone(request: HttpRequest) -> ZoneInfo:
    return ZoneInfo(storage_of(request).time_zone)


class StepFilter(SelectFilter):
    title = gettext_lazy("step")
    parameter_name = "step"

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin[Any]) -> Choices:
        return [(RELEASE, _("Release")), *STEP_TEXTS.items()]

    def queryset(self, request: HttpRequest, queryset: Entries) -> Entries:
        value = self.value()
        if not value:
            return queryset
        if value == RELEASE:
            return releases(queryset, labels_of(request).configuration)
        return queryset.filter(step=value) if value in STEP_TEXTS else queryset.none()


class WeekFilter(SelectFilter):
    """Filter by the Monday of a week. The address accepts any week; the list offers the last ones."""

    title = gettext_lazy("week")
    parameter_name = "week"

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin[Any]) -> Choices:
        mondays = reversed(last_mondays(timezone.now(), _zone(request)))
        words = _("From %(date)s")
        weeks = [(each.isoformat(), words % {"date": formats.date_format(each)}) for each in mondays]
        return [(RECENT, _("The last %(number)s weeks") % {"number": len(weeks)}), *weeks]

    def queryset(self, request: HttpRequest, queryset: Entries) -> Entries:
        value = self.value()
        if not value:
            return queryset
        if value == RECENT:
            return recent(queryset, timezone.now(), _zone(request))
        try:
            return within_week(queryset, date.fromisoformat(value), _zone(request))
        except (ValueError, OverflowError):
            return queryset.none()


class LogList(UncountedList):
    """A list without a total, because the log only grows."""

    def get_results(self, request: HttpRequest) -> None:
        start = self.start
        found = list(self.queryset[start : start + PAGE_SIZE + 1])
        self.show(found[:PAGE_SIZE], has_next=len(found) > PAGE_SIZE)
        for row in log_rows(request, self.result_list):
            row.entry.row = row  # type: ignore[attr-defined]  # for the columns, which get the entry alone


def _row(entry: LifecycleEntry) -> LogRow:
    return cast("LogRow", entry.row)  # type: ignore[attr-defined]  # set by the list


@admin.register(LifecycleEntry, site=storage_office)
class LifecycleAdmin(StorageModelAdmin):
    changers = frozenset()
    list_display = ("when", "element", "step_taken", "state", "who", "remark")
    list_display_links = None
    list_filter = (StepFilter, WeekFilter)
    list_per_page = PAGE_SIZE
    ordering = ("-changed_on", "-id")
    sortable_by = ()
    show_facets = admin.ShowFacets.NEVER
    actions = None

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return LogList

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        context = {"title": _("Lifecycle log"), **(extra_context or {})}
        return cast("HttpResponse", super().changelist_view(request, context))

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Redirect to the page of the element; a step has no page of its own."""
        try:
            entry = LifecycleEntry.objects.filter(id=UUID(object_id)).first()
        except ValueError:
            entry = None
        if entry is None:
            raise NotFound(_("There is no such page."))
        return redirect(element_address(str(entry.element_id), version=str(entry.version_id)))

    @admin.display(description=gettext_lazy("when"))
    def when(self, entry: LifecycleEntry) -> SafeString:
        return format_html('<span class="whitespace-nowrap">{}</span>', moment(entry.changed_on))

    @admin.display(description=gettext_lazy("element"))
    def element(self, entry: LifecycleEntry) -> SafeString:
        what = _row(entry).what
        if what is None:
            return cell(quiet(str(entry.element_id)))
        named = format_html('<a class="task-link" href="{}">{}</a>', what.address, what.name)
        return cell(named, quiet(f"{what.type_name} {entry.version}"))

    @admin.display(description=gettext_lazy("step"))
    def step_taken(self, entry: LifecycleEntry) -> SafeString:
        row = _row(entry)
        words = format_html('<a class="task-link" href="{}">{}</a>', row.task_address, row.words)
        return cell(words if row.task_address else row.words, quiet(row.transition), quiet(row.other))

    @admin.display(description=gettext_lazy("state"))
    def state(self, entry: LifecycleEntry) -> SafeString:
        row = _row(entry)
        return cell(f"{row.source} → {row.target}" if row.has_moved and row.source else row.target)

    @admin.display(description=gettext_lazy("who"))
    def who(self, entry: LifecycleEntry) -> SafeString:
        return cell(link(_row(entry).who))

    @admin.display(description=gettext_lazy("comment"))
    def remark(self, entry: LifecycleEntry) -> SafeString:
        warnings = [quiet(_("Ignored: %(warning)s") % {"warning": each}) for each in _row(entry).ignored]
        return cell(entry.comment, *warnings)
