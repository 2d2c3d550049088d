"""What the site's back office shows of storages without looking into them: how large they are, and how busy."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from storage.models.storages import Storage


class StorageSize(models.Model):
    """Last measurement of a storage. Pages never count rows; `measure_storages` does (`provisioning/sizes.py`)."""

    storage = models.OneToOneField(Storage, on_delete=models.CASCADE, primary_key=True, related_name="size")
    measured_on = models.DateTimeField(_("measured on"))
    elements = models.PositiveBigIntegerField(_("elements"), default=0)
    versions = models.PositiveBigIntegerField(_("versions"), default=0)
    references = models.PositiveBigIntegerField(_("references"), default=0)
    shapes = models.PositiveBigIntegerField(_("shapes"), default=0)
    rows = models.PositiveBigIntegerField(
        _("rows"), default=0, help_text=_("Of all tables, the configuration included.")
    )
    bytes = models.PositiveBigIntegerField(_("bytes"), default=0, help_text=_("As stored, without indexes."))

    def __str__(self) -> str:
        return f"{self.storage_id} {self.bytes}"


class RequestCount(models.Model):
    """Requests to one storage that were answered within one hour."""

    storage = models.ForeignKey(Storage, on_delete=models.CASCADE, related_name="request_counts", db_index=False)
    hour = models.DateTimeField(help_text=_("Its beginning."))
    requests = models.PositiveBigIntegerField(default=0)
    client_errors = models.PositiveBigIntegerField(default=0, help_text=_("Answered 4xx."))
    server_errors = models.PositiveBigIntegerField(default=0, help_text=_("Answered 5xx."))
    milliseconds = models.PositiveBigIntegerField(default=0, help_text=_("Taken by all of them together."))

    class Meta:
        constraints = [models.UniqueConstraint(fields=["storage", "hour"], name="request_count_once_an_hour")]
        indexes = [models.Index(fields=["hour"], name="request_count_by_hour")]

    def __str__(self) -> str:
        return f"{self.storage_id} {self.hour:%Y-%m-%d %H:00} {self.requests}"


class LifecycleRun(models.Model):
    """The last look of `run_lifecycle` at a storage, and the tasks it met. Numbers, so that who watches over all
    storages needs to enter none (D157)."""

    storage = models.OneToOneField(Storage, on_delete=models.CASCADE, primary_key=True, related_name="lifecycle_run")
    ended_on = models.DateTimeField(help_text="Of the last run that did all that was due.", null=True)
    failed_on = models.DateTimeField(null=True, help_text="Of the last run that failed.")
    milliseconds = models.PositiveBigIntegerField(default=0, help_text="Taken by the last run.")
    runs = models.PositiveBigIntegerField(default=0)
    failures = models.PositiveBigIntegerField(default=0, help_text="How many of the runs failed.")
    open_tasks = models.PositiveBigIntegerField(default=0)
    overdue_tasks = models.PositiveBigIntegerField(default=0, help_text="Open for longer than the storage allows.")
    stuck_tasks = models.PositiveBigIntegerField(default=0, help_text="For whatever reason, overdue ones among them.")

    def __str__(self) -> str:
        return f"{self.storage_id} {self.ended_on}"
