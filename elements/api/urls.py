"""Addresses of the operations on elements."""

from django.urls import path

from elements.api import diagram_views, type_views, views, writing_views

REST = "<str:collectionId>/<str:storageId>/_api/rest"
FACET = f"{REST}/facets/<str:facetId>"
ELEMENTS = f"{FACET}/views/<str:viewId>/elements"
ELEMENT = f"{ELEMENTS}/<str:elementId>"
TYPES = "<str:collectionId>/<str:storageId>/_api/schema/types"

urlpatterns = [
    path(TYPES, type_views.TypeSchemasView.as_view()),
    path(f"{TYPES}/<str:type>", type_views.TypeSchemaView.as_view()),
    path(ELEMENTS, views.ElementsView.as_view()),
    path(ELEMENT, views.ElementView.as_view()),
    path(f"{ELEMENT}/attributes", views.AttributesView.as_view()),
    path(f"{ELEMENT}/attributes/<str:attributeName>", views.AttributeView.as_view()),
    path(f"{ELEMENT}/related", views.RelatedView.as_view()),
    path(f"{ELEMENT}/related/<str:relatedId>", views.RelatedContextView.as_view()),
    path(f"{ELEMENT}/children", views.ChildrenView.as_view()),
    path(f"{ELEMENT}/content", views.ContentView.as_view()),
    path(f"{ELEMENT}/content/<str:shapeId>", writing_views.ShapeView.as_view()),
    path(f"{ELEMENT}/content/<str:shapeId>/delete", writing_views.ShapeDeletionView.as_view()),
    path(f"{ELEMENT}/delete", writing_views.ElementDeletionView.as_view()),
    path(f"{ELEMENT}/history", writing_views.HistoryView.as_view()),
    path(f"{ELEMENT}/info", views.InfoView.as_view()),
    path(f"{ELEMENT}/versions", views.VersionsView.as_view()),
    path(f"{FACET}/reporting", views.ReportingView.as_view()),
    path(f"{FACET}/reporting/<str:elementId>", views.ReportingElementView.as_view()),
    path(f"{REST}/diagram/<str:elementId>/render/<str:cultureId>/<str:layoutKey>", diagram_views.DiagramView.as_view()),
]
