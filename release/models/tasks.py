from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from storage.models import TenantModel
from storage.models.tenant import tenant_link


class Task(TenantModel):
    """A transition that waits for approval (D23), or a version that waits in a state for one approver (D355).

    People have no foreign keys: users can be deleted, and a task whose approver was deleted is stuck. Tasks are opened
    while their element is locked, so that a version has one request, or one round of tasks, at a time.
    """

    concerns = ("element_id",)

    class State(models.TextChoices):
        OPEN = "open"
        ACCEPTED = "accepted"
        REJECTED = "rejected"
        WITHDRAWN = "withdrawn"
        OBSOLETE = "obsolete", "overtaken by a newer version or by expiry"

    class Stuck(models.TextChoices):
        MISSING = "approverMissing"
        INACTIVE = "approverInactive"
        NO_ROLE = "approverLacksRole"
        OVERDUE = "overdue"

    type = models.CharField(max_length=100)
    element = tenant_link("elements.Element", "+")
    version = tenant_link("elements.ElementVersion", "+")
    revision = models.PositiveBigIntegerField(help_text="Revision of the version when the task was created.")
    transition = models.CharField(max_length=100)
    source_state = models.CharField(max_length=100)
    target_state = models.CharField(max_length=100)
    valid_until = models.DateTimeField(null=True, help_text="The requested end; empty means the day of acceptance.")
    state = models.CharField(max_length=20, choices=State, default=State.OPEN)
    requested_on = models.DateTimeField()
    requester_id = models.UUIDField(null=True)
    requester_label = models.CharField(max_length=200)
    comment = models.TextField(blank=True)
    assignee_id = models.UUIDField(null=True, help_text="A user or a group; empty means every approver.")
    decided_on = models.DateTimeField(null=True)
    decider_id = models.UUIDField(null=True)
    decider_label = models.CharField(max_length=200, blank=True)
    decision = models.TextField(blank=True, help_text="The comment of the decider.")
    round_id = models.UUIDField(null=True, help_text="Shared by the tasks that open when a version starts to wait.")
    approvals = models.SmallIntegerField(default=1, db_default=1, help_text="Tasks of the round that must be accepted.")
    due_on = models.DateTimeField(null=True, help_text="Empty means the usual number of days of the storage.")
    stuck_on = models.DateTimeField(null=True)
    stuck_reasons = models.JSONField(default=list)

    class Meta:
        verbose_name, verbose_name_plural = _("task"), _("tasks")
        ordering = ["requested_on", "id"]
        indexes = [
            models.Index(fields=["storage_id", "state", "requested_on", "id"], name="task_by_state"),
            models.Index(fields=["storage_id", "assignee_id"], name="task_by_assignee"),
            models.Index(fields=["storage_id", "element"], name="task_by_element"),
            models.Index(fields=["storage_id", "version"], name="task_by_version"),
        ]

    def __str__(self) -> str:
        return f"{self.type} {self.id}"
