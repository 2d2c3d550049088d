from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from storage.models import TenantModel


class LifecycleEntry(TenantModel):
    """One step in the lifecycle of an element (D21). The table is append-only; the database refuses other changes.

    Ids have no foreign keys: entries outlive deleted drafts and users.
    """

    concerns = ("element_id",)
    dated_by = "changed_on"

    class Step(models.TextChoices):
        VERSION = "version", "new version"
        TRANSITION = "transition"
        SUCCESSION = "succession", "replaced by a newer version"
        EFFECT = "effect", "validFrom reached"
        EXPIRY = "expiry", "validUntil reached"
        REQUEST = "request", "task created"
        APPROVAL = "approval", "task accepted, more approvals needed"
        REJECTION = "rejection", "task rejected"
        WITHDRAWAL = "withdrawal", "task withdrawn"
        DELEGATION = "delegation", "task delegated"
        REMINDER = "reminder", "reminder of a task"

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
    assignee_id = models.UUIDField(
        null=True, help_text="The new assignee of a task, or the approver on whose behalf it was decided."
    )

    class Meta:
        verbose_name, verbose_name_plural = _("step of the lifecycle"), _("lifecycle log")
        constraints = [
            # The index of this constraint also serves reading the steps of an element in order.
            models.UniqueConstraint(fields=["storage_id", "element_id", "number"], name="entry_number_once")
        ]
        # For the lifecycle log of the whole storage in the back office.
        indexes = [models.Index(fields=["storage_id", "changed_on", "id"], name="entry_by_time")]

    def __str__(self) -> str:
        return f"{self.element_id} {self.step}"
