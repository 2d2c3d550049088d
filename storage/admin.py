"""The site's back office: collections, storages, staff accounts and tokens.

Storages are made and removed by provisioning, tokens are issued by `issue_token`: neither can be added here half-way.
"""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from unfold.admin import ModelAdmin, TabularInline

from storage.back_office import site_office
from storage.models import ApiToken, Culture, StaffAccount, Storage, StorageCollection, StorageMembership
from storage.tokens import revoke_token


class NotMadeHere:
    """For what only a domain function may make or delete."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class CultureInline(NotMadeHere, TabularInline):
    model = Culture
    extra = 0
    readonly_fields = ("lcid", "position", "is_default", "is_mandatory")
    can_delete = False


@admin.register(StorageCollection, site=site_office)
class StorageCollectionAdmin(NotMadeHere, ModelAdmin):
    list_display = ("key", "title", "created_on")
    readonly_fields = ("id", "key", "created_on")
    search_fields = ("key", "title")


@admin.register(Storage, site=site_office)
class StorageAdmin(NotMadeHere, ModelAdmin):
    list_display = ("__str__", "title", "template", "region", "time_zone", "anonymous_access", "is_valid")
    list_filter = ("anonymous_access", "is_valid", "template")
    list_select_related = ("collection",)
    search_fields = ("key", "title", "collection__key")
    fields = (
        "id",
        "collection",
        "key",
        "base",
        "template",
        "region",
        "time_zone",
        "title",
        "description",
        "is_valid",
        "anonymous_access",
        "stuck_after_days",
        "token_in_query",
        "created_on",
    )
    readonly_fields = ("id", "collection", "key", "base", "template", "region", "time_zone", "created_on")
    inlines = (CultureInline,)


@admin.register(ApiToken, site=site_office)
class ApiTokenAdmin(NotMadeHere, ModelAdmin):
    list_display = ("name", "scope", "roles", "current_state", "valid_until", "last_used_on")
    list_select_related = ("storage__collection", "collection")
    search_fields = ("name",)
    actions = ("revoke",)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("storage.change_apitoken")

    @admin.display(description="scope")
    def scope(self, token: ApiToken) -> str:
        return str(token.storage or token.collection or "site")

    @admin.display(description="state")
    def current_state(self, token: ApiToken) -> str:
        return token.state(timezone.now())

    @admin.action(description="Revoke the selected tokens", permissions=["revoke"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[ApiToken]) -> None:
        revoked = sum(revoke_token(token) for token in queryset)
        self.message_user(request, f"{revoked} token(s) revoked.")


class MembershipInline(TabularInline):
    model = StorageMembership
    extra = 0


@admin.register(StaffAccount, site=site_office)
class StaffAccountAdmin(UserAdmin, ModelAdmin):
    inlines = (MembershipInline,)
