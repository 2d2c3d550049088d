"""Background work (D333): declare a function as a job, enqueue it in the transaction that causes it, and a worker runs
it after the commit. docs/architecture.md#background-jobs explains how to add one."""

from storage.jobs.declaring import PeriodicJob, SiteJob, StorageJob, job, periodic_job, site_job

__all__ = ["PeriodicJob", "SiteJob", "StorageJob", "job", "periodic_job", "site_job"]
