"""Request counts of each storage by hour, for the site's back office.

A request costs one addition in memory. A thread of each worker process writes the counts every few seconds, so a killed
process loses a few seconds, and an unreachable database fails no request.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from multiprocessing.util import Finalize
from uuid import UUID

import structlog
from django.db import connection, transaction
from django.utils import timezone

from storage.models import RequestCount
from storage.options import KEPT_DAYS

WRITE_EVERY = 10
TURNS = 6
HOUR = 3600
# Counts collect while the database is unreachable. Beyond this many, new ones are dropped.
MAX_WAITING = 10_000
log = structlog.get_logger("traffic")

Key = tuple[UUID, int]
"""A storage, and the number of hours since 1970."""


@dataclass(slots=True)
class Tally:
    requests: int = 0
    client_errors: int = 0
    server_errors: int = 0
    seconds: float = 0.0

    def add(self, other: Tally) -> None:
        self.requests += other.requests
        self.client_errors += other.client_errors
        self.server_errors += other.server_errors
        self.seconds += other.seconds


class TrafficCounter:
    """The counts of a process, shared by its threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tallies: dict[Key, Tally] = {}

    def count(self, storage: UUID, status: int, seconds: float) -> None:
        key = (storage, int(time.time()) // HOUR)
        with self._lock:
            tally = self._tallies.get(key)
            if tally is None:
                if len(self._tallies) >= MAX_WAITING:
                    return
                tally = self._tallies[key] = Tally()
            tally.requests += 1
            tally.seconds += seconds
            if status >= 500:
                tally.server_errors += 1
            elif status >= 400:
                tally.client_errors += 1

    def take(self) -> dict[Key, Tally]:
        """Return the counts since the last call."""
        with self._lock:
            taken, self._tallies = self._tallies, {}
        return taken

    def give_back(self, tallies: Mapping[Key, Tally]) -> None:
        """Add counts that could not be written, so that they are written with the next ones."""
        with self._lock:
            for key, tally in tallies.items():
                self._tallies.setdefault(key, Tally()).add(tally)


counter = TrafficCounter()


# Adds to the counts that other processes have written: in a fixed order, so that two processes never deadlock, and only
# for storages that still exist.
ADD_SQL = """INSERT INTO storage_requestcount AS kept
        (storage_id, hour, requests, client_errors, server_errors, milliseconds)
    SELECT given.storage, given.hour, given.requests, given.client_errors, given.server_errors, given.milliseconds
    FROM unnest(%s::uuid[], %s::timestamptz[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[])
        AS given (storage, hour, requests, client_errors, server_errors, milliseconds)
    JOIN storage_storage s ON s.id = given.storage
    ORDER BY given.storage, given.hour
    ON CONFLICT (storage_id, hour) DO UPDATE SET
        requests = kept.requests + excluded.requests,
        client_errors = kept.client_errors + excluded.client_errors,
        server_errors = kept.server_errors + excluded.server_errors,
        milliseconds = kept.milliseconds + excluded.milliseconds"""


def write_counts() -> bool:
    tallies = counter.take()
    if not tallies:
        return True
    rows = [
        (
            storage,
            datetime.fromtimestamp(hour * HOUR, UTC),
            tally.requests,
            tally.client_errors,
            tally.server_errors,
            round(tally.seconds * 1000),
        )
        for (storage, hour), tally in tallies.items()
    ]
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(ADD_SQL, [list(column) for column in zip(*rows, strict=True)])
    except Exception as problem:
        # Counting must go on, whatever the problem.
        counter.give_back(tallies)
        log.warning("request counts not written", problem=" ".join(str(problem).split()))
        return False
    return True


def start_writing(*others: Callable[[], object]) -> None:
    """Write the counts of this process every few seconds, and when it ends. Call `others` once a minute, and then."""
    ended = threading.Event()

    def run() -> None:
        turn = 0
        while not ended.wait(WRITE_EVERY):
            turn += 1
            write_counts()
            if turn % TURNS == 0:
                write_others()
            connection.close()

    def write_others() -> None:
        for each in others:
            each()

    def finish() -> None:
        ended.set()
        write_counts()
        write_others()
        connection.close()

    threading.Thread(target=run, name="traffic", daemon=True).start()
    # A worker is a multiprocessing process, which does not call functions registered with atexit.
    Finalize(None, finish, exitpriority=10)


def forget_old_hours() -> int:
    deleted, _ = RequestCount.objects.filter(hour__lt=timezone.now() - timedelta(days=KEPT_DAYS)).delete()
    return deleted
