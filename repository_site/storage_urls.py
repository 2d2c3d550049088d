"""Addresses inside one storage, after `StoragePathMiddleware` has removed `/{collection}/{storage}`."""

from __future__ import annotations

from django.urls import include, path

from elements.pages.views import page_not_found
from release.messages.account_page import account_page, confirm_page
from release.messages.unsubscribing import unsubscribe_page
from repository_site.urls import handler400, handler500
from storage.back_office import storage_office

__all__ = ["handler400", "handler404", "handler500", "urlpatterns"]

handler404 = page_not_found

urlpatterns = [
    path("admin/", storage_office.urls),
    path("account/", account_page, name="account"),
    path("account/confirm/<str:value>", confirm_page, name="confirm_address"),
    path("unsubscribe/<str:value>", unsubscribe_page, name="unsubscribe"),
    path("", include("elements.pages.urls")),
]
