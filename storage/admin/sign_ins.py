"""Failed sign-ins in the site's back office, where administrators can lift blocks."""

from __future__ import annotations

from django.contrib import admin, messages
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from storage.access.sign_ins import lift_blocks
from storage.admin.site_base import SiteModelAdmin
from storage.back_office import site_office
from storage.back_office.cells import ago, badge, moment
from storage.models import FailedSignIn


@admin.register(FailedSignIn, site=site_office)
class FailedSignInAdmin(SiteModelAdmin):
    """Read-only list. Failed sign-ins add rows; rows are deleted after a day."""

    list_display = ("whose", "network", "failures", "state", "started", "last")
    list_display_links = None
    list_select_related = ("account",)
    search_fields = ("account__username", "network")
    search_help_text = gettext_lazy("Search by account and address")
    ordering = ("-last_on", "id")
    actions = ("lift",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_lift_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    @admin.action(description=gettext_lazy("Lift the block: delete these failures"), permissions=["lift"])
    def lift(self, request: HttpRequest, queryset: QuerySet[FailedSignIn]) -> None:
        number = len(failures := list(queryset))
        lift_blocks(failures)
        text = ngettext("%d failure has been deleted.", "%d failures have been deleted.", number) % number
        messages.success(request, text)

    @admin.display(description=gettext_lazy("staff account"), ordering="account__username")
    def whose(self, row: FailedSignIn) -> str:
        if not bytes(row.name_digest):
            return _("all names")
        return row.account.get_username() if row.account else _("unknown account")

    @admin.display(description=gettext_lazy("state"))
    def state(self, row: FailedSignIn) -> SafeString:
        now = timezone.now()
        if until := row.blocked_until(now):
            return badge(_("Blocked until %s") % moment(until), "danger")
        return badge(_("Counting"), "warning") if row.counts_until > now else badge(_("Past"))

    @admin.display(description=gettext_lazy("since"), ordering="since")
    def started(self, row: FailedSignIn) -> SafeString:
        return ago(row.since)

    @admin.display(description=gettext_lazy("last on"), ordering="last_on")
    def last(self, row: FailedSignIn) -> SafeString:
        return ago(row.last_on)
