"""`manage.py check`: check the project, the back office included."""

from __future__ import annotations

from typing import Any

from django.core.management.commands import check


class Command(check.Command):
    def handle(self, *app_labels: Any, **options: Any) -> None:
        # The checks of Django's admin look at registered models only, and Django starts without the back office.
        from django.contrib.admin import autodiscover

        autodiscover()
        super().handle(*app_labels, **options)
