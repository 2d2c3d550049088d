from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from storage.models import TenantModel


class LifecycleEntry(TenantModel):
    """One step in the life of an element (D21). Rows are only ever added; the database refuses anything else.

    Ids stand here without keys: what happened stays on record when a draft or a user is gone.
    """

    class Step(models.TextChoices):
        VERSION = "version", "new version"
        TRANSITION = "transition"
        SUCCESSION = "succession", "a newer version was released"
        EFFECT = "effect", "validFrom has come"
        EXPIRY = "expiry", "validUntil has come"
        REQUEST = "request", "task made"
        REJECTION = "rejection", "task rejected"
        WITHDRAWAL = "withdrawal", "task withdrawn"
        DELEGATION = "delegation", "task given to another"
        REMINDER = "reminder", "somebody was reminded of a task"

    element_id = models.UUIDField()
    number = models.PositiveIntegerField(help_text="Counts the steps of the element.")
    version_id = models.UUIDField()
    version = models.CharField(max_length=30, help_text="Number of the version after the step.")
    step = models.CharField(max_length=20, choices=Step)
    from_state = models.CharField(max_length=100, blank=True)
    to_state = models.CharField(max_length=100)
    transition = models.CharField(max_length=100, blank=True)
    changed_on = models.DateTimeField()
    caller_id = models.UUIDField(null=True, help_text="The caller's element.")
    caller_label = models.CharField(max_length=200)
    request_id = models.CharField(max_length=128)
    comment = models.TextField(blank=True)
    ignored_warnings = models.JSONField(default=list)
    task_id = models.UUIDField(null=True)
    assignee_id = models.UUIDField(null=True, help_text="Whom a task was given to or decided for.")

    class Meta:
        verbose_name, verbose_name_plural = _("step of the lifecycle"), _("lifecycle log")
        constraints = [
            # Also the index by which the steps of an element are read, in order.
            models.UniqueConstraint(fields=["storage_id", "element_id", "number"], name="entry_number_once")
        ]
        # The back office shows what happened lately, whatever the element.
        indexes = [models.Index(fields=["storage_id", "changed_on", "id"], name="entry_by_time")]

    def __str__(self) -> str:
        return f"{self.element_id} {self.step}"
