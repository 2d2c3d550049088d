"""Collections in the site's back office. Provisioning a storage usually creates them."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Count, Model, QuerySet, TextField
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.widgets import UnfoldAdminTextareaWidget

from storage.admin.site_base import SiteModelAdmin
from storage.admin.storages import quota_badge
from storage.back_office import site_office
from storage.back_office.cells import ago, number
from storage.models import StorageCollection
from storage.provisioning.collection_quotas import most_storages
from storage.tenancy.addresses import key_problem


class CollectionForm(forms.ModelForm):
    def clean_key(self) -> str:
        key: str = self.cleaned_data["key"]
        if problem := key_problem(key):
            raise forms.ValidationError(f"{problem}.")
        if alike := StorageCollection.objects.filter(key__iexact=key).first():
            raise forms.ValidationError(_("The collection %s already exists.") % alike)
        return key


@admin.register(StorageCollection, site=site_office)
class StorageCollectionAdmin(SiteModelAdmin):
    form = CollectionForm
    list_display = ("key", "title", "storage_number", "quota", "created")
    formfield_overrides = {TextField: {"widget": UnfoldAdminTextareaWidget({"rows": 3})}}
    fields = ("key", "title", "description", "quota_storages")
    search_fields = ("key", "title")
    search_help_text = gettext_lazy("Search by id and title")

    def get_queryset(self, request: HttpRequest) -> QuerySet[StorageCollection]:
        found: QuerySet[StorageCollection] = super().get_queryset(request)
        return found.annotate(storage_count=Count("storages"))

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> tuple[str, ...]:
        """Keep the id: it is part of addresses that clients use."""
        return () if obj is None else ("key",)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Allow deleting empty collections only; removing the last storage deletes its collection."""
        is_empty = obj is not None and not obj.storages.exists() and not obj.identity_providers.exists()
        return self.has_view_permission(request) and is_empty

    @admin.display(description=gettext_lazy("storages"), ordering="storage_count")
    def storage_number(self, collection: Any) -> SafeString:
        address = reverse("admin:storage_storage_changelist")
        return format_html(
            '<a href="{}?collection__id__exact={}" class="text-link">{}</a>',
            address,
            collection.pk,
            collection.storage_count,
        )

    @admin.display(description=gettext_lazy("quota for the API"))
    def quota(self, collection: Any) -> SafeString:
        """Show the quota (D595). Storages that commands and pages have created count as well."""
        used, most = collection.storage_count, most_storages(collection)
        text = _("%(used)s of %(most)s") % {"used": number(used), "most": number(most)}
        return format_html("{} {}", text, quota_badge(used, most))

    @admin.display(description=gettext_lazy("created"), ordering="created_on")
    def created(self, collection: StorageCollection) -> SafeString:
        return ago(collection.created_on)
