"""What configuration rows have in common: texts per culture and a place in an order."""

from __future__ import annotations

from typing import Any

from django.db import models

from storage.models import TenantModel


class Texts(models.JSONField):
    """Texts by culture id, `{"1031": "Prozess", "1033": "Process"}`."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("default", dict)
        options.setdefault("blank", True)
        super().__init__(**options)


class ConfigurationModel(TenantModel):
    """A row of the configuration. Any change to one bumps the storage's revision, by a trigger in the database."""

    position = models.PositiveIntegerField(default=0)

    class Meta:
        abstract = True
