"""The page `/metrics`: access, and the text for Prometheus."""

from __future__ import annotations

import hmac
import platform
import threading
from collections.abc import Iterable, Iterator
from ipaddress import ip_address
from multiprocessing.util import Finalize
from typing import Any

import django
from django.conf import settings
from django.db import Error, connection, connections
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.http.response import HttpResponseBase
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, CollectorRegistry, Metric, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from psycopg import Error as DriverError
from psycopg_pool import PoolTimeout

from repository_site import __version__
from repository_site.core.embedded_postgres import EmbeddedPostgresError
from repository_site.core.middleware import FORWARDED, Middleware
from repository_site.operations.metrics.instruments import Instruments, instruments
from storage.jobs.queue_state import STATE_SQL as QUEUE_SQL
from storage.jobs.queue_state import QueueState

MEASURE_SECONDS = 2
# Prometheus waits ten seconds by default; it must get an answer while the database is unreachable, too.
DATABASE_SECONDS = 2
# Numbers only: no query here enters a storage (D157).
STATE_SQL = """SELECT count(*), count(*) FILTER (WHERE r.ended_on IS NULL),
        count(*) FILTER (WHERE r.failed_on > coalesce(r.ended_on, '-infinity')),
        extract(epoch FROM min(r.ended_on))::float8, extract(epoch FROM max(r.ended_on))::float8,
        coalesce(sum(r.milliseconds), 0)::float8 / 1000, coalesce(sum(r.open_tasks), 0)::bigint,
        coalesce(sum(r.overdue_tasks), 0)::bigint, coalesce(sum(r.stuck_tasks), 0)::bigint
    FROM storage_storage s LEFT JOIN storage_lifecyclerun r ON r.storage_id = s.id"""

WEBHOOK_SQL = """SELECT coalesce(sum(c.webhooks - c.disabled_webhooks), 0)::bigint,
        coalesce(sum(c.disabled_webhooks), 0)::bigint, coalesce(sum(c.waiting_messages), 0)::bigint,
        coalesce(sum(c.dead_letters), 0)::bigint,
        coalesce(extract(epoch FROM clock_timestamp() - min(c.waiting_since)), 0)::float8
    FROM storage_webhookcount c"""


class MetricsPageMiddleware(Middleware):
    """Answers before the host is checked, as for probes. Others get the same 404 as for any address (D160)."""

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        recorded = instruments()
        if request.path_info != "/metrics" or recorded is None or not may_read(request):
            return self.get_response(request)
        if request.method not in ("GET", "HEAD"):
            return HttpResponseNotAllowed(["GET", "HEAD"])
        return HttpResponse(
            text(recorded), content_type=CONTENT_TYPE_PLAIN_0_0_4, headers={"Cache-Control": "no-store"}
        )


def may_read(request: HttpRequest) -> bool:
    """Allow callers with the secret, and direct connections from the configured networks.

    A proxy forwards requests from anywhere, even if the proxy itself runs on this machine.
    """
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


def text(recorded: Instruments) -> bytes:
    recorded.measure_process()
    recorded.folder.forget_dead_workers()
    registry = CollectorRegistry()
    MultiProcessCollector(registry, str(recorded.folder.path))
    registry.register(InstallationCollector())
    return generate_latest(registry)


class InstallationCollector:
    """Metrics that do not belong to a worker process: versions, and the numbers that the database knows."""

    def collect(self) -> Iterator[Metric]:
        versions = {"version": __version__, "python": platform.python_version(), "django": django.get_version()}
        build = GaugeMetricFamily("repository_build_info", "Versions, as labels.", labels=[*versions])
        build.add_metric([*versions.values()], 1)
        yield build
        row = _ask(STATE_SQL)
        yield GaugeMetricFamily("repository_database_up", "Whether the database answered.", value=row is not None)
        if row is not None:
            yield from _storages(row)
        if (row := _ask(QUEUE_SQL)) is not None:
            yield from _jobs(QueueState.of_row(row))
        if (row := _ask(WEBHOOK_SQL)) is not None:
            yield from _webhooks(row)


def _storages(row: Any) -> Iterator[Metric]:
    storages, never, failing, oldest, newest, seconds, open_tasks, overdue, stuck = row
    yield GaugeMetricFamily("repository_storages", "Storages.", value=storages)
    tasks = {"open": open_tasks, "overdue": overdue, "stuck": stuck}
    yield _by("state", "repository_tasks", "Release tasks at the last lifecycle runs.", tasks.items())
    runs = {"never": never, "failing": failing}
    yield _by("state", "repository_lifecycle_storages", "Storages without a successful last run.", runs.items())
    times = {"oldest": oldest, "newest": newest}
    yield _by(
        "storage_with",
        "repository_lifecycle_last_run_timestamp_seconds",
        "Time of the last lifecycle run: the oldest and the newest of all storages.",
        [(name, value) for name, value in times.items() if value is not None],
    )
    yield GaugeMetricFamily(
        "repository_lifecycle_duration_seconds", "Sum of the last lifecycle runs of all storages.", value=seconds
    )


def _jobs(state: QueueState) -> Iterator[Metric]:
    counts = {"waiting": state.waiting, "delayed": state.delayed, "running": state.running, "failed": state.failed}
    yield _by("state", "repository_jobs", "Background jobs in the queue.", counts.items())
    yield GaugeMetricFamily("repository_jobs_oldest_seconds", "Wait of the oldest job that is due.", value=state.oldest)
    yield GaugeMetricFamily("repository_job_workers", "Running workers for background jobs.", value=state.workers)


def _webhooks(row: Any) -> Iterator[Metric]:
    enabled, disabled, waiting, dead, oldest = row
    webhooks, messages = {"enabled": enabled, "disabled": disabled}, {"waiting": waiting, "dead": dead}
    yield _by("state", "repository_webhooks", "Webhooks of all storages.", webhooks.items())
    yield _by("state", "repository_webhook_messages", "Messages that wait or were given up.", messages.items())
    yield GaugeMetricFamily(
        "repository_webhook_messages_oldest_seconds", "Age of the oldest message that waits.", value=oldest
    )


def _by(label: str, name: str, about: str, samples: Iterable[tuple[str, float]]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, about, labels=[label])
    for value, number in samples:
        family.add_metric([value], number)
    return family


def _ask(sql: str) -> Any:
    """Return the numbers of the database, one row; None when it is unreachable.

    The usual timeout of the pool is longer than that of Prometheus.
    """
    pool = getattr(connections["default"], "pool", None)
    try:
        if pool is not None:
            return _ask_by(pool, sql)
        with connection.cursor() as cursor:
            cursor.execute(sql)
            return cursor.fetchone()
    except (Error, DriverError, PoolTimeout, EmbeddedPostgresError):
        return None


def _ask_by(pool: Any, sql: str) -> Any:
    """Ask by the pool, which a worker without requests has not opened yet.

    The first connection may have ended with the database, so a failure is retried once.
    """
    if pool.closed:
        pool.open()
    try:
        with pool.connection(timeout=DATABASE_SECONDS) as driver:
            return driver.execute(sql).fetchone()
    except PoolTimeout:
        raise
    except DriverError:
        with pool.connection(timeout=DATABASE_SECONDS) as driver:
            return driver.execute(sql).fetchone()


def start_measuring(recorded: Instruments) -> None:
    """Measure this worker process every few seconds, so that any worker can report on it."""
    ended = threading.Event()

    def run() -> None:
        while not ended.wait(MEASURE_SECONDS):
            recorded.measure_process()

    threading.Thread(target=run, name="metrics", daemon=True).start()
    # A worker is a multiprocessing process, which does not call functions registered with atexit.
    Finalize(None, ended.set, exitpriority=10)
