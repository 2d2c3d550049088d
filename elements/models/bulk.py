from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models

from storage.models import TenantModel
from storage.models.tenant import tenant_link


class BulkRun(TenantModel):
    """A bulk change and its report (D471). The elements are those that were selected when it was requested."""

    class State(models.TextChoices):
        WAITING = "waiting"
        RUNNING = "running"
        DONE = "done"
        STOPPED = "stopped"

    facet = models.CharField(max_length=100)
    view = models.CharField(max_length=100)
    filter = models.TextField(blank=True, help_text="The filter that selected the elements; empty for ids.")
    operations = models.JSONField(help_text="The operations as they were requested.")
    elements = ArrayField(models.UUIDField())
    is_dry_run = models.BooleanField()
    state = models.CharField(max_length=20, choices=State)
    total = models.IntegerField()
    processed = models.IntegerField(default=0, help_text="The place from which the next batch continues.")
    changed = models.IntegerField(default=0)
    unchanged = models.IntegerField(default=0)
    refused = models.IntegerField(default=0)
    reason = models.TextField(blank=True, help_text="The reason why the run was stopped.")
    caller_id = models.UUIDField(null=True, help_text="The caller's element.")
    caller_label = models.CharField(max_length=200)
    language = models.CharField(max_length=20, blank=True, help_text="The language of the reasons.")
    request_id = models.CharField(max_length=128)
    created_on = models.DateTimeField()
    changed_on = models.DateTimeField()
    finished_on = models.DateTimeField(null=True)

    class Meta:
        indexes = [models.Index(fields=["storage_id", "created_on", "id"], name="bulk_run_by_creation")]

    def __str__(self) -> str:
        return str(self.id)


class BulkRefusal(TenantModel):
    """An element that a bulk change has left as it was, with the reasons."""

    storage_through = "run"
    concerns = ("element_id",)

    run = tenant_link("elements.BulkRun", "refusals")
    element_id = models.UUIDField(help_text="The element, which may have been deleted.")
    place = models.IntegerField(help_text="Place of the element in the selection.")
    reasons = models.JSONField()

    class Meta:
        indexes = [models.Index(fields=["storage_id", "run", "place"], name="bulk_refusal_by_run")]

    def __str__(self) -> str:
        return str(self.element_id)
