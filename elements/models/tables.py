from __future__ import annotations

from uuid import UUID

from django.db import models

from storage.models import TenantModel

ONLY_MAPPING = UUID(int=1)
"""The id of the only row of a storage: the primary key contains the storage."""


class TableMapping(TenantModel):
    """Columns that people chose for the headers of tables that they imported (D466)."""

    columns = models.JSONField(default=dict, help_text="Header of a column by header in a file, in lower case.")

    def __str__(self) -> str:
        return str(self.id)


class TableImport(TenantModel):
    """A table that a person imports (D467): the file, the choices about it, and what it would change."""

    class Progress(models.TextChoices):
        PREVIEWING = "previewing"
        PREVIEWED = "previewed"
        IMPORTING = "importing"
        IMPORTED = "imported"

    name = models.CharField(max_length=200, help_text="The name of the file.")
    content = models.BinaryField(help_text="The file; empty after the import.")
    choices = models.JSONField(help_text="Key attribute, type of new elements, and the columns by their places.")
    progress = models.CharField(max_length=20, choices=Progress)
    report = models.JSONField(default=dict, help_text="The preview, or the result of the import.")
    address = models.TextField(help_text="The address of the storage, which some cells contain.")
    caller_label = models.CharField(max_length=200)
    language = models.CharField(max_length=20, blank=True, help_text="The language of the report.")
    request_id = models.CharField(max_length=128)
    changed_on = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["storage_id", "caller_label"], name="table_import_of_a_caller_once")
        ]

    def __str__(self) -> str:
        return self.name
