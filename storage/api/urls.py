"""Addresses of the storage app below `_api`, without the trailing slash, which a middleware removes (D1)."""

from django.urls import path

from storage.api.administration_viewset import AdministrationViewSet
from storage.api.info_viewset import StorageInfoViewSet
from storage.api.storages_viewset import StoragesViewSet
from storage.api.viewset import reads

VIEWS = "rest/facets/<str:facetId>/views"
ELEMENTS = f"{VIEWS}/<str:viewId>/elements"
NODES = "rest/maintain"

# Below the prefix of an administrative context.
administration = [
    path("rest/facets", AdministrationViewSet.as_view(reads("list_administration_facets"))),
    path(VIEWS, AdministrationViewSet.as_view(reads("list_administration_views"))),
    path(ELEMENTS, AdministrationViewSet.as_view(reads("list"))),
    path(f"{ELEMENTS}/<str:elementId>", AdministrationViewSet.as_view(reads("retrieve"))),
    path("v1/storages", StoragesViewSet.as_view({"get": "list", "head": "list", "post": "create"})),
    path(NODES, AdministrationViewSet.as_view(reads("list_nodes"))),
    path(f"{NODES}/<str:pool>", AdministrationViewSet.as_view(reads("list_nodes"), id_suffix="OfPool")),
]
urlpatterns = [
    path("<str:collectionId>/<str:storageId>/_api/rest/info", StorageInfoViewSet.as_view(reads("retrieve"))),
]
