from django.apps import AppConfig


class ShelvesConfig(AppConfig):
    name = "tests.shelves"
