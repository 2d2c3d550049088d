"""`/metrics`: who may read it, and the text that Prometheus takes."""

from __future__ import annotations

import hmac
import platform
import threading
from collections.abc import Callable, Iterable, Iterator
from ipaddress import ip_address
from multiprocessing.util import Finalize
from typing import Any

import django
import psutil
from django.conf import settings
from django.db import Error, connection, connections
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.http.response import HttpResponseBase
from psycopg import Error as DriverError
from psycopg_pool import PoolTimeout

from repository_site.core import metrics as board
from repository_site.core.embedded_postgres import EmbeddedPostgresError
from repository_site.core.middleware import FORWARDED

TYPE = "text/plain; version=0.0.4; charset=utf-8"
POOL_GAUGES = {
    "pool_open": "pool_size",
    "pool_idle": "pool_available",
    "pool_most": "pool_max",
    "pool_waiting": "requests_waiting",
}
PUBLISH_SECONDS = 2
# Prometheus waits ten seconds by default, and is to hear of a database that is away.
DATABASE_SECONDS = 2
# Of numbers only: nothing here enters a storage (D157).
STATE_SQL = """SELECT count(*), count(*) FILTER (WHERE r.ended_on IS NULL),
        count(*) FILTER (WHERE r.failed_on > coalesce(r.ended_on, '-infinity')),
        extract(epoch FROM min(r.ended_on))::float8, extract(epoch FROM max(r.ended_on))::float8,
        coalesce(sum(r.milliseconds), 0)::float8 / 1000, coalesce(sum(r.open_tasks), 0)::bigint,
        coalesce(sum(r.overdue_tasks), 0)::bigint, coalesce(sum(r.stuck_tasks), 0)::bigint
    FROM storage_storage s LEFT JOIN storage_lifecyclerun r ON r.storage_id = s.id"""
Sample = tuple[dict[str, str], float]


class MetricsPageMiddleware:
    """Answers before anything looks at the host, as for probes. To others there is nothing at this address (D160)."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.path_info != "/metrics" or not may_read(request):
            return self.get_response(request)
        if request.method not in ("GET", "HEAD"):
            return HttpResponseNotAllowed(["GET", "HEAD"])
        return HttpResponse(text(), content_type=TYPE, headers={"Cache-Control": "no-store"})


def may_read(request: HttpRequest) -> bool:
    """With the secret, or directly from one of the networks. What a proxy has passed on comes from wherever, even if
    the proxy itself is on this machine."""
    given = request.META.get("HTTP_AUTHORIZATION", "")
    if settings.METRICS_TOKEN and hmac.compare_digest(given.encode(), f"Bearer {settings.METRICS_TOKEN}".encode()):
        return True
    if any(name in request.META for name in (*FORWARDED, "HTTP_FORWARDED", "HTTP_VIA", "HTTP_X_REAL_IP")):
        return False
    try:
        address = ip_address(request.META.get("REMOTE_ADDR", ""))
    except ValueError:
        return False
    return any(address in network for network in settings.METRICS_NETWORKS)


def text() -> str:
    publish_pool()
    reading = board.everybody()
    lines = [*_build(), *_requests(reading), *_processes(reading), *_database(reading), *_storages()]
    return "\n".join(lines) + "\n"


def _family(name: str, kind: str, about: str, samples: Iterable[Sample]) -> Iterator[str]:
    yield f"# HELP {name} {about}"
    yield f"# TYPE {name} {kind}"
    for labels, value in samples:
        yield f"{name}{_labels(labels)} {_number(value)}"


def _labels(labels: dict[str, str]) -> str:
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}" if labels else ""


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(float(value))


def _gauge(name: str, about: str, value: float) -> Iterator[str]:
    return _family(name, "gauge", about, [({}, value)])


def _histogram(name: str, about: str, rows: Iterable[tuple[dict[str, str], board.Row]]) -> Iterator[str]:
    yield f"# HELP {name} {about}"
    yield f"# TYPE {name} histogram"
    for labels, row in rows:
        total = 0.0
        for bound, count in zip((*map(_number, board.BUCKETS), "+Inf"), row.counts, strict=True):
            total += count
            yield f"{name}_bucket{_labels({**labels, 'le': bound})} {_number(total)}"
        yield f"{name}_sum{_labels(labels)} {_number(row.sum)}"
        yield f"{name}_count{_labels(labels)} {_number(total)}"


def _rows(reading: board.Reading, metric: str, *names: str) -> list[tuple[dict[str, str], board.Row]]:
    found = sorted(row for row in reading.rows.values() if row.label[0] == metric)
    return [(dict(zip(names, row.label[1:], strict=False)), row) for row in found]


def _build() -> Iterator[str]:
    versions = {
        "version": str(settings.SPECTACULAR_SETTINGS["VERSION"]),
        "python": platform.python_version(),
        "django": django.get_version(),
    }
    return _family("repository_build_info", "gauge", "Versions, as labels.", [(versions, 1)])


def _requests(reading: board.Reading) -> Iterator[str]:
    yield from _histogram(
        "repository_request_duration_seconds",
        "Requests by operation, method and class of status; streams until they begin.",
        _rows(reading, "request", "operation", "method", "status", "storage"),
    )
    yield from _gauge("repository_requests_in_flight", "Requests being answered.", reading.gauges["in_flight"])


def _processes(reading: board.Reading) -> Iterator[str]:
    resident = 0
    for pid in reading.workers:
        try:
            resident += psutil.Process(pid).memory_info().rss
        except psutil.Error:
            continue
    yield from _gauge("repository_worker_processes", "Worker processes that live.", len(reading.workers))
    yield from _family("repository_worker_starts_total", "counter", "Worker processes started.", [({}, reading.starts)])
    yield from _gauge("repository_resident_bytes", "Memory of the worker processes together.", resident)


def _database(reading: board.Reading) -> Iterator[str]:
    yield from _histogram(
        "repository_database_duration_seconds",
        "Trips to the database: look_up for prepared statements, statement for others.",
        _rows(reading, "database", "kind"),
    )
    errors = [(labels, sum(row.counts)) for labels, row in _rows(reading, "database_error", "kind")]
    yield from _family("repository_database_errors_total", "counter", "Failed trips, by kind of error.", errors)
    gauges = reading.gauges
    states = {
        "open": gauges["pool_open"],
        "in_use": gauges["pool_open"] - gauges["pool_idle"],
        "most": gauges["pool_most"],
    }
    yield from _family(
        "repository_pool_connections",
        "gauge",
        "Database connections of the pools of all workers.",
        [({"state": name}, value) for name, value in states.items()],
    )
    yield from _gauge("repository_pool_waiting", "Requests that wait for a connection.", gauges["pool_waiting"])


def _storages() -> Iterator[str]:
    row = _state()
    yield from _gauge("repository_database_up", "Whether the database answered.", row is not None)
    if row is None:
        return
    storages, never, failing, oldest, newest, seconds, open_tasks, overdue, stuck = row
    yield from _gauge("repository_storages", "Storages there are.", storages)
    states = {"open": open_tasks, "overdue": overdue, "stuck": stuck}
    yield from _family(
        "repository_tasks",
        "gauge",
        "Release tasks at the last runs of the lifecycle.",
        [({"state": name}, value) for name, value in states.items()],
    )
    runs = {"never": never, "failing": failing}
    yield from _family(
        "repository_lifecycle_storages",
        "gauge",
        "Storages whose lifecycle never ran, or failed the last time.",
        [({"state": name}, value) for name, value in runs.items()],
    )
    times = {"oldest": oldest, "newest": newest}
    yield from _family(
        "repository_lifecycle_last_run_timestamp_seconds",
        "gauge",
        "When the lifecycle last ran: in the storage where that is longest ago, and in any.",
        [({"storage_with": name}, value) for name, value in times.items() if value is not None],
    )
    yield from _gauge("repository_lifecycle_duration_seconds", "The last run in every storage, together.", seconds)


def _state() -> Any:
    """None when the database is away. Where there is a pool, its usual patience is longer than that of Prometheus."""
    pool = getattr(connections["default"], "pool", None)
    try:
        if pool is not None:
            return _ask_by(pool)
        with connection.cursor() as cursor:
            cursor.execute(STATE_SQL)
            return cursor.fetchone()
    except (Error, DriverError, PoolTimeout, EmbeddedPostgresError):
        return None


def _ask_by(pool: Any) -> Any:
    """A worker that nobody has asked anything yet has not opened its pool; and the first connection that it gets may be
    one that ended with the database."""
    if pool.closed:
        pool.open()
    try:
        with pool.connection(timeout=DATABASE_SECONDS) as driver:
            return driver.execute(STATE_SQL).fetchone()
    except PoolTimeout:
        raise
    except DriverError:
        with pool.connection(timeout=DATABASE_SECONDS) as driver:
            return driver.execute(STATE_SQL).fetchone()


def publish_pool() -> None:
    """Leave how the pool of this process is, for whichever worker is asked."""
    pool = getattr(connections["default"], "pool", None)
    if pool is None:
        return
    stats, part = pool.get_stats(), board.own()
    for gauge, name in POOL_GAUGES.items():
        part.set(board.GAUGES.index(gauge), stats.get(name, 0))


def start_publishing() -> None:
    """In a worker: every few seconds, aside from requests, until it ends."""
    ended = threading.Event()

    def run() -> None:
        while not ended.wait(PUBLISH_SECONDS):
            publish_pool()

    threading.Thread(target=run, name="metrics", daemon=True).start()
    # A worker is a process of multiprocessing, which does not call what is registered with atexit.
    Finalize(None, ended.set, exitpriority=10)
