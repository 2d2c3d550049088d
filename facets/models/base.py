"""Base class of configuration rows, and the field for texts by culture."""

from __future__ import annotations

from typing import Any

from django.db import models

from storage.models import TenantModel


class Texts(models.JSONField):
    """Texts by culture id, such as `{"1031": "Prozess", "1033": "Process"}`."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("default", dict)
        options.setdefault("blank", True)
        super().__init__(**options)


class ConfigurationModel(TenantModel):
    """A row of the configuration. A database trigger replaces the revision of the storage with every change."""

    position = models.PositiveIntegerField(default=0)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return str(getattr(self, "name", None) or getattr(self, "key", None) or super().__str__())
