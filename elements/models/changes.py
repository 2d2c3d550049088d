from __future__ import annotations

from django.db import models

from storage.models import TenantModel


class ElementChange(TenantModel):
    """One change of one element, for audit. Rows are append-only; the database refuses updates and deletions.

    Ids are not foreign keys, so that the history stays when the element is deleted.
    """

    concerns = ("element_id",)
    dated_by = "changed_on"

    class Action(models.TextChoices):
        CREATED = "created"
        UPDATED = "updated"
        DRAWN = "drawn", "diagram changed"
        VERSIONED = "versioned", "new version"
        TRANSITIONED = "transitioned", "state changed"
        DELETED = "deleted"

    element_id = models.UUIDField()
    version_id = models.UUIDField()
    action = models.CharField(max_length=20, choices=Action)
    changed_on = models.DateTimeField()
    caller_id = models.UUIDField(null=True, help_text="The caller's element.")
    caller_label = models.CharField(max_length=200)
    request_id = models.CharField(max_length=128)
    before = models.JSONField()
    after = models.JSONField()

    class Meta:
        indexes = [
            models.Index(fields=["storage_id", "element_id", "changed_on", "id"], name="change_by_element"),
            # The overview shows the latest changes of all elements.
            models.Index(fields=["storage_id", "changed_on", "id"], name="change_by_time"),
        ]

    def __str__(self) -> str:
        return f"{self.element_id} {self.action}"
