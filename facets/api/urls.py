"""Addresses of operations 1, 2 and 14."""

from django.urls import path

from facets.api.facet_viewset import FacetViewSet, FacetViewViewSet
from storage.api.viewset import reads

FACETS = "<str:collectionId>/<str:storageId>/_api/rest/facets"
VIEWS = f"{FACETS}/<str:facetId>/views"
CONFIGURATION = f"{VIEWS}/<str:viewId>/config"

urlpatterns = [
    path(FACETS, FacetViewSet.as_view(reads("list"))),
    path(VIEWS, FacetViewViewSet.as_view(reads("list"))),
    path(CONFIGURATION, FacetViewViewSet.as_view(reads("get_view_configuration"))),
    path(f"{CONFIGURATION}/<str:type>", FacetViewViewSet.as_view(reads("get_type_configuration"))),
]
