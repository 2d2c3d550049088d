"""Stored responses for idempotency keys: a request that is sent twice is executed once (D15)."""

from __future__ import annotations

from django.db import models

from storage.models.tenant import TenantModel


class AnsweredRequest(TenantModel):
    """The response to a request with an idempotency key. `digest` detects a different request with the same key."""

    caller = models.CharField(max_length=200)
    key = models.CharField(max_length=255)
    digest = models.BinaryField(max_length=32)
    headers = models.JSONField(default=dict)
    body = models.BinaryField(default=b"")
    created_on = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["storage_id", "caller", "key"], name="answered_request_once"),
        ]
        indexes = [models.Index(fields=["storage_id", "created_on"], name="answered_request_by_age")]

    def __str__(self) -> str:
        return f"{self.caller} {self.key}"
