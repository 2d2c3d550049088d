"""Addresses inside one storage, after `StoragePathMiddleware` has removed `/{collection}/{storage}`."""

from __future__ import annotations

from django.urls import include, path

from repository_site.urls import handler400, handler404, handler500
from storage.back_office import storage_office

__all__ = ["handler400", "handler404", "handler500", "urlpatterns"]

urlpatterns = [
    path("admin/", storage_office.urls),
    path("", include("elements.pages.urls")),
]
