from __future__ import annotations

from django.db import models

from storage.models import TenantModel
from storage.models.tenant import tenant_link


class VersionName(TenantModel):
    """Name of a version in a culture, in a form by which filters find it.

    Under row-level security, no index on the JSON attributes can serve a condition. Triggers maintain these rows with
    every change of the attribute `name`. They only narrow down the candidates: filters test culture and letter case on
    the attributes themselves.
    """

    storage_through = "version"

    version = tenant_link("elements.ElementVersion", "+")
    folded = models.TextField(db_collation="C", help_text="Name with folded letter case, as in filters, and shortened.")

    class Meta:
        indexes = [
            models.Index(fields=["storage_id", "folded", "version"], name="name_by_text"),
            models.Index(fields=["storage_id", "version"], name="name_by_version"),
        ]

    def __str__(self) -> str:
        return self.folded
