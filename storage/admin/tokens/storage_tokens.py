"""The tokens of one storage, in its own back office. For administrators only.

Tokens are looked up before a scope exists, so row-level security does not guard them: every way to a token here begins
with `get_queryset`, which knows those of this storage alone.
"""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from unfold.views import ChangeList

from storage.access.tokens import tokens_of
from storage.access.user_directory import user_names
from storage.admin.tokens.forms import StorageIssueForm
from storage.admin.tokens.pages import TokenPages
from storage.back_office import NavigationEntry, NavigationGroup, StorageModelAdmin, storage_office
from storage.back_office.cells import NOTHING
from storage.models import ApiToken
from storage.options import Role
from storage.pages import caller_of, context_of, storage_of

ADMINISTRATORS = frozenset({Role.ADMINISTRATOR})


class NamingList(ChangeList):
    """List that reads the names of all users on its page with one query."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        name_users(request, self.result_list)


def name_users(request: HttpRequest, rows: Any) -> None:
    names = user_names(storage_of(request), {row.user_id for row in rows if row.user_id})
    for row in rows:
        row.user_name = names.get(row.user_id, str(row.user_id)) if row.user_id else ""


@admin.register(ApiToken, site=storage_office)
class StorageTokenAdmin(TokenPages, StorageModelAdmin):
    viewers = ADMINISTRATORS
    changers = ADMINISTRATORS
    list_display = ("name", "role_list", "user", "state_badge", "ends", "last_used", "issued")
    fieldsets = (
        (None, {"fields": ("name", "state_badge", "role_list", "user", "id")}),
        (_("Validity"), {"fields": ("starts", "ends", "issued", "last_used", "revoked")}),
        (_("Limits and use"), {"fields": ("limits", "used_from", "refused_from", "agent_calls")}),
        (_("Rotation"), {"fields": ("rotated", "old_state", "old_used")}),
    )
    readonly_fields = (*TokenPages.readonly_fields, "user")

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return bool(caller_of(request).roles & self.changers)

    def get_queryset(self, request: HttpRequest) -> QuerySet[ApiToken]:
        return tokens_of(context_of(request)).order_by(*self.ordering)

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> ApiToken | None:
        token = super().get_object(request, object_id, from_field)
        if token is not None:
            name_users(request, [token])
        return token

    def get_changelist(self, request: HttpRequest, **options: Any) -> type[ChangeList]:
        return NamingList

    def issue_form(
        self, request: HttpRequest, data: Any = None, initial: dict[str, Any] | None = None
    ) -> StorageIssueForm:
        return StorageIssueForm(context_of(request), data, initial=initial)

    @admin.display(description=_("user"))
    def user(self, token: Any) -> SafeString:
        return format_html("{}", token.user_name or NOTHING)


storage_office.add_navigation(
    NavigationEntry(NavigationGroup.ACCESS, _("API tokens"), "key", "storage_apitoken_changelist", roles=ADMINISTRATORS)
)
