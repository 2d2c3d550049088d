"""Rules of the worker that procrastinate does not have, tried in the process of the test."""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from django.db import InterfaceError, OperationalError, connection
from django.utils import timezone
from procrastinate.jobs import DeleteJobCondition
from structlog.testing import capture_logs

from storage.events import waking
from storage.extension import StorageExtension, storage_extensions
from storage.jobs import job
from storage.jobs import worker as worker_module
from storage.jobs.enqueueing import NETWORK, QUEUE, add_missing
from storage.jobs.event_waker import EventWaker
from storage.jobs.worker import DATABASE_RETRY, MOST_INTERRUPTIONS, RepositoryWorker, make_app
from storage.models import JobFailure, QueuedJob, Storage

pytestmark = pytest.mark.django_db(transaction=True)
calls: list[int] = []


@job("rules.equal", lock=("topic",), once=True, retry=(0.0, 0.0))
def add_equal(storage: Storage, topic: str) -> None:
    """Fail after somebody has added an equal job, and succeed the second time."""
    calls.append(len(calls))
    if len(calls) == 1:
        elsewhere(f"""INSERT INTO procrastinate_jobs (queue_name, task_name, args, lock, queueing_lock)
            SELECT queue_name, task_name, args, lock, queueing_lock FROM procrastinate_jobs
            WHERE task_name = 'rules.equal' AND lock LIKE '%{topic}'""")
        raise ValueError("once more")


@job("rules.unavailable")
def lose_the_database(storage: Storage) -> None:
    raise OperationalError("the database restarts")


given_up: list[str] = []


def give_up(storage: Storage, topic: str) -> None:
    given_up.append(f"{storage.key} {topic}")


@job("rules.hopeless", retry=(0.0,), on_failure=give_up)
def try_in_vain(storage: Storage, topic: str) -> None:
    calls.append(len(calls))
    raise ValueError("never")


running: Counter[str] = Counter()
most: Counter[str] = Counter()
counting = threading.Lock()


def hold(kind: str) -> None:
    """Note how many jobs of a kind run at the same time."""
    with counting:
        running[kind] += 1
        most[kind] = max(most[kind], running[kind])
    time.sleep(0.1)
    with counting:
        running[kind] -= 1
        calls.append(0)


@job("rules.usual")
def do_usual(storage: Storage) -> None:
    hold("usual")


@job("rules.call", own_scope=True, queue=NETWORK)
def call_somebody(storage: Storage) -> None:
    hold("network")


@job("rules.react", lock=(), once=True, on_events=True)
def react(storage: Storage) -> None:
    pass


@job("rules.follow", lock=(), once=True, after_events=600.0)
def follow(storage: Storage) -> None:
    pass


@pytest.fixture(autouse=True)
def extension() -> Iterator[None]:
    calls.clear()
    given_up.clear()
    most.clear()
    with storage_extensions.extended_by(
        StorageExtension(jobs=(add_equal, lose_the_database, try_in_vain, do_usual, call_somebody, react, follow))
    ):
        yield
    # Django does not empty tables that it does not manage.
    execute("DELETE FROM procrastinate_jobs")
    execute("DELETE FROM procrastinate_workers")
    execute("DELETE FROM procrastinate_periodic_defers")


def execute(sql: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchone() if cursor.description else None


def elsewhere(sql: str) -> None:
    """Commit a statement while the transaction of a job is open."""
    other = connection.copy()
    try:
        with other.cursor() as cursor:
            cursor.execute(sql)
    finally:
        other.close()


def work() -> None:
    """Run what is due in a worker without periodic jobs."""
    asyncio.run(_work())


async def _work() -> None:
    app = make_app()
    app.periodic_registry.periodic_tasks.clear()
    async with app.open_async():
        worker = RepositoryWorker(
            app=app, wait=False, delete_jobs=DeleteJobCondition.SUCCESSFUL, install_signal_handlers=False
        )
        await worker.run()  # type: ignore[no-untyped-call]


def sweep() -> None:
    async def run() -> None:
        async with make_app().open_async() as app:
            worker = RepositoryWorker(app=app)
            worker.worker_id = await app.job_manager.register_worker()
            await worker.sweep()

    asyncio.run(run())


numbers = itertools.count(1)


def running_job(worker: str, attempts: int = 0, lock: str = "") -> int:
    row = execute(f"""INSERT INTO procrastinate_jobs
            (queue_name, task_name, status, worker_id, attempts, lock, queueing_lock)
        VALUES ('default', 'rules.{next(numbers)}', 'doing', {worker}, {attempts}, nullif('{lock}', ''),
            nullif('{lock}', '')) RETURNING id""")
    return int(row[0])


def worker_row(age: str) -> str:
    sql = f"INSERT INTO procrastinate_workers (last_heartbeat) VALUES (now() - interval '{age}') RETURNING id"
    return str(execute(sql)[0])


def test_jobs_of_dead_workers_are_returned(storage: Storage) -> None:
    alive, dead = worker_row("20 seconds"), worker_row("40 seconds")
    jobs = {
        "alive": running_job(alive),
        "dead": running_job(dead, attempts=3),
        "gone": running_job("NULL"),
        "deadly": running_job(dead, attempts=MOST_INTERRUPTIONS),
        "has a twin": running_job(dead, lock="twin"),
    }
    execute("""INSERT INTO procrastinate_jobs (queue_name, task_name, lock, queueing_lock)
        VALUES ('default', 'rules.twin', 'twin', 'twin')""")
    sweep()
    names = {number: name for name, number in jobs.items()}
    found = QueuedJob.objects.exclude(name="rules.twin")
    assert {names[each.pk]: (each.status, each.attempts) for each in found} == {
        "alive": ("doing", 0),
        "dead": ("todo", 4),
        "gone": ("todo", 1),
        "deadly": ("failed", MOST_INTERRUPTIONS + 1),
    }
    [failure] = JobFailure.objects.all()
    assert failure.job_id == jobs["deadly"]
    assert failure.error.startswith("Interrupted 25 times")
    assert execute(f"SELECT count(*) FROM procrastinate_workers WHERE id = {dead}") == (0,)


def test_a_worker_that_counts_as_dead_ends() -> None:
    async def run() -> tuple[bool, bool]:
        async with make_app().open_async() as app:
            worker = RepositoryWorker(app=app)
            worker.worker_id = await app.job_manager.register_worker()
            await worker.sweep()
            before = worker._stop_event.is_set()
            await app.job_manager.unregister_worker(worker.worker_id)
            await worker.sweep()
            return before, worker._stop_event.is_set()

    assert asyncio.run(run()) == (False, True)


def test_an_equal_job_does_the_work_of_the_next_attempt(storage: Storage) -> None:
    add_equal.enqueue(storage, topic="a")
    work()
    assert calls == [0, 1]
    assert not QueuedJob.objects.exists()


def test_a_job_that_has_failed_for_good_is_given_up_once(storage: Storage) -> None:
    try_in_vain.enqueue(storage, topic="a")
    work()
    work()
    assert QueuedJob.objects.get().status == "failed"
    assert calls == [0, 1]
    assert given_up == [f"{storage.key} a"]


def test_a_job_that_was_interrupted_too_often_is_given_up(storage: Storage) -> None:
    try_in_vain.enqueue(storage, topic="b")
    execute(f"UPDATE procrastinate_jobs SET status = 'doing', worker_id = NULL, attempts = {MOST_INTERRUPTIONS}")
    sweep()
    assert QueuedJob.objects.get().status == "failed"
    assert given_up == [f"{storage.key} b"]


@pytest.mark.parametrize(("is_distributed", "status"), [(False, "failed"), (True, "todo")])
def test_an_unavailable_database_is_not_a_failure_of_the_job(
    storage: Storage, monkeypatch: pytest.MonkeyPatch, is_distributed: bool, status: str
) -> None:
    """While a node of a cluster is away, the queue of the coordinator works, and no job of its storages may end."""
    monkeypatch.setattr(worker_module, "engine", lambda: SimpleNamespace(is_distributed=is_distributed))
    lose_the_database.enqueue(storage)
    work()
    found = QueuedJob.objects.get()
    assert (found.status, found.attempts, found.scheduled_at is not None) == ("todo", 1, True)
    QueuedJob.objects.update(attempts=MOST_INTERRUPTIONS, scheduled_at=None)
    work()
    assert QueuedJob.objects.get().status == status
    assert JobFailure.objects.get().error == "OperationalError: the database restarts"


def test_an_attempt_does_not_come_early_because_the_clock_is_wrong(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_module, "utcnow", lambda: timezone.now() - timedelta(hours=2))
    lose_the_database.enqueue(storage)
    work()
    due = QueuedJob.objects.get().scheduled_at
    assert due is not None
    assert timedelta(seconds=DATABASE_RETRY - 2) < due - timezone.now() <= timedelta(seconds=DATABASE_RETRY)


def test_a_job_of_another_release_waits_for_its_worker(storage: Storage) -> None:
    execute("INSERT INTO procrastinate_jobs (queue_name, task_name) VALUES ('default', 'rules.later')")
    work()
    found = QueuedJob.objects.get()
    assert (found.status, found.attempts, found.scheduled_at is not None) == ("todo", 1, True)
    QueuedJob.objects.update(attempts=MOST_INTERRUPTIONS, scheduled_at=None)
    work()
    assert QueuedJob.objects.get().status == "failed"
    assert JobFailure.objects.get().error == "No worker knows a job of the name rules.later."


@pytest.mark.long
@pytest.mark.on_cluster
def test_jobs_of_the_network_have_places_of_their_own(storage: Storage) -> None:
    """A job runs as soon as a place of its kind is free, and not when the worker asks at its time."""
    for _ in range(3):
        do_usual.enqueue(storage)
        call_somebody.enqueue(storage)
        call_somebody.enqueue(storage)

    async def run() -> None:
        app = make_app()
        app.periodic_registry.periodic_tasks.clear()
        async with app.open_async():
            worker = RepositoryWorker(
                app=app,
                concurrency=3,
                fetch_job_polling_interval=60.0,
                delete_jobs=DeleteJobCondition.SUCCESSFUL,
                install_signal_handlers=False,
            )
            worker.places = {QUEUE: 1, NETWORK: 2}
            task = asyncio.create_task(worker.run())  # type: ignore[no-untyped-call]
            async with asyncio.timeout(30):
                while len(calls) < 9:
                    await asyncio.sleep(0.05)
            worker.stop()  # type: ignore[no-untyped-call]
            await task

    asyncio.run(run())
    assert most == {"usual": 1, "network": 2}
    assert execute("SELECT count(*) FROM procrastinate_jobs") == (0,)


def test_events_bring_waiting_jobs_forward(storage: Storage, other_storage: Storage) -> None:
    later = timezone.now() + timedelta(hours=1)
    for each in (storage, other_storage):
        react.enqueue_all(each, [{}], not_before=later)
    announce_until("SELECT count(*) FROM procrastinate_jobs WHERE scheduled_at IS NULL", storage)
    due = QueuedJob.objects.filter(scheduled_at=None)
    assert [each.storage_id for each in due] == [storage.pk]


def announce_until(count: str, storage: Storage) -> None:
    waker = EventWaker()
    waker.start()
    try:
        end = time.monotonic() + 60
        while execute(count) == (0,):
            assert time.monotonic() < end
            waking._wake([str(storage.pk)])
            time.sleep(0.05)
    finally:
        waker.stop()
        waker.join(60)


def test_events_add_a_job_unless_it_waits(storage: Storage, other_storage: Storage) -> None:
    count = "SELECT count(*) FROM procrastinate_jobs WHERE task_name = 'rules.follow' AND status = 'todo'"
    announce_until(count, storage)
    [added] = QueuedJob.objects.filter(name="rules.follow")
    assert (added.storage_id, added.args) == (storage.pk, {"storage": str(storage.pk), "arguments": {}})
    assert added.scheduled_at is not None
    assert timedelta(minutes=9) < added.scheduled_at - timezone.now() < timedelta(minutes=10)
    add_missing([follow.new_after_events(str(storage.pk))])
    [waiting] = QueuedJob.objects.filter(name="rules.follow")
    assert (waiting.pk, waiting.scheduled_at) == (added.pk, added.scheduled_at)
    # A running job may have read its events already.
    execute("UPDATE procrastinate_jobs SET status = 'doing'")
    add_missing([follow.new_after_events(str(storage.pk))])
    assert execute(count) == (1,)


def test_a_lost_connection_does_not_end_the_thread_that_wakes_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs would run once a minute as long as the worker lives. InterfaceError is not a DatabaseError."""

    def fail(locks: list[str]) -> None:
        raise InterfaceError("connection already closed")

    monkeypatch.setattr("storage.jobs.event_waker.bring_forward", fail)
    with capture_logs() as lines:
        EventWaker()._wake([str(uuid4())])
    assert [each["event"] for each in lines] == ["jobs not added or brought forward"]


def test_a_job_for_events_is_one_for_each_storage() -> None:
    with pytest.raises(TypeError, match="`on_events` needs one waiting job for each storage"):
        job("rules.wrong", lock=("topic",), once=True, on_events=True)
    with pytest.raises(TypeError, match="`after_events` needs one waiting job for each storage"):
        job("rules.wrong", after_events=1.0)
