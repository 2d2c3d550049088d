"""Numbers about storages, which the site's back office shows without reading their content."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from storage.models.storages import Storage


class StorageSize(models.Model):
    """Last measurement of a storage. Pages never count rows; `measure_storages` does."""

    storage = models.OneToOneField(Storage, on_delete=models.CASCADE, primary_key=True, related_name="size")
    measured_on = models.DateTimeField(_("measured on"))
    elements = models.PositiveBigIntegerField(_("elements"), default=0)
    versions = models.PositiveBigIntegerField(_("versions"), default=0)
    references = models.PositiveBigIntegerField(_("references"), default=0)
    shapes = models.PositiveBigIntegerField(_("shapes"), default=0)
    rows = models.PositiveBigIntegerField(
        _("rows"), default=0, help_text=_("Rows of all tables, including the configuration.")
    )
    bytes = models.PositiveBigIntegerField(_("bytes"), default=0, help_text=_("Stored size without indexes."))

    files = models.PositiveBigIntegerField(_("files"), default=0, db_default=0)
    history = models.PositiveBigIntegerField(_("changes in the history"), default=0, db_default=0)
    past_bytes = models.PositiveBigIntegerField(
        _("bytes of former states"), default=0, db_default=0, help_text=_("Part of the bytes.")
    )

    def __str__(self) -> str:
        return f"{self.storage_id} {self.bytes}"


_NEW_ID = models.Func(function="gen_random_uuid", output_field=models.UUIDField())


class StorageGrowth(models.Model):
    """Growth of a storage in one statement since its last measurement; triggers write it (see `storage/quotas.py`)."""

    # In the database, the key is (storage_id, id): a distributed database keeps the rows beside those of the storage.
    id = models.UUIDField(primary_key=True, editable=False, db_default=_NEW_ID)
    storage = models.ForeignKey(Storage, on_delete=models.CASCADE, related_name="growth", db_index=False)
    made_in = models.BigIntegerField(help_text="Id of the transaction, or 0 for the sum of several.")
    elements = models.BigIntegerField(default=0, db_default=0)
    bytes = models.BigIntegerField(default=0, db_default=0)
    files = models.BigIntegerField(default=0, db_default=0)
    history = models.BigIntegerField(default=0, db_default=0)

    def __str__(self) -> str:
        return f"{self.storage_id} {self.elements} {self.bytes}"


class RequestCount(models.Model):
    """Requests to one storage that were answered within one hour."""

    storage = models.ForeignKey(Storage, on_delete=models.CASCADE, related_name="request_counts", db_index=False)
    hour = models.DateTimeField(help_text=_("Start of the hour."))
    requests = models.PositiveBigIntegerField(default=0)
    client_errors = models.PositiveBigIntegerField(default=0, help_text=_("Responses with a 4xx status."))
    server_errors = models.PositiveBigIntegerField(default=0, help_text=_("Responses with a 5xx status."))
    milliseconds = models.PositiveBigIntegerField(default=0, help_text=_("Total duration of all requests."))

    class Meta:
        constraints = [models.UniqueConstraint(fields=["storage", "hour"], name="request_count_once_an_hour")]
        indexes = [models.Index(fields=["hour"], name="request_count_by_hour")]

    def __str__(self) -> str:
        return f"{self.storage_id} {self.hour:%Y-%m-%d %H:00} {self.requests}"


class LifecycleRun(models.Model):
    """Last run of `run_lifecycle` in a storage, with numbers of tasks: monitoring need not enter a storage (D157)."""

    storage = models.OneToOneField(Storage, on_delete=models.CASCADE, primary_key=True, related_name="lifecycle_run")
    ended_on = models.DateTimeField(help_text="End of the last successful run.", null=True)
    failed_on = models.DateTimeField(null=True, help_text="Time of the last failed run.")
    milliseconds = models.PositiveBigIntegerField(default=0, help_text="Duration of the last run.")
    runs = models.PositiveBigIntegerField(default=0)
    failures = models.PositiveBigIntegerField(default=0, help_text="Number of failed runs.")
    open_tasks = models.PositiveBigIntegerField(default=0)
    overdue_tasks = models.PositiveBigIntegerField(default=0, help_text="Open for longer than allowed.")
    stuck_tasks = models.PositiveBigIntegerField(default=0, help_text="Stuck for any reason; includes overdue tasks.")

    def __str__(self) -> str:
        return f"{self.storage_id} {self.ended_on}"


class WebhookCount(models.Model):
    """Webhooks and messages of a storage, as a worker has counted them in the last minutes (D157)."""

    storage = models.OneToOneField(Storage, on_delete=models.CASCADE, primary_key=True, related_name="webhook_count")
    counted_on = models.DateTimeField()
    webhooks = models.BigIntegerField(default=0)
    disabled_webhooks = models.BigIntegerField(default=0)
    waiting_messages = models.BigIntegerField(default=0)
    waiting_since = models.DateTimeField(null=True, help_text="When the oldest of them was made.")
    dead_letters = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.storage_id} {self.webhooks}"
