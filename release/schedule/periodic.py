"""The lifecycle as a periodic job of the worker."""

from __future__ import annotations

from release.schedule.runs import recorded_run
from storage.jobs import periodic_job
from storage.jobs.every_storage import in_every_storage
from storage.models import Storage


@periodic_job("release.lifecycle", cron="*/5 * * * *")
def lifecycle_everywhere() -> None:
    """Do what `manage.py run_lifecycle` does. Both at the same time do no harm."""
    in_every_storage(_run)


def _run(storage: Storage) -> None:
    recorded_run(storage)
