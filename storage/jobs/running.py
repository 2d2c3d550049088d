"""Running one job, in a thread of the worker: its scope, its connection, and the record of its failure."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Any
from uuid import UUID

import structlog
from django.db import DatabaseError, connection, connections, transaction

from storage.jobs.declaring import AnyJob, PeriodicJob, SiteJob, StorageJob
from storage.models import Storage
from storage.tenancy.scope import StorageGone, tenant_scope

log = structlog.get_logger("jobs")
LONGEST_ERROR = 2000
_KEEP = """INSERT INTO storage_jobfailure (job_id, failed_on, error)
    SELECT id, clock_timestamp(), %s FROM procrastinate_jobs WHERE id = %s
    ON CONFLICT (job_id) DO UPDATE SET failed_on = excluded.failed_on, error = excluded.error"""
# Only the last failure of a periodic job matters, and none once it has succeeded.
_FORGET = "DELETE FROM procrastinate_jobs WHERE task_name = %s AND status = 'failed'"


def run_job(job: AnyJob, job_id: int, args: Mapping[str, Any]) -> None:
    """Run a job; raise what it raises. Must not be called inside a transaction, except in tests."""
    started = time.monotonic()
    try:
        _call(job, args)
    except Exception as problem:
        log.warning("job failed", job=job.name, id=job_id, storage=args.get("storage"), exc_info=problem)
        _keep_failure(job_id, problem)
        raise
    else:
        seconds = round(time.monotonic() - started, 3)
        log.debug("job done", job=job.name, id=job_id, storage=args.get("storage"), seconds=seconds)


def run_in_thread(job: AnyJob, job_id: int, args: Mapping[str, Any], is_last: Callable[[Exception], bool]) -> None:
    """Run a job, and return the connection of the thread to the pool. `is_last` tells whether a failure is final."""
    try:
        run_job(job, job_id, args)
    except Exception as problem:
        if is_last(problem):
            give_up(job, args)
        raise
    finally:
        connections.close_all()


def give_up(job: AnyJob | None, args: Mapping[str, Any]) -> None:
    """Call `on_failure` of a job that no worker will run again, in a thread of its own or of the job."""
    if not isinstance(job, StorageJob) or job.on_failure is None:
        return
    try:
        storage = _storage_of(args)
        if storage is not None:
            with tenant_scope(storage):
                job.on_failure(storage, **args["arguments"])
    except StorageGone:
        return
    except Exception as problem:
        # The failure itself is recorded, and matters more.
        log.warning("failure of a job not handled", job=job.name, storage=args.get("storage"), exc_info=problem)
    finally:
        connections.close_all()


def _call(job: AnyJob, args: Mapping[str, Any]) -> None:
    if isinstance(job, PeriodicJob):
        with connection.cursor() as cursor:
            cursor.execute(_FORGET, [job.name])
        job.function()
        return
    if isinstance(job, SiteJob):
        job.function(**args["arguments"])
        return
    storage = _storage_of(args)
    if storage is None:
        return
    try:
        with nullcontext() if job.own_scope else tenant_scope(storage):
            job.function(storage, **args["arguments"])
    except StorageGone:
        # Somebody removed the storage meanwhile.
        return


def _storage_of(args: Mapping[str, Any]) -> Storage | None:
    return Storage.objects.select_related("collection").filter(pk=UUID(args["storage"])).first()


def _keep_failure(job_id: int, problem: Exception) -> None:
    text = f"{type(problem).__name__}: {problem}"[:LONGEST_ERROR].replace("\0", "")
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(_KEEP, [text, job_id])
    except DatabaseError as lost:
        # The log has the failure itself, which is likely to have the same cause.
        log.warning("failure of a job not recorded", id=job_id, problem=" ".join(str(lost).split()))
