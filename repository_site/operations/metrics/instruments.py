"""The metrics that every worker process records; `docs/reference/metrics.md` lists them.

Only processes that answer requests import this module: prometheus-client takes time to import.
"""

from __future__ import annotations

import os
import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Sequence

import psutil
from django.conf import settings
from django.db import connections
from prometheus_client import Counter, Gauge, Histogram, values
from prometheus_client.values import MultiProcessValue

from repository_site.core.database.base import watch_trips
from repository_site.core.database.replica import take_outcomes
from repository_site.core.fairness.admission import gate
from repository_site.core.middleware import reading
from repository_site.operations.metrics.folder import MetricsFolder

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
# Combinations of labels in one process. Each takes about 4 KB of memory, and time whenever the metrics are read.
MOST_SERIES = 2_000
OTHER = "other"
# Threads that answer no requests record their database trips when there are so many.
MOST_PENDING = 50

RequestLabels = tuple[str, ...]
"""Operation, method and class of status; then the storage, where `REPOSITORY_METRICS_STORAGES` is set."""


class BatchHistogram(Histogram):
    """Records several observations at once: each single one takes a lock that all threads share, twice."""

    def observe_all(self, amounts: Sequence[float]) -> None:
        self._sum.inc(sum(amounts))
        counts: dict[int, int] = {}
        for each in amounts:
            bucket = bisect_left(self._upper_bounds, each)
            counts[bucket] = counts.get(bucket, 0) + 1
        for bucket, count in counts.items():
            self._buckets[bucket].inc(count)


class PendingTrips(threading.local):
    """Database trips of a thread that are recorded when its request ends."""

    def __init__(self) -> None:
        self.seconds: dict[str, list[float]] = {}


class Instruments:
    """The metrics of this process. Label combinations are kept here, which is quicker than to ask the library."""

    def __init__(self, folder: MetricsFolder, slot: int) -> None:
        self.folder, self.slot = folder, slot
        # The library reads the folder from the environment, and takes the class for the values from its module.
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(folder.path)
        values.ValueClass = MultiProcessValue(lambda: slot)
        names = ("operation", "method", "status", *(("storage",) if settings.METRICS_STORAGES else ()))
        self._requests = Histogram(
            "repository_request_duration_seconds", "Requests.", names, buckets=BUCKETS, registry=None
        )
        trips = BatchHistogram(
            "repository_database_duration_seconds", "Database trips.", ["kind"], buckets=BUCKETS, registry=None
        )
        self._pending = PendingTrips()
        self._trips = {kind: trips.labels(kind) for kind in ("look_up", "statement")}
        self._failures = Counter("repository_database_errors_total", "Failed database trips.", ["kind"], registry=None)
        self._in_flight = _gauge("repository_requests_in_flight", "Requests in progress.")
        self._resident = _gauge("repository_resident_bytes", "Memory of the worker processes.")
        self._waiting = _gauge("repository_pool_waiting", "Requests that wait for a database connection.")
        connections_by_state = Gauge(
            "repository_pool_connections",
            "Database connections.",
            ["state"],
            multiprocess_mode="livesum",
            registry=None,
        )
        self._connections = {state: connections_by_state.labels(state) for state in ("open", "in_use", "most")}
        self._in_line = _gauge("repository_requests_waiting", "Requests that wait for their turn.")
        self._refused = Counter("repository_requests_refused_total", "Refused requests.", ["reason"], registry=None)
        self._work = Counter(
            "repository_work_seconds_total",
            "CPU and statement time of requests.",
            ["storage"] if settings.METRICS_STORAGES else [],
            registry=None,
        )
        self._replica = Counter(
            "repository_replica_requests_total", "Requests that allowed the replica.", ["outcome"], registry=None
        )
        self._refused_bodies = 0
        self._working: set[str] = set()
        self._known: dict[RequestLabels, Histogram] = {}
        self._process = psutil.Process()
        _gauge("repository_worker_processes", "Running worker processes.").set(1)
        Counter("repository_worker_starts_total", "Started worker processes.", registry=None).inc()

    def request_began(self) -> None:
        self._in_flight.inc()

    def request_ended(self, labels: RequestLabels, seconds: float) -> None:
        self._record_trips()
        (self._known.get(labels) or self._series(labels)).observe(seconds)
        self._in_flight.dec()

    def trip_ended(self, kind: str, statements: Sequence[str], started: float, problem: BaseException | None) -> None:
        if problem is not None:
            self._failures.labels(type(problem).__name__).inc()
            return
        pending = self._pending.seconds.setdefault(kind, [])
        pending.append(time.perf_counter() - started)
        if len(pending) >= MOST_PENDING:
            self._record_trips()

    def _record_trips(self) -> None:
        for kind, seconds in self._pending.seconds.items():
            self._trips[kind].observe_all(seconds)
        self._pending.seconds.clear()

    def measure_process(self) -> None:
        """Record what nothing else records: memory, fairness, and the connections of the pool."""
        self._resident.set(self._process.memory_info().rss)
        self._record_fairness()
        for outcome, count in take_outcomes().items():
            self._replica.labels(outcome).inc(count)
        pool = getattr(connections["default"], "pool", None)
        if pool is None:
            return
        stats = pool.get_stats()
        size = stats.get("pool_size", 0)
        self._connections["open"].set(size)
        self._connections["in_use"].set(size - stats.get("pool_available", 0))
        self._connections["most"].set(stats.get("pool_max", 0))
        self._waiting.set(stats.get("requests_waiting", 0))

    def _record_fairness(self) -> None:
        self._in_line.set(gate.waiting)
        tallies, bodies = gate.take_tallies(), reading.refused
        tallies.refused["bodies"] += bodies - self._refused_bodies
        self._refused_bodies = bodies
        for reason, count in tallies.refused.items():
            self._refused.labels(reason).inc(count)
        for storage, seconds in tallies.seconds.items():
            self._work_of(storage).inc(seconds)

    def _work_of(self, storage: str) -> Counter:
        if not settings.METRICS_STORAGES:
            return self._work
        if storage not in self._working and len(self._working) >= MOST_SERIES:
            storage = OTHER
        self._working.add(storage)
        return self._work.labels(storage)

    def _series(self, labels: RequestLabels) -> Histogram:
        """Return the series of new labels; the series `other` once there are too many."""
        if len(self._known) >= MOST_SERIES:
            labels = (OTHER,) * len(labels)
        return self._known.setdefault(labels, self._requests.labels(*labels))


def _gauge(name: str, about: str) -> Gauge:
    """Return a gauge that is summed up over the living processes."""
    return Gauge(name, about, multiprocess_mode="livesum", registry=None)


_instruments: Instruments | None = None
_stop_watching: Callable[[], None] | None = None


def instruments() -> Instruments | None:
    """Return the metrics of this process; None where nothing is recorded, as in a test or a management command."""
    return _instruments


def start_recording(folder: MetricsFolder) -> Instruments:
    global _instruments, _stop_watching
    _instruments = Instruments(folder, folder.claim_slot())
    _stop_watching = watch_trips(_instruments.trip_ended)
    return _instruments


def stop_recording() -> None:
    global _instruments, _stop_watching
    if _stop_watching is not None:
        _stop_watching()
    _instruments = _stop_watching = None
