"""The app of django-unfold, without its `apps.py`, which would load the back office into every command."""

from django.apps import AppConfig


class ThemeConfig(AppConfig):
    name = "unfold"
