"""The periodic jobs: what they delete, and what they do that the commands do as well."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import uuid4

import pytest
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.db import connection
from django.utils import timezone

from release.schedule.periodic import lifecycle_everywhere
from storage.access.tokens import issue_token
from storage.housekeeping import clean_up, measure_storages
from storage.idempotency import FORGOTTEN_AT_ONCE
from storage.jobs.registry import declared_jobs
from storage.jobs.running import run_job
from storage.models import (
    AnsweredRequest,
    Event,
    FailedSignIn,
    JobFailure,
    LifecycleRun,
    QueuedJob,
    RequestCount,
    Storage,
    StorageSize,
)
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.factories import storage_context

pytestmark = pytest.mark.django_db
OLD, NEW = timedelta(days=400), timedelta(minutes=1)


def add_job(name: str, status: str, age: timedelta | None = None) -> int:
    """Add a job; with an age, one that failed that long ago."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO procrastinate_jobs (queue_name, task_name, status) VALUES ('default', %s, %s) RETURNING id",
            [name, status],
        )
        [number] = cursor.fetchone() or [0]
    if age is not None:
        JobFailure.objects.create(job_id=number, failed_on=timezone.now() - age, error="Error")
    return int(number)


def test_clean_up_deletes_what_has_expired(storage: Storage) -> None:
    now = timezone.now()
    for age in (OLD, NEW):
        Session.objects.create(session_key=str(age), session_data="", expire_date=now - age + 2 * NEW)
        RequestCount.objects.create(storage=storage, hour=now - age)
        FailedSignIn.objects.create(network=str(age), failures=1, since=now - age, last_on=now - age)
    add_job("tests.old", "failed", OLD)
    # Without an error, because the database could not store it.
    silent = add_job("tests.silent", "failed")
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO procrastinate_events (job_id, type, at) VALUES (%s, 'failed', %s)", [silent, now - OLD]
        )
    kept = {
        add_job("tests.new", "failed", NEW),
        add_job("tests.waiting", "todo"),
        add_job("tests.retried", "todo", OLD),
    }
    clean_up()
    assert [each.session_key for each in Session.objects.all()] == [str(NEW)]
    assert RequestCount.objects.count() == 1
    assert [each.network for each in FailedSignIn.objects.all()] == [str(NEW)]
    assert set(QueuedJob.objects.values_list("pk", flat=True)) == kept


def test_measurements_delete_expired_keys(storage: Storage, other_storage: Storage) -> None:
    now = timezone.now()
    for each in (storage, other_storage):
        with tenant_scope(each):
            AnsweredRequest.objects.bulk_create(
                answered(number, now - timedelta(hours=25)) for number in range(FORGOTTEN_AT_ONCE + 1)
            )
            answered(-1, now - timedelta(hours=23)).save()
    measure_storages()
    for each in (storage, other_storage):
        with tenant_scope(each):
            assert [answer.key for answer in AnsweredRequest.objects.all()] == ["-1"]
        assert StorageSize.objects.get(storage=each).measured_on >= now


def test_measurements_delete_old_events(storage: Storage, other_storage: Storage) -> None:
    Storage.objects.filter(pk=storage.pk).update(event_days=30)
    for each in (storage, other_storage):
        for name, days in (("old", 31), ("new", 29)):
            issue_token(storage_context(each), name, [Role.EDITOR])
            with tenant_scope(each):
                Event.objects.filter(data__name=name).update(time=timezone.now() - timedelta(days=days))
    measure_storages()
    kept = []
    for each in (storage, other_storage):
        with tenant_scope(each):
            kept.append([*Event.objects.order_by("number").values_list("data__name", flat=True)])
    assert kept == [["new"], ["old", "new"]]


def answered(number: int, created_on: datetime) -> AnsweredRequest:
    return AnsweredRequest(id=uuid4(), caller="ada", key=str(number), digest=b"", created_on=created_on)


def test_the_lifecycle_runs_beside_its_command(storage: Storage, other_storage: Storage) -> None:
    lifecycle_everywhere()
    call_command("run_lifecycle", verbosity=0)
    lifecycle_everywhere()
    runs = LifecycleRun.objects.filter(storage__in=[storage, other_storage])
    assert [(each.runs, each.failures) for each in runs] == [(3, 0), (3, 0)]


def test_a_periodic_job_forgets_its_last_failure() -> None:
    """Only a failure that is still true is shown."""
    failed, other = add_job("storage.clean_up", "failed", NEW), add_job("tests.other", "failed", NEW)
    run_job(declared_jobs()["storage.clean_up"], failed, {"timestamp": 0})
    assert list(QueuedJob.objects.values_list("pk", flat=True)) == [other]
