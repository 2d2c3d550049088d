"""Tokens in the site's back office: those of the administrative contexts are issued here.

Those of storages are listed as well and can be revoked; they are issued and rotated in the storage's own back office,
where its users are known.
"""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from storage.admin.site_base import SiteModelAdmin
from storage.admin.storages import storage_path
from storage.admin.tokens.forms import AdministrativeIssueForm
from storage.admin.tokens.pages import TokenPages, TokenRoleFilter, TokenStateFilter
from storage.back_office import site_office
from storage.back_office.cells import badge
from storage.back_office.select_filter import SelectFilter
from storage.models import ApiToken, Storage, StorageCollection

SITE = "site"


class ScopeFilter(SelectFilter):
    title = gettext_lazy("scope")
    parameter_name = "scope"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        collections = [(str(each.pk), _("Collection %s") % each) for each in StorageCollection.objects.all()]
        storages = [(str(each.pk), _("Storage %s") % each) for each in Storage.objects.select_related("collection")]
        return [(SITE, _("The whole installation")), *collections, *storages]

    def queryset(self, request: HttpRequest, queryset: QuerySet[ApiToken]) -> QuerySet[ApiToken]:
        if self.value() == SITE:
            return queryset.filter(storage=None, collection=None)
        if self.value() in {key for key, _ in self.lookup_choices}:
            return queryset.filter(Q(storage=self.value()) | Q(collection=self.value()))
        return queryset


@admin.register(ApiToken, site=site_office)
class SiteTokenAdmin(TokenPages, SiteModelAdmin):
    list_display = ("name", "scope", "role_list", "state_badge", "ends", "last_used", "issued")
    list_filter = (ScopeFilter, TokenStateFilter, TokenRoleFilter)
    list_select_related = ("storage__collection", "collection", "provider")
    search_fields = ("name", "storage__key", "collection__key")
    fieldsets = (
        (None, {"fields": ("name", "scope", "state_badge", "role_list", "user_id", "id")}),
        (gettext_lazy("Validity"), {"fields": ("starts", "ends", "issued", "last_used", "revoked")}),
        (gettext_lazy("Limits and use"), {"fields": ("limits", "used_from", "refused_from", "agent_calls")}),
        (gettext_lazy("Rotation"), {"fields": ("rotated", "old_state", "old_used")}),
    )
    readonly_fields = (*TokenPages.readonly_fields, "scope")

    def issue_form(
        self, request: HttpRequest, data: Any = None, initial: dict[str, Any] | None = None
    ) -> AdministrativeIssueForm:
        return AdministrativeIssueForm(data, initial=initial)

    def may_rotate(self, token: ApiToken) -> bool:
        """Allow changes of administrative tokens; tokens of a storage are changed in its own back office."""
        return token.storage_id is None and super().may_rotate(token)

    def may_replace(self, token: ApiToken) -> bool:
        return token.storage_id is None and super().may_replace(token)

    @admin.display(description=gettext_lazy("scope"))
    def scope(self, token: ApiToken) -> SafeString:
        if token.storage is not None:
            link = '<a href="{}/admin/storage/apitoken/{}/change/" class="text-link">{}</a>'
            return format_html(link, storage_path(token.storage), token.pk, str(token.storage))
        if token.provider is not None:
            words = {"provider": token.provider, "collection": token.collection}
            return format_html("{}", _("SCIM for %(provider)s, collection %(collection)s") % words)
        if token.collection is not None:
            return format_html("{}", _("Collection %s") % token.collection)
        return badge(_("Installation"), "info")
