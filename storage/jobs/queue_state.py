"""The state of the job queue in numbers, for the doctor, metrics and the back office."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from repository_site.core.database.statements import fetch

# Seconds without a heartbeat after which a worker counts as dead. It sends one every ten seconds.
STALLED_SECONDS = 30.0
STATE_SQL = f"""SELECT count(*) FILTER (WHERE j.is_due), count(*) FILTER (WHERE j.status = 'todo' AND NOT j.is_due),
        count(*) FILTER (WHERE j.status = 'doing'), count(*) FILTER (WHERE j.status = 'failed'),
        coalesce(extract(epoch FROM clock_timestamp() - min(coalesce(j.scheduled_at, e.at)) FILTER (WHERE j.is_due)),
            0)::float8,
        (SELECT count(*) FROM procrastinate_workers w
            WHERE w.last_heartbeat > clock_timestamp() - make_interval(secs => {STALLED_SECONDS})),
        coalesce((SELECT extract(epoch FROM clock_timestamp() - min((SELECT max(s.at) FROM procrastinate_events s
            WHERE s.job_id = d.id AND s.type = 'started'))) FROM procrastinate_jobs d WHERE d.status = 'doing'),
            0)::float8
    FROM (SELECT id, status, scheduled_at, status = 'todo' AND coalesce(scheduled_at <= clock_timestamp(), true)
            AS is_due FROM procrastinate_jobs) AS j
    LEFT JOIN procrastinate_events e ON j.is_due AND e.job_id = j.id AND e.type = 'deferred'"""  # noqa: S608  a number


@dataclass(frozen=True, slots=True)
class QueueState:
    """Jobs by state: `waiting` are due now, `delayed` later. `oldest` is the wait of the oldest, in seconds, and
    `longest` the time for which one has been running."""

    waiting: int
    delayed: int
    running: int
    failed: int
    oldest: float
    workers: int
    longest: float = 0.0

    @classmethod
    def of_row(cls, row: Any) -> QueueState:
        return cls(*row)


def queue_state() -> QueueState:
    return QueueState.of_row(fetch(STATE_SQL)[0])
