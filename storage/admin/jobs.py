"""The job queue in the site's back office: what waits, runs and has failed, and the errors."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db.models import Model, OuterRef, QuerySet, Subquery, UUIDField, Value
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, Concat
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from storage.admin.site_base import SiteModelAdmin
from storage.back_office import site_office
from storage.back_office.cells import NOTHING, ago, badge, moment, number
from storage.jobs.enqueueing import delete_jobs, retry_failed
from storage.jobs.queue_state import QueueState, queue_state
from storage.models import QueuedJob, Storage


class JobStateFilter(admin.SimpleListFilter):
    title = gettext_lazy("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(QueuedJob.TODO, _("Waiting")), (QueuedJob.DOING, _("Running")), (QueuedJob.FAILED, _("Failed"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[QueuedJob]) -> QuerySet[QueuedJob]:
        known = {value for value, _ in self.lookup_choices}
        return queryset.filter(status=self.value()) if self.value() in known else queryset


@admin.register(QueuedJob, site=site_office)
class QueuedJobAdmin(SiteModelAdmin):
    """Read-only list; finished jobs are not in it."""

    list_display = ("name", "whose", "state", "attempts", "due", "error")
    list_display_links = None
    list_select_related = ("failure",)
    list_filter = (JobStateFilter,)
    search_fields = ("name", "args__storage")
    search_help_text = gettext_lazy("Search by name and by the id of a storage")
    ordering = ("-id",)
    actions = ("retry", "remove")
    list_before_template = "site_office/jobs.html"

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_act_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def get_queryset(self, request: HttpRequest) -> QuerySet[QueuedJob]:
        """Add the path of the storage, which the job knows by its id only."""
        paths = Storage.objects.filter(pk=OuterRef("owner")).values(path=Concat("collection__key", Value("/"), "key"))
        owner = Cast(KeyTextTransform("storage", "args"), UUIDField())
        found: QuerySet[QueuedJob] = super().get_queryset(request)
        return found.annotate(owner=owner).annotate(path=Subquery(paths))

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        numbers = queue_numbers(queue_state())
        return super().changelist_view(request, {**(extra_context or {}), "numbers": numbers})

    @admin.action(description=gettext_lazy("Retry failed jobs"), permissions=["act"])
    def retry(self, request: HttpRequest, queryset: QuerySet[QueuedJob]) -> None:
        done = retry_failed([each.pk for each in queryset])
        messages.success(request, ngettext("%d job waits again.", "%d jobs wait again.", done) % done)

    @admin.action(description=gettext_lazy("Delete jobs that do not run"), permissions=["act"])
    def remove(self, request: HttpRequest, queryset: QuerySet[QueuedJob]) -> None:
        done = delete_jobs([each.pk for each in queryset])
        messages.success(request, ngettext("%d job has been deleted.", "%d jobs have been deleted.", done) % done)

    @admin.display(description=gettext_lazy("storage"))
    def whose(self, row: QueuedJob) -> str:
        if row.storage_id is None:
            return _("Installation")
        return getattr(row, "path", None) or str(row.storage_id)

    @admin.display(description=gettext_lazy("state"), ordering="status")
    def state(self, row: QueuedJob) -> SafeString:
        kinds = {QueuedJob.TODO: (_("Waiting"), ""), QueuedJob.DOING: (_("Running"), "info")}
        return badge(*kinds.get(row.status, (_("Failed"), "danger")))

    @admin.display(description=gettext_lazy("not before"), ordering="scheduled_at")
    def due(self, row: QueuedJob) -> str:
        is_later = row.status == QueuedJob.TODO and row.scheduled_at and row.scheduled_at > timezone.now()
        return moment(row.scheduled_at) if is_later else NOTHING

    @admin.display(description=gettext_lazy("last error"))
    def error(self, row: QueuedJob) -> SafeString | str:
        failure = getattr(row, "failure", None)
        if failure is None:
            return NOTHING
        return format_html('{}<pre class="job-error">{}</pre>', ago(failure.failed_on), failure.error)


def queue_numbers(state: QueueState) -> list[tuple[str, str]]:
    """Return the numbers above the list."""
    minutes, seconds = divmod(round(state.oldest), 60)
    return [
        (_("Waiting"), number(state.waiting)),
        (_("Not due yet"), number(state.delayed)),
        (_("Running"), number(state.running)),
        (_("Failed"), number(state.failed)),
        (_("Oldest wait"), f"{minutes}:{seconds:02}"),
        (_("Workers"), number(state.workers)),
    ]
