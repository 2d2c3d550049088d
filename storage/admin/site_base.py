"""Base class of the lists and forms of the site's back office."""

from __future__ import annotations

from typing import Any

from django.db.models import Model
from django.http import Http404, HttpRequest, HttpResponse

from storage.back_office.model_admin import OwnFilters


class SiteModelAdmin(OwnFilters):
    """Admin for site administrators only; Django's own permissions have no effect."""

    list_filter_submit = True
    warn_unsaved_form = True

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return bool(request.user.is_superuser)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return self.has_view_permission(request)

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def _get_obj_does_not_exist_redirect(self, request: HttpRequest, opts: Any, object_id: str) -> HttpResponse:
        raise Http404
