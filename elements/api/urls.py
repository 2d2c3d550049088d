"""Addresses of the operations on elements."""

from django.urls import path

from elements.api.content_viewset import ContentViewSet
from elements.api.diagram_viewset import DiagramViewSet
from elements.api.element_parts_viewset import ElementPartsViewSet
from elements.api.element_viewset import ElementViewSet
from elements.api.reporting_viewset import ReportingViewSet
from elements.api.type_schema_viewset import TypeSchemaViewSet
from storage.api.viewset import reads

REST = "<str:collectionId>/<str:storageId>/_api/rest"
FACET = f"{REST}/facets/<str:facetId>"
ELEMENTS = f"{FACET}/views/<str:viewId>/elements"
ELEMENT = f"{ELEMENTS}/<str:elementId>"
SHAPE = f"{ELEMENT}/content/<str:shapeId>"
DIAGRAM = f"{REST}/diagram/<str:elementId>/render/<str:cultureId>/<str:layoutKey>"
TYPES = "<str:collectionId>/<str:storageId>/_api/schema/types"

urlpatterns = [
    path(TYPES, TypeSchemaViewSet.as_view(reads("list"))),
    path(f"{TYPES}/<str:type>", TypeSchemaViewSet.as_view(reads("retrieve"))),
    path(ELEMENTS, ElementViewSet.as_view({"get": "list", "head": "list", "post": "update_elements"})),
    path(ELEMENT, ElementViewSet.as_view({**reads("retrieve"), "delete": "destroy"})),
    path(f"{ELEMENT}/attributes", ElementPartsViewSet.as_view(reads("list_attributes"))),
    path(f"{ELEMENT}/attributes/<str:attributeName>", ElementPartsViewSet.as_view(reads("get_attribute"))),
    path(f"{ELEMENT}/related", ElementPartsViewSet.as_view(reads("list_related"))),
    path(f"{ELEMENT}/related/<str:relatedId>", ElementPartsViewSet.as_view(reads("get_related"))),
    path(f"{ELEMENT}/children", ElementViewSet.as_view(reads("list_children"))),
    path(f"{ELEMENT}/delete", ElementViewSet.as_view({"post": "delete_element_by_post"})),
    path(f"{ELEMENT}/history", ElementViewSet.as_view(reads("list_changes"))),
    path(f"{ELEMENT}/info", ElementViewSet.as_view(reads("get_element_info"))),
    path(f"{ELEMENT}/versions", ElementViewSet.as_view(reads("list_versions"))),
    path(f"{ELEMENT}/content", ContentViewSet.as_view({"get": "retrieve", "head": "retrieve", "post": "create"})),
    path(SHAPE, ContentViewSet.as_view({"delete": "destroy"})),
    path(f"{SHAPE}/delete", ContentViewSet.as_view({"post": "delete_shape_by_post"})),
    path(f"{FACET}/reporting", ReportingViewSet.as_view(reads("list"))),
    path(f"{FACET}/reporting/<str:elementId>", ReportingViewSet.as_view(reads("retrieve"))),
    path(DIAGRAM, DiagramViewSet.as_view(reads("retrieve"))),
]
