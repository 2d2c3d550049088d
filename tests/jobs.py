"""Jobs in tests: they run when a test says so, in its transaction."""

from __future__ import annotations

import json
from contextlib import nullcontext
from typing import Any

from django.db import connection, transaction

from storage.jobs.registry import declared_jobs
from storage.jobs.running import run_job

FETCH = "SELECT id, task_name, args FROM procrastinate_fetch_job_v2(NULL, NULL)"


def waiting_jobs() -> list[tuple[str, dict[str, Any]]]:
    """Return names and arguments of the jobs that wait, in their order."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT task_name, args FROM procrastinate_jobs WHERE status = 'todo' ORDER BY id")
        return [(name, _decoded(args)) for name, args in cursor.fetchall()]


def run_jobs() -> list[str]:
    """Run all jobs that are due, also those that they add. Return their names; raise what a job raises."""
    done: list[str] = []
    while True:
        with connection.cursor() as cursor:
            cursor.execute(FETCH)
            number, name, args = cursor.fetchone() or (None, "", None)
            if number is None:
                return done
            job = declared_jobs()[name]
            try:
                # A failed statement outside the scope of the job would spoil the transaction of the test.
                with transaction.atomic() if getattr(job, "own_scope", True) else nullcontext():
                    run_job(job, number, _decoded(args))
            except Exception:
                cursor.execute("SELECT procrastinate_finish_job_v1(%s, 'failed', false)", [number])
                raise
            cursor.execute("SELECT procrastinate_finish_job_v1(%s, 'succeeded', true)", [number])
        done.append(name)


def _decoded(args: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(args) if isinstance(args, str) else args
    return found
