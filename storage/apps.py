from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_migrate
from django.utils.translation import gettext_lazy as _


class StorageConfig(AppConfig):
    name = "storage"
    verbose_name = _("Access")

    def ready(self) -> None:
        from storage.tenancy import checks  # noqa: F401  registers the system checks

        post_migrate.connect(after_migrating, sender=self)


def after_migrating(**options: Any) -> None:
    from storage.tenancy.distribution import after_migrating  # the models are not loaded yet

    after_migrating(**options)
