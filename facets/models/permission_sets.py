from __future__ import annotations

from django.db import models

from storage.models import TenantModel


class PermissionSet(TenantModel):
    """Limits the permissions on an element and everything below it, or on a facet (D490).

    The element and the facet have no foreign keys: the history of a deleted element stays as hidden as it was. As for
    all configuration, a trigger replaces the revision of the storage with every change.
    """

    class Mode(models.TextChoices):
        EXTEND = "extend"
        REPLACE = "replace"
        STOP = "stop"

    number = models.PositiveIntegerField(help_text="Place of the set among the bits of a narrowed statement (D492).")
    creation_id = models.UUIDField(null=True, help_text="Creation id of the element; empty for the set of a facet.")
    facet_id = models.UUIDField(null=True)
    mode = models.CharField(max_length=10, choices=Mode, default=Mode.REPLACE)
    entries = models.JSONField(default=dict, help_text="Ids of users and groups by permission.")
    outer_number = models.PositiveIntegerField(default=0, help_text="Number of the nearest set above; 0 for none.")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["storage_id", "number"], name="permission_set_number_once"),
            models.UniqueConstraint(fields=["storage_id", "creation_id"], name="permission_set_of_element_once"),
            models.UniqueConstraint(fields=["storage_id", "facet_id"], name="permission_set_of_facet_once"),
        ]

    def __str__(self) -> str:
        return f"{self.number} {self.mode}"
