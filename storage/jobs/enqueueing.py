"""Adding, retrying and deleting jobs through Django's connection, in the transaction of the caller."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection
from django.utils import timezone

QUEUE = "default"
# Jobs that wait for other machines. A worker has places of their own for them.
NETWORK = "network"
# Number of jobs that can wait for other machines at the same time, beside the others (D367).
NETWORK_PLACES = 128
# Jobs that use the mail server, and how many of them one worker runs: each has one connection (D351).
MAIL = "mail"
MAIL_PLACES = 3
# Jobs that read the text of files, which takes long, and how many of them one worker runs (D530).
TEXTS = "texts"
TEXTS_PLACES = 2
# Wakes the workers; the trigger of the table does so for new rows only.
_WAKE = """pg_notify('procrastinate_any_queue_v1', json_build_object('type', 'job_inserted', 'job_id', id)::text)"""
# A worker asks the database which jobs are due, so their times are those of the database, whatever the clock of this
# machine says (D377).
_GIVEN = """SELECT given.queue, given.name, given.args, given.lock, given.queueing_lock,
        clock_timestamp() + make_interval(secs => given.delay)
    FROM unnest(%s::text[], %s::text[], %s::jsonb[], %s::text[], %s::text[], %s::float8[])
        AS given (queue, name, args, lock, queueing_lock, delay)"""
# A waiting job with the same queueing lock is locked until this transaction ends, instead of being left alone: a worker
# that took it now would not see what this transaction has written, and nobody would look again. The earlier of the two
# times applies, except to a job that waits for its next attempt.
_ADD = f"""WITH added AS (
        INSERT INTO procrastinate_jobs AS kept (queue_name, task_name, args, lock, queueing_lock, scheduled_at)
        {_GIVEN}
        ON CONFLICT (queueing_lock) WHERE status = 'todo'
            DO UPDATE SET scheduled_at = CASE WHEN kept.attempts > 0 THEN kept.scheduled_at
                WHEN kept.scheduled_at > excluded.scheduled_at THEN excluded.scheduled_at
                WHEN excluded.scheduled_at IS NOT NULL THEN kept.scheduled_at END
        RETURNING id, xmax = 0 AS is_new)
    SELECT count(CASE WHEN NOT is_new THEN {_WAKE} END) FROM added"""  # noqa: S608  constants
# A waiting job is left alone: what it has to find is committed.
_ADD_MISSING = f"""INSERT INTO procrastinate_jobs (queue_name, task_name, args, lock, queueing_lock, scheduled_at)
    {_GIVEN} ON CONFLICT (queueing_lock) WHERE status = 'todo' DO NOTHING"""
# Of several equal jobs one is enough, and only one may wait.
_RETRY = f"""WITH chosen AS (
        SELECT DISTINCT ON (coalesce(queueing_lock, id::text)) id FROM procrastinate_jobs j
        WHERE id = ANY(%s) AND status = 'failed' AND NOT EXISTS (SELECT FROM procrastinate_jobs twin
            WHERE twin.queueing_lock = j.queueing_lock AND twin.status = 'todo')
        ORDER BY coalesce(queueing_lock, id::text), id),
    retried AS (
        UPDATE procrastinate_jobs j SET status = 'todo', attempts = 0, scheduled_at = NULL
        FROM chosen WHERE j.id = chosen.id AND j.status = 'failed' RETURNING j.id)
    SELECT count({_WAKE}), count(*) FROM retried"""  # noqa: S608
_BRING_FORWARD = f"""WITH brought AS (
        UPDATE procrastinate_jobs SET scheduled_at = NULL
        WHERE queueing_lock = ANY(%s) AND status = 'todo' AND attempts = 0 AND scheduled_at > clock_timestamp()
        RETURNING id)
    SELECT count({_WAKE}) FROM brought"""  # noqa: S608


@dataclass(frozen=True, slots=True)
class NewJob:
    queue: str
    name: str
    args: dict[str, Any]
    lock: str | None
    queueing_lock: str | None
    not_before: datetime | None


def enqueue_all(jobs: Iterable[NewJob]) -> None:
    _add(_ADD, jobs)


def add_missing(jobs: Iterable[NewJob]) -> None:
    """Add the jobs that do not wait already. Call this after the commit of what they have to find."""
    _add(_ADD_MISSING, jobs)


def _add(statement: str, jobs: Iterable[NewJob]) -> None:
    # One of each kind that is queued once, and in a fixed order, so that two transactions never deadlock.
    distinct = {each.queueing_lock or index: each for index, each in enumerate(jobs)}
    added = sorted(distinct.values(), key=lambda each: each.queueing_lock or "")
    if not added:
        return
    now = timezone.now()
    columns: list[Any] = [
        [each.queue for each in added],
        [each.name for each in added],
        [json.dumps(each.args) for each in added],
        [each.lock for each in added],
        [each.queueing_lock for each in added],
        [each.not_before and (each.not_before - now).total_seconds() for each in added],
    ]
    with connection.cursor() as cursor:
        cursor.execute(statement, columns)


def bring_forward(queueing_locks: Iterable[str]) -> None:
    """Run jobs now that wait for a later time, except those that wait for their next attempt."""
    with connection.cursor() as cursor:
        cursor.execute(_BRING_FORWARD, [list(queueing_locks)])


def retry_failed(ids: Sequence[int]) -> int:
    """Run failed jobs again, with all their attempts; return how many. One that waits already is not added twice."""
    with connection.cursor() as cursor:
        cursor.execute(_RETRY, [list(ids)])
        return int((cursor.fetchone() or (0, 0))[1])


def delete_jobs(ids: Sequence[int]) -> int:
    """Delete jobs that no worker runs; return how many."""
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM procrastinate_jobs WHERE id = ANY(%s) AND status <> 'doing'", [list(ids)])
        return int(cursor.rowcount)


def delete_jobs_of(storage: UUID) -> None:
    """Delete the jobs of a storage that is removed. A running one finds no storage and ends."""
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM procrastinate_jobs WHERE args ->> 'storage' = %s AND status <> 'doing'", [str(storage)]
        )
