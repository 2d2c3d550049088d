"""Addresses of the reader pages, below `/{collection}/{storage}/`; `gotoUrl` leads to `element` (D59)."""

from django.urls import path

from elements.pages import views

app_name = "reader"
urlpatterns = [
    path("", views.start, name="start"),
    path("<int:lcid>/", views.storage_page, name="storage"),
    path("<int:lcid>/search", views.search_page, name="search"),
    path("<int:lcid>/<str:facet>/", views.facet_page, name="facet"),
    path("<int:lcid>/<str:facet>/<str:identity>", views.element_page, name="element"),
]
