"""Storages in the site's back office: list, sizes, traffic, settings and provisioning.

Only the command `remove_storage` deletes a storage: that takes time in proportion to the content and cannot be undone.
"""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet, TextField
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import path
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext_lazy
from unfold.decorators import action
from unfold.enums import ActionVariant
from unfold.views import ChangeList
from unfold.widgets import UnfoldAdminTextareaWidget

from repository_site.core.problems import NotFound
from storage.admin.charts import traffic_charts
from storage.admin.provisioning_forms import FIELDSETS, ProvisionForm, culture_name
from storage.admin.site_base import SiteModelAdmin
from storage.back_office import site_office
from storage.back_office.cells import ago, badge, badges, number, size, two_lines
from storage.back_office.domain_forms import FormPage
from storage.back_office.fields import uuids_of
from storage.back_office.select_filter import ChoiceFilter, RelatedFilter, YesNoFilter
from storage.models import Storage, StorageSize, TokenState
from storage.options import QUOTAS
from storage.provisioning.provision import set_quota
from storage.provisioning.sizes import measure_storage
from storage.quotas import NAMES, quota_of, read_use
from storage.tenancy.contexts import Context, ContextType
from storage.traffic_report import NONE, traffic_by_storage

# Share of a quota from which the page warns.
NEARLY_FULL = 0.9
LINK = '<a href="{}" class="text-link whitespace-nowrap">{}</a>'


def storage_path(storage: Storage) -> str:
    return Context(ContextType.STORAGE, storage.collection, storage).path


class StorageList(ChangeList):
    """List that reads the traffic of all storages with one query."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        found = traffic_by_storage(timezone.now())
        for storage in self.result_list:
            storage.traffic = found.get(storage.pk, NONE)


@admin.register(Storage, site=site_office)
class StorageAdmin(SiteModelAdmin):
    list_display = ("address", "status", "template", "cultures_shown", "elements", "bytes", "requests", "links")
    list_filter = (
        ("collection", RelatedFilter),
        ("is_valid", YesNoFilter),
        ("anonymous_access", ChoiceFilter),
    )
    list_select_related = ("collection", "size")
    list_fullwidth = True
    search_fields = ("key", "title", "collection__key")
    search_help_text = gettext_lazy("Search by id and title")
    formfield_overrides = {TextField: {"widget": UnfoldAdminTextareaWidget({"rows": 3})}}
    actions = ("measure_selected",)
    actions_list = ("provision",)
    show_add_link = False
    fieldsets = (
        (None, {"fields": ("title", "description", "is_valid")}),
        (gettext_lazy("Access"), {"fields": ("anonymous_access", "token_in_query", "allowed_origins")}),
        (gettext_lazy("Release"), {"fields": ("stuck_after_days",)}),
        (gettext_lazy("Events"), {"fields": ("event_days",)}),
        (gettext_lazy("Former states"), {"fields": ("past_days",)}),
        (gettext_lazy("Quotas"), {"fields": ("quota_elements", "quota_bytes", "quota_files", "quota_history")}),
        (
            gettext_lazy("Fixed settings"),
            {"fields": ("identity", "template", "cultures_shown", "region", "time_zone", "base", "created_on")},
        ),
    )
    readonly_fields = ("identity", "template", "cultures_shown", "region", "time_zone", "base", "created_on")
    change_form_outer_before_template = "site_office/storage_panels.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Storage]:
        found: QuerySet[Storage] = super().get_queryset(request)
        return found.prefetch_related("cultures")

    def get_changelist(self, request: HttpRequest, **options: Any) -> type[ChangeList]:
        return StorageList

    def get_urls(self) -> list[Any]:
        measure = self.admin_site.admin_view(self.measure)
        return [path("<uuid:storage_id>/measure/", measure, name="measure_storage"), *super().get_urls()]

    # Columns

    @admin.display(description=gettext_lazy("storage"), ordering="collection__key")
    def address(self, storage: Storage) -> SafeString:
        return two_lines(str(storage), storage.title)

    @admin.display(description=gettext_lazy("status"), ordering="is_valid")
    def status(self, storage: Storage) -> SafeString:
        found = [badge(_("Valid"), "success") if storage.is_valid else badge(_("Invalid"), "danger")]
        if storage.anonymous_access != "none":
            found.append(badge(_("Anonymous reading"), "info"))
        return badges(found)

    @admin.display(description=gettext_lazy("id"))
    def identity(self, storage: Storage) -> str:
        return str(storage.id)

    @admin.display(description=gettext_lazy("cultures"))
    def cultures_shown(self, storage: Storage) -> SafeString:
        return badges(
            badge(str(each.lcid), "info" if each.is_default else "", culture_name(each.lcid))
            for each in storage.cultures.all()
        )

    @admin.display(description=gettext_lazy("elements"), ordering="size__elements")
    def elements(self, storage: Storage) -> str:
        found = size_of(storage)
        return number(found.elements if found else None)

    @admin.display(description=gettext_lazy("data"), ordering="size__bytes")
    def bytes(self, storage: Storage) -> SafeString:
        """Show the last measurement with its age; the list does not count."""
        found = size_of(storage)
        if found is None:
            return format_html("{}", _("not measured"))
        return two_lines(size(found.bytes), ago(found.measured_on))

    @admin.display(description=gettext_lazy("requests, 24 h"))
    def requests(self, storage: Any) -> SafeString:
        """Show requests with errors; server errors are marked as more serious than client errors."""
        traffic = storage.traffic
        found = [badge(f"{number(traffic.server_errors)} × 5xx", "danger")] if traffic.server_errors else []
        if traffic.client_errors:
            found.append(badge(f"{number(traffic.client_errors)} × 4xx", "warning"))
        return format_html("{} {}", number(traffic.requests), badges(found) if found else "")

    @admin.display(description=pgettext_lazy("action", "Open"))
    def links(self, storage: Storage) -> SafeString:
        address = storage_path(storage)
        return format_html(
            '<span class="access-links">{}{}</span>',
            format_html(LINK, f"{address}/admin/", _("Back office")),
            format_html(LINK, f"{address}/", _("Pages")),
        )

    # Provisioning

    @action(
        description=gettext_lazy("Provision a storage"),
        url_path="provision",
        icon="add",
        variant=ActionVariant.PRIMARY,
        permissions=["add"],
    )
    def provision(self, request: HttpRequest) -> HttpResponse:
        return redirect("admin:storage_storage_add")

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponseBase:
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = ProvisionForm(request.POST, request.FILES) if request.method == "POST" else ProvisionForm()
        if form.is_bound and form.is_valid() and (storage := form.provision()):
            messages.success(request, _("%s is ready.") % storage)
            return redirect("admin:storage_storage_change", storage.pk)
        page = FormPage(_("Provision a storage"), _("Provision"), FIELDSETS)
        return page.render(self, request, form)

    # Measuring

    def measure(self, request: HttpRequest, storage_id: Any) -> HttpResponse:
        storage = self.get_queryset(request).filter(pk=storage_id).first()
        if not self.has_change_permission(request):
            raise PermissionDenied
        if request.method != "POST" or storage is None:
            raise Http404
        self._measure(request, [storage])
        return redirect("admin:storage_storage_change", storage.pk)

    @admin.action(description=gettext_lazy("Measure now"), permissions=["change"])
    def measure_selected(self, request: HttpRequest, queryset: QuerySet[Storage]) -> None:
        self._measure(request, list(queryset))

    def _measure(self, request: HttpRequest, storages: list[Storage]) -> None:
        measured = 0
        for storage in storages:
            try:
                measure_storage(storage)
                measured += 1
            except NotFound as problem:
                messages.warning(request, problem.message)
        if measured:
            text = ngettext("%d storage has been measured.", "%d storages have been measured.", measured)
            messages.success(request, text % measured)

    # Page of a storage

    def save_model(self, request: HttpRequest, obj: Storage, form: Any, change: bool) -> None:
        quotas = {name: form.cleaned_data[f"quota_{name}"] for name in QUOTAS if f"quota_{name}" in form.changed_data}
        if quotas:
            set_quota(obj, quotas)
        # Other columns may have changed since the page was read, such as the revision of the configuration.
        if others := set(form.changed_data) - {f"quota_{name}" for name in quotas}:
            obj.save(update_fields=others)

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponseBase:
        storages = self.get_queryset(request).select_related("collection", "size")
        storage = storages.filter(pk__in=uuids_of(object_id)).first()
        panels = self._panels(storage) if storage and self.has_view_permission(request, storage) else {}
        panels["show_save_and_add_another"] = False
        response: HttpResponseBase = super().change_view(
            request, object_id, form_url, {**(extra_context or {}), **panels}
        )
        return response

    def _quotas(self, storage: Storage) -> list[tuple[str, str, SafeString]]:
        """Return name, use and badge of each quota."""
        quota, use = quota_of(storage), read_use([storage]).get(storage.pk, {})
        found = []
        for name, most in quota.most.items() if quota else ():
            write = size if name == "bytes" else number
            words = {"used": write(use.get(name, 0)), "most": write(most)}
            found.append((_(NAMES[name]), _("%(used)s of %(most)s") % words, quota_badge(use.get(name, 0), most)))
        return found

    def _panels(self, storage: Storage) -> dict[str, Any]:
        now = timezone.now()
        found = size_of(storage)
        names = ("elements", "versions", "references", "shapes")
        fields = {name: StorageSize._meta.get_field(name).verbose_name for name in names}  # type: ignore[union-attr]
        return {
            "title": str(storage),
            "address": storage_path(storage),
            "sizes": [(fields[name], number(getattr(found, name, None))) for name in names],
            "data": size(found.bytes if found else None),
            "past": size(found.past_bytes if found else None),
            "quotas": self._quotas(storage),
            "measured": ago(found.measured_on if found else None, _("never")),
            "charts": traffic_charts(now, storage),
            "tokens": storage.tokens.in_state(TokenState.ACTIVE, now).count(),
            "members": storage.memberships.select_related("account").order_by("account__username"),
            "removal": f"manage.py remove_storage {storage.collection.key} {storage.key}",
        }


def quota_badge(used: int, most: int) -> SafeString:
    """Show how much of a quota is used; a nearly full one is marked."""
    kind = "danger" if used >= most else "warning" if used >= most * NEARLY_FULL else "success"
    share = 100 * used // most if most else 100
    return badge(f"{share} %", kind)


def size_of(storage: Storage) -> StorageSize | None:
    return getattr(storage, "size", None)
