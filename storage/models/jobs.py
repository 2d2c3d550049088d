"""The job queue (D333): a view of procrastinate's table, and the errors of failed jobs, which procrastinate does not
keep. Jobs contain ids, never content of a tenant."""

from __future__ import annotations

from uuid import UUID

from django.db import models
from django.utils.translation import gettext_lazy as _


class QueuedJob(models.Model):
    """A job that waits, runs or has failed. Finished jobs are deleted. `storage.jobs` adds and changes rows."""

    TODO, DOING, FAILED = "todo", "doing", "failed"

    id = models.BigAutoField(primary_key=True)
    name = models.CharField(_("name"), max_length=128, db_column="task_name")
    args = models.JSONField()
    status = models.CharField(_("state"), max_length=32)
    scheduled_at = models.DateTimeField(_("not before"), null=True)
    attempts = models.IntegerField(_("attempts"))

    class Meta:
        managed = False
        db_table = "procrastinate_jobs"
        verbose_name = _("job")
        verbose_name_plural = _("jobs")

    def __str__(self) -> str:
        return f"{self.name} {self.pk}"

    @property
    def storage_id(self) -> UUID | None:
        """Return the storage of the job; None for a periodic job."""
        found = self.args.get("storage")
        return UUID(found) if found else None


class JobFailure(models.Model):
    """The last failure of a job. The database deletes it with the job."""

    job = models.OneToOneField(
        QueuedJob, on_delete=models.DO_NOTHING, primary_key=True, db_constraint=False, related_name="failure"
    )
    failed_on = models.DateTimeField()
    error = models.TextField()

    def __str__(self) -> str:
        return self.error
