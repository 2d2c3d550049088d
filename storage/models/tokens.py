"""API tokens (D4). Only a keyed digest of the value is kept."""

from __future__ import annotations

import uuid
from datetime import datetime

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from storage.models.storages import Storage, StorageCollection
from storage.roles import Role


class ApiToken(models.Model):
    """Belongs to one storage, or to one collection, or (neither set) to the whole site."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    digest = models.BinaryField(max_length=32, unique=True, editable=False)
    name = models.CharField(max_length=200)
    storage = models.ForeignKey(Storage, on_delete=models.CASCADE, null=True, related_name="tokens")
    collection = models.ForeignKey(StorageCollection, on_delete=models.CASCADE, null=True, related_name="tokens")
    roles = ArrayField(models.CharField(max_length=20, choices=[(role.value, role.value) for role in Role]))
    user_id = models.UUIDField(null=True, help_text="The user element that calls with this token.")
    valid_from = models.DateTimeField()
    valid_until = models.DateTimeField(null=True)
    created_on = models.DateTimeField()
    last_used_on = models.DateTimeField(null=True)
    revoked_on = models.DateTimeField(null=True)

    class Meta:
        ordering = ["created_on", "id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(storage__isnull=True) | Q(collection__isnull=True), name="token_one_scope"
            )
        ]

    def __str__(self) -> str:
        return self.name

    def state(self, now: datetime) -> str:
        """One word for people: active, revoked, expired or not yet valid."""
        if self.revoked_on is not None:
            return "revoked"
        if self.valid_until is not None and self.valid_until <= now:
            return "expired"
        return "active" if self.valid_from <= now else "not yet valid"
