from django.apps import AppConfig


class FacetsConfig(AppConfig):
    name = "facets"
