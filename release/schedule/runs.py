"""Runs of the scheduled jobs, with a record of the last run of each storage, so that a missing run shows (D157)."""

from __future__ import annotations

import time

import structlog
from django.db import DatabaseError, IntegrityError, transaction
from django.db.models import F
from django.utils import timezone

from release.models import Task
from release.schedule.lifecycle_jobs import LifecycleJobResult, run_lifecycle
from repository_site.core.database.statements import fetch
from repository_site.core.problems import NotFound
from storage.models import LifecycleRun, Storage
from storage.tenancy.scope import tenant_scope

log = structlog.get_logger("lifecycle")
TASKS_SQL = """SELECT count(*), count(*) FILTER (WHERE stuck_reasons @> %s::jsonb),
        count(*) FILTER (WHERE stuck_on IS NOT NULL)
    FROM release_task WHERE state = %s"""


def recorded_run(storage: Storage, outcome: LifecycleJobResult | None = None) -> LifecycleJobResult:
    started = time.monotonic()
    try:
        outcome = run_lifecycle(storage, outcome=outcome)
        with tenant_scope(storage):
            tasks = fetch(TASKS_SQL, [f'["{Task.Stuck.OVERDUE}"]', Task.State.OPEN])[0]
    except NotFound:
        raise
    except Exception:
        _keep_failure(storage, started)
        raise
    _keep(
        storage,
        started,
        ended_on=timezone.now(),
        open_tasks=tasks[0],
        overdue_tasks=tasks[1],
        stuck_tasks=tasks[2],
    )
    return outcome


def _keep_failure(storage: Storage, started: float) -> None:
    try:
        _keep(storage, started, failed_on=timezone.now(), failures=F("failures") + 1)
    except DatabaseError as problem:
        # The caller gets the failure itself, which is likely to have the same cause.
        log.warning("failed run not recorded", problem=" ".join(str(problem).split()))


def _keep(storage: Storage, started: float, **found: object) -> None:
    found |= {"runs": F("runs") + 1, "milliseconds": round((time.monotonic() - started) * 1000)}
    try:
        with transaction.atomic():
            LifecycleRun.objects.get_or_create(storage=storage)
            LifecycleRun.objects.filter(storage=storage).update(**found)
    except IntegrityError:
        raise NotFound("The storage has been removed.") from None
