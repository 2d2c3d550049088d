"""Events of changes, and the numbers that readers give them (D325, D326)."""

from __future__ import annotations

import secrets

from django.db import models

from storage.models.tenant import TenantModel


def new_epoch() -> int:
    """Return a random number that no earlier log of a storage has had."""
    return secrets.randbits(62)


class EventType(models.TextChoices):
    ELEMENT_CREATED = "element.created"
    ELEMENT_CHANGED = "element.changed"
    ELEMENT_MOVED = "element.moved"
    ELEMENT_DELETED = "element.deleted"
    VERSION_CREATED = "version.created"
    VERSION_STATE_CHANGED = "version.stateChanged"
    VERSION_RELEASED = "version.released"
    VERSION_EXPIRED = "version.expired"
    VERSION_DELETED = "version.deleted"
    DIAGRAM_CHANGED = "diagram.changed"
    TASK_OPENED = "task.opened"
    TASK_DECIDED = "task.decided"
    TASK_REASSIGNED = "task.reassigned"
    TASK_REMINDED = "task.reminded"
    CONFIGURATION_CHANGED = "configuration.changed"
    TOKEN_CREATED = "token.created"
    TOKEN_ROTATED = "token.rotated"
    TOKEN_CHANGED = "token.changed"
    TOKEN_REVOKED = "token.revoked"
    TOKEN_EXPIRING = "token.expiring"
    TOKEN_NEW_ADDRESS = "token.newAddress"


class Event(TenantModel):
    """One event. Ids have no foreign keys: events outlive deleted elements."""

    concerns = ("subject_id",)

    number = models.BigIntegerField(null=True, help_text="Place in the feed; empty until a reader numbers the event.")
    type = models.CharField(max_length=40, choices=EventType)
    time = models.DateTimeField(help_text="Later than every earlier event of the same subject.")
    subject_id = models.UUIDField(help_text="The element, the token, or the storage.")
    version_id = models.UUIDField(null=True)
    facet = models.CharField(max_length=100, blank=True)
    element_type = models.CharField(max_length=100, blank=True)
    state = models.CharField(max_length=100, blank=True)
    caller_id = models.UUIDField(null=True, help_text="The caller's element.")
    caller_label = models.CharField(max_length=200)
    request_id = models.CharField(max_length=128)
    is_public = models.BooleanField(help_text="Whether the version was published when the event was recorded.")
    data = models.JSONField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["storage_id", "number"], name="event_number_once")]
        indexes = [
            models.Index(
                fields=["storage_id", "time", "id"], name="event_without_number", condition=models.Q(number=None)
            ),
            models.Index(fields=["storage_id", "subject_id", "time"], name="event_by_subject"),
        ]

    def __str__(self) -> str:
        return f"{self.type} {self.subject_id}"


class EventLog(TenantModel):
    """The numbers of the events of a storage. The first reader creates the row."""

    epoch = models.BigIntegerField(default=new_epoch, help_text="Random number that a restore replaces.")
    last_number = models.BigIntegerField(default=0)
    oldest_number = models.BigIntegerField(default=1, help_text="Number of the oldest event that is kept.")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["storage_id"], name="one_event_log")]

    def __str__(self) -> str:
        return f"{self.storage_id} {self.last_number}"
