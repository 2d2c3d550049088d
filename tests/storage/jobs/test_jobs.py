"""Jobs without a worker: declaring, enqueueing, running, and what happens to them with their storage."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from storage.extension import StorageExtension, storage_extensions
from storage.jobs import StorageJob, job, periodic_job
from storage.jobs.enqueueing import add_missing, delete_jobs, retry_failed
from storage.jobs.every_storage import StoragesFailed, in_every_storage
from storage.jobs.queue_state import QueueState, queue_state
from storage.jobs.registry import declared_jobs
from storage.models import JobFailure, QueuedJob, Storage
from storage.provisioning.provision import remove_storage
from storage.tenancy.scope import tenant_scope
from tests.jobs import run_jobs, waiting_jobs
from tests.shelves.models import Shelf

pytestmark = pytest.mark.django_db
seen: list[Any] = []


@job("tests.count")
def count_shelves(storage: Storage, label: str) -> None:
    seen.append((str(storage), label, Shelf.objects.count()))


@job("tests.outside", own_scope=True)
def read_outside(storage: Storage) -> None:
    if seen:
        with tenant_scope(storage):
            seen.append(Shelf.objects.count())
    else:
        Shelf.objects.count()


@job("tests.fail", retry=(10, 100))
def fail(storage: Storage, text: str) -> None:
    Shelf.objects.create(name="rolled back")
    raise ValueError(f"{text}\0")


@job("tests.once", lock=("topic",), once=True)
def announce(storage: Storage, topic: str, text: str) -> None:
    seen.append((topic, text))


@job("tests.ordered", lock=())
def in_order(storage: Storage, number: int) -> None:
    seen.append(number)


@periodic_job("tests.periodic", cron="*/5 * * * *")
def tick() -> None:
    seen.append("tick")


JOBS = (count_shelves, read_outside, fail, announce, in_order, tick)


@pytest.fixture(autouse=True)
def extension() -> Iterator[None]:
    seen.clear()
    with storage_extensions.extended_by(StorageExtension(jobs=JOBS)):
        yield


def test_a_job_runs_in_the_scope_of_its_storage(storage: Storage, other_storage: Storage) -> None:
    with tenant_scope(other_storage):
        Shelf.objects.create(name="Theirs")
        Shelf.objects.create(name="Theirs, too")
    with tenant_scope(storage):
        Shelf.objects.create(name="Ours")
        count_shelves.enqueue(storage, label="a")
    count_shelves.enqueue(other_storage, label="b")
    assert waiting_jobs() == [
        ("tests.count", {"storage": str(storage.pk), "arguments": {"label": "a"}}),
        ("tests.count", {"storage": str(other_storage.pk), "arguments": {"label": "b"}}),
    ]
    assert run_jobs() == ["tests.count", "tests.count"]
    assert seen == [("acme/handbook", "a", 1), ("rival/handbook", "b", 2)]
    assert waiting_jobs() == []


def test_a_job_that_opens_its_own_scope_reads_nothing_outside(storage: Storage) -> None:
    # PostgreSQL need not compute the policy for a table that autovacuum has found empty.
    with tenant_scope(storage):
        Shelf.objects.create(name="Ours")
    read_outside.enqueue(storage)
    with pytest.raises(DatabaseError):
        run_jobs()
    seen.append("from now on inside")
    read_outside.enqueue(storage)
    run_jobs()
    assert seen == ["from now on inside", 1]


def test_a_job_is_added_with_its_transaction(storage: Storage) -> None:
    with pytest.raises(RuntimeError), transaction.atomic():
        count_shelves.enqueue(storage, label="a")
        raise RuntimeError
    assert waiting_jobs() == []


def test_arguments_have_names(storage: Storage) -> None:
    with pytest.raises(TypeError, match="name all arguments"):
        count_shelves.enqueue(storage, "a")


def test_a_failed_job_is_kept_with_its_error(storage: Storage) -> None:
    fail.enqueue(storage, text="no shelf")
    with pytest.raises(ValueError, match="shelf"):
        run_jobs()
    [failure] = JobFailure.objects.select_related("job")
    assert (failure.error, failure.job.status, failure.job.storage_id) == ("ValueError: no shelf", "failed", storage.pk)
    with tenant_scope(storage):
        assert Shelf.objects.count() == 0
    assert retry_failed([failure.job.pk]) == 1
    assert queue_state().waiting == 1
    assert retry_failed([failure.job.pk]) == 0
    assert delete_jobs([failure.job.pk]) == 1
    assert not JobFailure.objects.exists()


def test_of_equal_failed_jobs_one_is_retried(storage: Storage, other_storage: Storage) -> None:
    for each in (storage, storage, other_storage):
        announce.enqueue(each, topic="a", text="")
        count_shelves.enqueue(each, label="a")
        QueuedJob.objects.update(status="failed")
    assert retry_failed([*QueuedJob.objects.values_list("pk", flat=True)]) == 5
    assert QueuedJob.objects.filter(status="todo", name="tests.once").count() == 2
    assert QueuedJob.objects.filter(status="todo", name="tests.count").count() == 3


def test_retries_keep_their_distance() -> None:
    for attempts, distance in enumerate((10, 100)):
        found = {fail.delay_after(attempts) for _ in range(50)}
        assert len(found) > 1
        assert all(0.8 * distance <= (each or 0) <= 1.2 * distance for each in found)
    assert fail.delay_after(2) is None
    assert count_shelves.delay_after(0) is None


def test_an_equal_job_waits_only_once(storage: Storage, other_storage: Storage) -> None:
    calls = [{"topic": "a", "text": "first"}, {"topic": "a", "text": "second"}, {"topic": "b", "text": "third"}]
    announce.enqueue_all(storage, calls)
    announce.enqueue(storage, topic="a", text="fourth")
    announce.enqueue(other_storage, topic="a", text="theirs")
    run_jobs()
    assert sorted(seen) == [("a", "second"), ("a", "theirs"), ("b", "third")]


def hours_until() -> int | None:
    """Return the hours until the waiting job, by the clock of the database."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT extract(epoch FROM scheduled_at - clock_timestamp()) / 3600 FROM procrastinate_jobs")
        [(hours,)] = cursor.fetchall()
    return None if hours is None else round(hours)


def test_the_earlier_time_applies(storage: Storage) -> None:
    now = timezone.now()
    call = {"topic": "a", "text": ""}
    for hours, expected in ((2, 2), (3, 2), (1, 1)):
        announce.enqueue_all(storage, [call], not_before=now + timedelta(hours=hours))
        assert hours_until() == expected
    QueuedJob.objects.update(attempts=1)
    announce.enqueue(storage, topic="a", text="")
    assert hours_until() == 1
    QueuedJob.objects.update(attempts=0)
    announce.enqueue(storage, topic="a", text="")
    assert hours_until() is None


@pytest.mark.parametrize("days", [-1, 1])
def test_the_clock_of_the_machine_does_not_matter(storage: Storage, monkeypatch: pytest.MonkeyPatch, days: int) -> None:
    """A job that adds itself again would run all the time if the clock was behind that of the database."""
    wrong = timezone.now() + timedelta(days=days)
    monkeypatch.setattr(timezone, "now", lambda: wrong)
    announce.enqueue_all(storage, [{"topic": "a", "text": ""}], not_before=wrong + timedelta(hours=5))
    assert hours_until() == 5
    QueuedJob.objects.all().delete()
    add_missing([replace(in_order, once=True, after_events=3 * 3600).new_after_events(str(storage.pk))])
    assert hours_until() == 3


def test_once_needs_a_lock() -> None:
    with pytest.raises(TypeError, match="needs a lock"):
        job("tests.wrong", once=True)


def test_jobs_with_a_lock_keep_their_order(storage: Storage) -> None:
    in_order.enqueue_all(storage, [{"number": number} for number in range(5)])
    with connection.cursor() as cursor:
        cursor.execute("SELECT (procrastinate_fetch_job_v2(NULL, NULL)).args -> 'arguments' ->> 'number'")
        assert cursor.fetchone() == ("0",)
        cursor.execute("SELECT (procrastinate_fetch_job_v2(NULL, NULL)).id")
        assert cursor.fetchone() == (None,)


def test_a_removed_storage_takes_its_jobs_along(storage: Storage, other_storage: Storage) -> None:
    count_shelves.enqueue(storage, label="a")
    count_shelves.enqueue(other_storage, label="b")
    with transaction.atomic():
        remove_storage(storage)
    assert [args["storage"] for _, args in waiting_jobs()] == [str(other_storage.pk)]


def test_a_job_without_its_storage_ends(storage: Storage) -> None:
    count_shelves.enqueue(storage, label="a")
    QueuedJob.objects.update(args={"storage": str(uuid4()), "arguments": {"label": "a"}})
    assert run_jobs() == ["tests.count"]
    assert seen == []


def test_names_are_unique() -> None:
    assert {"storage.measure", "storage.clean_up", "release.lifecycle", "tests.periodic"} <= declared_jobs().keys()
    twin: StorageJob[Any] = job("tests.count")(lambda storage: None)
    with (
        storage_extensions.extended_by(StorageExtension(jobs=(twin,))),
        pytest.raises(RuntimeError, match="Two jobs have the name"),
    ):
        declared_jobs()


def test_numbers_of_the_queue(storage: Storage) -> None:
    assert queue_state() == QueueState(0, 0, 0, 0, 0.0, 0)
    count_shelves.enqueue_all(storage, [{"label": str(number)} for number in range(4)])
    first, second, third, _ = QueuedJob.objects.order_by("pk")
    QueuedJob.objects.filter(pk=first.pk).update(scheduled_at=timezone.now() + timedelta(hours=1))
    QueuedJob.objects.filter(pk=second.pk).update(scheduled_at=timezone.now() - timedelta(minutes=10))
    QueuedJob.objects.filter(pk=third.pk).update(status="doing")
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO procrastinate_workers (last_heartbeat) VALUES (now()), (now() - interval '1 hour')")
        # Its first attempt was interrupted; the second one counts.
        cursor.execute("UPDATE procrastinate_events SET at = at - interval '5 hours' WHERE job_id = %s", [third.pk])
        again = "INSERT INTO procrastinate_events (job_id, type, at) VALUES (%s, 'started', now() - interval '2 hours')"
        cursor.execute(again, [third.pk])
    found = queue_state()
    assert 7200 <= found.longest < 7260
    assert (found.waiting, found.delayed, found.running, found.failed, found.workers) == (2, 1, 1, 0, 1)
    assert 600 <= found.oldest < 660


def test_one_storage_does_not_stop_the_others(storage: Storage, other_storage: Storage) -> None:
    done = []

    def work(each: Storage) -> None:
        if each == storage:
            raise ValueError("no room")
        done.append(str(each))

    with pytest.raises(StoragesFailed, match=r"1 of \d+ failed: acme/handbook: no room"):
        in_every_storage(work)
    assert "rival/handbook" in done


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_running", [False, True])
def test_nothing_is_missed_by_a_job_that_waits_already(storage: Storage, is_running: bool) -> None:
    """A worker must not take a waiting job while a transaction relies on it."""
    announce.enqueue(storage, topic="a", text="first")
    taken: list[Any] = []

    def take() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT (procrastinate_fetch_job_v2(NULL, NULL)).id")
            taken.append(cursor.fetchone()[0])
        connection.close()

    def take_elsewhere() -> None:
        worker = threading.Thread(target=take)
        worker.start()
        worker.join(60)

    if is_running:
        take_elsewhere()
    with transaction.atomic():
        announce.enqueue(storage, topic="a", text="second")
        take_elsewhere()
    found = QueuedJob.objects.count()
    # Django does not empty this table, which it does not manage, after the test.
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM procrastinate_jobs")
    assert taken[-1] is None
    assert found == (2 if is_running else 1)
