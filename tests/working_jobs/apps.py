from __future__ import annotations

from typing import TYPE_CHECKING

from django.apps import AppConfig

if TYPE_CHECKING:
    from storage.extension import StorageExtension


class WorkingJobsConfig(AppConfig):
    name = "tests.working_jobs"

    def ready(self) -> None:
        from storage.extension import storage_extensions

        storage_extensions.register(working_jobs)


def working_jobs() -> StorageExtension:
    from storage.extension import StorageExtension
    from tests.working_jobs.jobs import JOBS

    return StorageExtension(jobs=JOBS)
