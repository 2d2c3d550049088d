"""Addresses of the reader pages, below `/{collection}/{storage}/`; `gotoUrl` leads to `element` (D59)."""

from django.urls import path

from elements.pages import appearance, permalink_pages, views
from elements.presentation.page_subscriptions import subscribe_view

app_name = "reader"
urlpatterns = [
    path("", views.start, name="start"),
    path("subscriptions/<uuid:element>", subscribe_view, name="subscribe"),
    path("appearance/<str:digest>.css", appearance.style_view, name="style"),
    path("appearance/<str:digest>", appearance.logo_view, name="logo"),
    path("_l/<str:key>", permalink_pages.permalink_page, name="permalink"),
    path("permalinks", permalink_pages.create_view, name="create_permalink"),
    path("<int:lcid>/", views.storage_page, name="storage"),
    path("<int:lcid>/search", views.search_page, name="search"),
    path("<int:lcid>/search/suggestions", views.suggestions_view, name="suggestions"),
    path("<int:lcid>/<str:facet>/", views.facet_page, name="facet"),
    path("<int:lcid>/<str:facet>/<str:identity>", views.element_page, name="element"),
    path("<int:lcid>/<str:facet>/<str:identity>/uses", views.uses_page, name="uses"),
]
