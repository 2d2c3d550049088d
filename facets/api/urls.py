"""Addresses of operations 1, 2 and 14."""

from django.urls import path

from facets.api import views

FACETS = "<str:collectionId>/<str:storageId>/_api/rest/facets"

urlpatterns = [
    path(FACETS, views.FacetsView.as_view()),
    path(f"{FACETS}/<str:facetId>/views", views.ViewsView.as_view()),
    path(f"{FACETS}/<str:facetId>/views/<str:viewId>/config", views.ConfigurationView.as_view()),
    path(f"{FACETS}/<str:facetId>/views/<str:viewId>/config/<str:type>", views.TypeConfigurationView.as_view()),
]
