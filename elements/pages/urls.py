"""Addresses of the pages for readers, below `/{collection}/{storage}/`."""

from django.urls import path

from elements.pages import views

app_name = "reader"
urlpatterns = [
    path("", views.start, name="start"),
]
