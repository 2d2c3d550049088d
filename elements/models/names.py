from __future__ import annotations

from django.db import models

from storage.models import TenantModel
from storage.models.tenant import tenant_link


class VersionName(TenantModel):
    """What a version is called in some culture, in a form by which filters find it.

    Under row-level security no index on the attributes themselves can serve a condition. The database keeps these rows
    with every change of the attribute `name`. They only say which versions can be meant: which are, in which culture
    and which letter case, is told by the attributes.
    """

    storage_through = "version"

    version = tenant_link("elements.ElementVersion", "+")
    folded = models.TextField(db_collation="C", help_text="As filters fold letter case, and cut.")

    class Meta:
        indexes = [
            models.Index(fields=["storage_id", "folded", "version"], name="name_by_text"),
            models.Index(fields=["storage_id", "version"], name="name_by_version"),
        ]

    def __str__(self) -> str:
        return self.folded
