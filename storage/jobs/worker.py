"""The worker: procrastinate, with what it lacks (D334, D335). Only processes that run jobs import this module.

A worker that cannot reach the database ends, and `run_worker` starts another one. What it had taken and not finished
goes back into the queue.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from typing import Any

import psycopg
import structlog
from django.conf import settings
from django.db import InterfaceError, OperationalError
from procrastinate import App, JobContext, PsycopgConnector, RetryDecision
from procrastinate.connector import Notify
from procrastinate.contrib.django.utils import connector_params
from procrastinate.exceptions import ConnectorException, UniqueViolation
from procrastinate.jobs import DeleteJobCondition, Job, Status
from procrastinate.retry import BaseRetryStrategy
from procrastinate.utils import utcnow
from procrastinate.worker import Worker
from psycopg_pool import PoolTimeout

from repository_site.core.database.pool import enable_pool
from repository_site.core.database.statements import engine
from repository_site.core.embedded_postgres import EmbeddedPostgresError
from storage.jobs.declaring import AnyJob, PeriodicJob
from storage.jobs.enqueueing import MAIL, MAIL_PLACES, NETWORK, NETWORK_PLACES, QUEUE, TEXTS, TEXTS_PLACES
from storage.jobs.event_waker import EventWaker
from storage.jobs.queue_state import STALLED_SECONDS
from storage.jobs.registry import declared_jobs
from storage.jobs.running import give_up, run_in_thread

log = structlog.get_logger("jobs")
POLL_SECONDS = 5.0
HEARTBEAT_SECONDS = 10.0
SWEEP_SECONDS = 10.0
# How long a worker that is told to stop waits for its jobs, before it returns them to the queue.
SHUTDOWN_SECONDS = 10.0
# Seconds until a worker that has lost the database tries again.
PAUSE = 1.0
# The same for the connection that listens, doubled after each failure.
LONGEST_LISTEN_PAUSE = 60.0
# Seconds that the worker waits for a database that restarts, to note the end of jobs. With the time between two
# heartbeats, it is less than the silence after which others take it for dead.
PATIENCE = 15.0
# A job that was due while no worker ran is made up for, unless it is older than this.
MISSED_SECONDS = 24 * 3600.0
# Connections that the jobs of all other queues share with the thread that waits for events. A job uses one only for
# moments.
NETWORK_CONNECTIONS = 4
# Connections for the queue itself, beside one for each job and two that listen.
QUEUE_CONNECTIONS = 2
# Looking up the address of the database uses a thread, too.
SPARE_THREADS = 2
# Raised while the database restarts or refuses to commit, also for deadlocks and timeouts.
UNAVAILABLE = (OperationalError, InterfaceError, PoolTimeout, EmbeddedPostgresError)
DATABASE_RETRY = 5.0
# The same if a node of a cluster stays away: the queue is on another one, and the repair may take hours.
NODE_RETRY = 60.0
# Seconds until a job that this release does not know is offered again.
UNKNOWN_RETRY = 60.0
# A job that was interrupted this often has probably ended the process itself.
MOST_INTERRUPTIONS = 25
# One statement, so that two workers that sweep at the same time return a job once. A job that waits already once more
# does the work of the interrupted one.
_SWEEP = """WITH stalled AS (
        SELECT j.id, j.attempts, EXISTS (SELECT FROM procrastinate_jobs twin
            WHERE twin.queueing_lock = j.queueing_lock AND twin.status = 'todo') AS has_twin
        FROM procrastinate_jobs j LEFT JOIN procrastinate_workers w ON w.id = j.worker_id
        WHERE j.status = 'doing' AND coalesce(w.last_heartbeat < now() - make_interval(secs => %(silent)s), true)
        FOR UPDATE OF j SKIP LOCKED),
    spared AS (DELETE FROM procrastinate_jobs j USING stalled s WHERE j.id = s.id AND s.has_twin RETURNING j.id),
    returned AS (UPDATE procrastinate_jobs j SET status = CASE WHEN s.attempts >= %(most)s THEN 'failed' ELSE 'todo'
            END::procrastinate_job_status, attempts = j.attempts + 1, scheduled_at = NULL, abort_requested = false,
            worker_id = NULL
        FROM stalled s WHERE j.id = s.id AND NOT s.has_twin RETURNING j.id, j.status, j.task_name, j.args)
    SELECT id, status::text, task_name, args FROM returned UNION ALL SELECT id, 'waits', NULL, NULL FROM spared"""
_IS_KNOWN = "SELECT id FROM procrastinate_workers WHERE id = %(id)s"
_NOW = "SELECT clock_timestamp() AS now"
_EXPLAIN = """INSERT INTO storage_jobfailure (job_id, failed_on, error)
    SELECT id, clock_timestamp(), %(error)s FROM procrastinate_jobs WHERE id = ANY(%(ids)s)
    ON CONFLICT (job_id) DO UPDATE SET failed_on = excluded.failed_on, error = excluded.error"""


def run_worker(concurrency: int, *, wait: bool = True) -> None:
    """Run jobs until SIGINT or SIGTERM; without `wait`, until none is due.

    Ends the process if a job is still running: its thread cannot be stopped otherwise, and its transaction must not
    commit after the job has been returned.
    """
    enable_pool(concurrency + NETWORK_CONNECTIONS)
    told = _StopSignal()
    waker = EventWaker()
    if wait:
        waker.start()
    while not told.is_set:
        try:
            done = asyncio.run(_work(concurrency, told, wait=wait))
        except (ConnectorException, psycopg.Error, PoolTimeout) as problem:
            _wait_for_database(problem, told)
        else:
            # Jobs add others.
            if not wait and not done:
                return
            if wait and not told.is_set:
                time.sleep(PAUSE)
    waker.stop()


class _StopSignal:
    """Whether the process was told to stop. Between two event loops, the signal waits for the next one."""

    def __init__(self) -> None:
        self.is_set = False
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, lambda *_: self.set())

    def set(self) -> None:
        self.is_set = True


def _wait_for_database(problem: Exception, told: _StopSignal) -> None:
    cause = problem.__cause__ or problem
    log.warning("worker has lost the database and will start again", problem=" ".join(str(cause).split()))
    _revive()
    end = time.monotonic() + PAUSE
    while not told.is_set and time.monotonic() < end:
        time.sleep(0.1)


def _revive() -> None:
    """Start the embedded database if it has died."""
    if settings.EMBEDDED_POSTGRES is not None:
        with contextlib.suppress(EmbeddedPostgresError, OSError):
            settings.EMBEDDED_POSTGRES.ensure_running()


def places_of(concurrency: int) -> dict[str, int]:
    """Return the number of jobs of each queue that a worker runs at the same time."""
    return {QUEUE: concurrency, NETWORK: NETWORK_PLACES, MAIL: MAIL_PLACES, TEXTS: TEXTS_PLACES}


async def _work(concurrency: int, told: _StopSignal, *, wait: bool) -> int:
    """Run a worker, and return the number of jobs that it has run."""
    loop = asyncio.get_running_loop()
    places = places_of(concurrency)
    threads = sum(places.values()) + SPARE_THREADS
    loop.set_default_executor(ThreadPoolExecutor(threads, thread_name_prefix="job"))
    async with make_app().open_async() as app:
        worker = RepositoryWorker(
            app=app,
            concurrency=sum(places.values()) if wait else concurrency,
            wait=wait,
            fetch_job_polling_interval=POLL_SECONDS,
            # Nobody aborts a single job: its thread could not be stopped.
            abort_job_polling_interval=3600.0,
            shutdown_graceful_timeout=SHUTDOWN_SECONDS,
            delete_jobs=DeleteJobCondition.SUCCESSFUL,
            install_signal_handlers=False,
            update_heartbeat_interval=HEARTBEAT_SECONDS,
            stalled_worker_timeout=STALLED_SECONDS,
        )
        if wait:
            worker.places = places

        def stop() -> None:
            told.set()
            worker.stop()  # type: ignore[no-untyped-call]  # procrastinate has no types here

        for each in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(each, stop)
        if not told.is_set:
            await worker.run()  # type: ignore[no-untyped-call]
        if worker.has_left_jobs:
            os._exit(0 if told.is_set else 1)
        return worker.done


def make_app() -> App:
    """Return procrastinate's application with all declared jobs."""
    parameters = connector_params()
    connector = QueueConnector(
        kwargs=parameters, min_size=1, max_size=QUEUE_CONNECTIONS, timeout=PATIENCE, reconnect_timeout=PATIENCE
    )
    app = App(connector=connector, periodic_defaults={"max_delay": MISSED_SECONDS})
    for each in declared_jobs().values():
        _add(app, each)
    return app


def _add(app: App, job: AnyJob) -> None:
    if isinstance(job, PeriodicJob):
        retry = _Retry(lambda attempts: None)
        declare = app.task(name=job.name, pass_context=True, lock=job.name, queueing_lock=job.name, retry=retry)
        app.periodic(cron=job.cron, periodic_id=job.name)(declare(partial(_run, job, retry)))
    else:
        retry = _Retry(job.delay_after)
        app.task(name=job.name, pass_context=True, retry=retry)(partial(_run, job, retry))


def _run(job: AnyJob, retry: _Retry, context: JobContext, **args: Any) -> None:
    assert context.job.id is not None  # noqa: S101  it comes from the database

    def is_last(problem: Exception) -> bool:
        return retry.get_retry_decision(exception=problem, job=context.job) is None

    run_in_thread(job, context.job.id, args, is_last)


class _Retry(BaseRetryStrategy):
    """The distances that a job declares. An unavailable database is not the fault of the job, which is tried again."""

    def __init__(self, delay_after: Callable[[int], float | None]) -> None:
        self.delay_after = delay_after

    def get_retry_decision(self, *, exception: BaseException, job: Job) -> RetryDecision | None:
        seconds = self.delay_after(job.attempts)
        if seconds is None and isinstance(exception, UNAVAILABLE):
            if job.attempts < MOST_INTERRUPTIONS:
                seconds = DATABASE_RETRY
            elif engine().is_distributed:
                seconds = NODE_RETRY
        return None if seconds is None else RetryDecision(retry_at=utcnow() + timedelta(seconds=seconds))


class QueueConnector(PsycopgConnector):
    """Listens through a connection of its own, and goes on without one: jobs are then found by asking."""

    @contextlib.asynccontextmanager
    async def _get_standalone_connection(self) -> AsyncGenerator[psycopg.AsyncConnection]:
        parameters = settings.LISTEN_ADDRESS or self._pool_args["kwargs"]
        async with await psycopg.AsyncConnection.connect(**parameters, autocommit=True) as connection:
            yield connection

    async def listen_notify(self, on_notification: Notify, channels: Iterable[str]) -> None:
        pause = PAUSE
        while True:
            try:
                await super().listen_notify(on_notification, list(channels))
            except ConnectorException as problem:
                text = " ".join(str(problem.__cause__ or problem).split())
                log.warning("worker cannot listen; it looks for jobs every few seconds", problem=text)
            await asyncio.to_thread(_revive)
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_LISTEN_PAUSE)


class RepositoryWorker(Worker):
    """Returns jobs of dead workers, including its own, and ends rather than going on in an unknown state.

    Each queue has its places. procrastinate takes jobs of `queues` only, which are those with a free place (D367).
    """

    has_left_jobs = False
    done = 0
    places: Mapping[str, int] | None = None

    def _start_side_tasks(self) -> list[asyncio.Task[Any]]:
        # New jobs of all queues are announced together.
        self.queues = None
        tasks = [*super()._start_side_tasks(), asyncio.create_task(self._sweep_regularly(), name="sweeper")]
        self._taken: Counter[str] = Counter()
        self._offer_places()
        return tasks

    def _offer_places(self) -> None:
        if self.places is not None:
            self.queues = [queue for queue, places in self.places.items() if self._taken[queue] < places]

    async def _process_job(self, context: JobContext) -> None:
        self._taken[context.job.queue] += 1
        self._offer_places()
        try:
            await super()._process_job(context)
        finally:
            self.done += 1
            self._taken[context.job.queue] -= 1
            self._offer_places()
            # A job may wait for this place, while the other queue has free ones.
            self._look_again()

    def _look_again(self) -> None:
        self._was_told = True
        self._new_job_event.set()

    async def _handle_notification(self, **received: Any) -> None:
        await super()._handle_notification(**received)
        self._look_again()

    async def _fetch_and_process_jobs(self) -> None:
        """Ask again if there was news meanwhile, which procrastinate would forget until it asks at its time."""
        self._was_told = True
        while self._was_told and not self._stop_event.is_set():
            self._was_told = False
            await super()._fetch_and_process_jobs()  # type: ignore[no-untyped-call]

    async def _sweep_regularly(self) -> None:
        while True:
            await self.sweep()
            await asyncio.sleep(SWEEP_SECONDS)

    async def sweep(self) -> None:
        """Return the jobs of workers that have ended without returning them. End if this one counts as dead."""
        await self.app.job_manager.prune_stalled_workers(STALLED_SECONDS)
        if not await self.app.connector.execute_query_all_async(_IS_KNOWN, id=self.worker_id):
            log.warning("worker was silent for too long, and starts again")
            self.stop()  # type: ignore[no-untyped-call]
        rows = await self.app.connector.execute_query_all_async(_SWEEP, silent=STALLED_SECONDS, most=MOST_INTERRUPTIONS)
        if not rows:
            return
        log.warning("jobs of a dead worker returned to the queue", ids=[row["id"] for row in rows])
        if failed := [row for row in rows if row["status"] == "failed"]:
            error = f"Interrupted {MOST_INTERRUPTIONS} times: the job probably ends the process, such as by its memory."
            await self.app.connector.execute_query_async(_EXPLAIN, ids=[row["id"] for row in failed], error=error)
            for row in failed:
                await asyncio.to_thread(give_up, declared_jobs().get(row["task_name"]), row["args"])
        if any(row["status"] == "todo" for row in rows):
            self._look_again()

    async def _persist_job_status(
        self, job: Job, status: Status, retry_decision: RetryDecision | None, context: Any, job_result: Any
    ) -> None:
        if status == Status.FAILED and job.task_name not in self.app.tasks:
            retry_decision = await self._leave_to_others(job)
        try:
            if retry_decision is not None:
                retry_decision = await self._by_the_clock_of_the_database(retry_decision)
            try:
                await super()._persist_job_status(job, status, retry_decision, context, job_result)
            except UniqueViolation:
                # An equal job has been added meanwhile, and does the work of the next attempt.
                await self.app.job_manager.finish_job(job=job, status=Status.FAILED, delete_job=True)
        except Exception as problem:
            # The job would stay as running as long as this worker lives. When it ends, it is returned.
            cause = problem.__cause__ or problem
            log.warning("end of a job not recorded; the worker starts again", id=job.id, problem=str(cause))
            self.stop()  # type: ignore[no-untyped-call]

    async def _by_the_clock_of_the_database(self, decision: RetryDecision) -> RetryDecision:
        """Keep the distance to the next attempt, whatever the clock of this machine says (D377)."""
        now = utcnow()
        [row] = await self.app.connector.execute_query_all_async(_NOW)
        return RetryDecision(retry_at=row["now"] + ((decision.retry_at or now) - now))

    async def _leave_to_others(self, job: Job) -> RetryDecision | None:
        """Return a job of another release, which workers of that release run during an upgrade."""
        if job.attempts < MOST_INTERRUPTIONS:
            return RetryDecision(retry_at=utcnow() + timedelta(seconds=UNKNOWN_RETRY))
        error = f"No worker knows a job of the name {job.task_name}."
        await self.app.connector.execute_query_async(_EXPLAIN, ids=[job.id], error=error)
        return None

    async def _abort_running_jobs(self) -> None:
        """Leave the jobs that do not end. Without its worker, each of them returns to the queue."""
        self.has_left_jobs = True
        names = sorted({context.job.task_name for context in self._running_jobs.values()})
        log.warning("running jobs returned to the queue", jobs=names)
