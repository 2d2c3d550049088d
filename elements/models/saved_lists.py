from __future__ import annotations

from django.db import models

from storage.models import TenantModel


class SavedList(TenantModel):
    """A list of the back office that a person has saved: its filters, its order and its columns (D475)."""

    owner_label = models.CharField(max_length=200, help_text="The label of the caller.")
    name = models.CharField(max_length=100)
    query = models.TextField(help_text="The query string of the list.")
    created_on = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["storage_id", "owner_label", "name"], name="saved_list_name_once")
        ]

    def __str__(self) -> str:
        return self.name
