from __future__ import annotations

from django.db import models

from storage.models import TenantModel
from storage.models.tenant import tenant_link


class VersionFile(TenantModel):
    """A file in an attribute of a version (D451). Its keys keep files that are in use, and decide who may read them."""

    storage_through = "version"
    concerns = ("version.element_id",)

    version = tenant_link("elements.ElementVersion", "+")
    attribute = models.CharField(max_length=100)
    file = tenant_link("storage.StoredFile", "+")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["storage_id", "version", "attribute", "file"], name="version_file_once")
        ]
        indexes = [models.Index(fields=["storage_id", "file", "version"], name="version_by_file")]

    def __str__(self) -> str:
        return f"{self.attribute} {self.file_id}"
