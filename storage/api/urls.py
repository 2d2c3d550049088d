"""Addresses of the storage app below `_api`; the trailing slash is taken off before they are matched (D1)."""

from django.urls import path

from storage.api import views
from storage.tenancy.addresses import ADMINISTRATION_KEY

FACETS = f"<str:collectionId>/{ADMINISTRATION_KEY}/_api/rest/facets"
INSIDE = {"storageId": ADMINISTRATION_KEY}

urlpatterns = [
    path("<str:collectionId>/<str:storageId>/_api/rest/info", views.InfoView.as_view()),
    path(FACETS, views.FacetsView.as_view(), INSIDE),
    path(f"{FACETS}/<str:facetId>/views", views.ViewsView.as_view(), INSIDE),
    path(f"{FACETS}/<str:facetId>/views/<str:viewId>/elements", views.ElementsView.as_view(), INSIDE),
    path(f"{FACETS}/<str:facetId>/views/<str:viewId>/elements/<str:elementId>", views.ElementView.as_view(), INSIDE),
]
