"""Files that callers have uploaded into a storage (D450). Their content is outside of the database."""

from __future__ import annotations

from django.db import models

from storage.models.tenant import TenantModel


class StoredFile(TenantModel):
    """A name for a content. Callers who upload the same content have a row each; the content exists once."""

    digest = models.CharField(max_length=64, help_text="SHA-256 of the content, by which it is found.")
    size = models.PositiveBigIntegerField(help_text="Length of the content in bytes.")
    media_type = models.CharField(max_length=100, help_text="Media type that the content confirms (D452).")
    name = models.CharField(max_length=200)
    uploaded_by = models.CharField(max_length=200, help_text="The caller, as in logs.")
    uploaded_on = models.DateTimeField(help_text="Time of the last upload by this caller.")
    unused_since = models.DateTimeField(null=True, help_text="First night in which nothing had the file.")

    class Meta:
        constraints = [
            # Also serves looking for other rows with the same content.
            models.UniqueConstraint(fields=["storage_id", "digest", "name", "uploaded_by"], name="stored_file_once")
        ]
        indexes = [models.Index(fields=["storage_id", "uploaded_on"], name="stored_file_by_age")]

    def __str__(self) -> str:
        return self.name
