"""Addresses of the storage app below `_api`, without the trailing slash, which a middleware removes (D1)."""

from django.urls import path

from storage.api.administration_viewset import AdministrationViewSet
from storage.api.info_viewset import StorageInfoViewSet
from storage.api.storages_viewset import StoragesViewSet
from storage.api.viewset import reads
from storage.tenancy.addresses import ADMINISTRATION_KEY

FACETS = f"<str:collectionId>/{ADMINISTRATION_KEY}/_api/rest/facets"
VIEWS = f"{FACETS}/<str:facetId>/views"
ELEMENTS = f"{VIEWS}/<str:viewId>/elements"
NODES = f"<str:collectionId>/{ADMINISTRATION_KEY}/_api/rest/maintain"
STORAGES = f"<str:collectionId>/{ADMINISTRATION_KEY}/_api/v1/storages"
INSIDE = {"storageId": ADMINISTRATION_KEY}

urlpatterns = [
    path("<str:collectionId>/<str:storageId>/_api/rest/info", StorageInfoViewSet.as_view(reads("retrieve"))),
    path(FACETS, AdministrationViewSet.as_view(reads("list_administration_facets")), INSIDE),
    path(VIEWS, AdministrationViewSet.as_view(reads("list_administration_views")), INSIDE),
    path(ELEMENTS, AdministrationViewSet.as_view(reads("list")), INSIDE),
    path(f"{ELEMENTS}/<str:elementId>", AdministrationViewSet.as_view(reads("retrieve")), INSIDE),
    path(STORAGES, StoragesViewSet.as_view({"get": "list", "head": "list", "post": "create"}), INSIDE),
    path(NODES, AdministrationViewSet.as_view(reads("list_nodes")), INSIDE),
    path(f"{NODES}/<str:pool>", AdministrationViewSet.as_view(reads("list_nodes"), id_suffix="OfPool"), INSIDE),
]
