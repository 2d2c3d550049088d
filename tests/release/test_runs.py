"""The record of the last run of each storage, which `/metrics` and `doctor` read."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.utils import timezone

from release.schedule.lifecycle_jobs import LifecycleJobResult
from release.schedule.runs import recorded_run
from repository_site.core.problems import NotFound
from storage.models import LifecycleRun, Storage
from storage.provisioning.provision import remove_storage
from tests.release.house import ID, MakeClient
from tests.release.stored_contents import rival_of
from tests.release.task_calls import ask, set_task

pytestmark = pytest.mark.django_db


def kept(storage: Storage) -> tuple[int, ...]:
    run = LifecycleRun.objects.get(storage=storage)
    return (run.runs, run.failures, run.open_tasks, run.overdue_tasks, run.stuck_tasks)


def test_a_run_and_its_task_counts_are_recorded(house: Storage, desk: MakeClient) -> None:
    anna = desk(user="anna")
    overdue, inactive = ask(anna, "inEffect"), ask(anna, "order")
    ask(anna, "released")
    set_task(house, overdue, requested_on=timezone.now() - timedelta(days=20))
    set_task(house, inactive, assignee_id=ID["eve"])
    before = timezone.now()
    recorded_run(house)
    assert kept(house) == (1, 0, 3, 1, 2)
    run = LifecycleRun.objects.get()
    assert run.ended_on is not None
    assert before <= run.ended_on <= timezone.now()
    assert run.failed_on is None
    recorded_run(house)
    recorded_run(rival_of(house))
    assert kept(house) == (2, 0, 3, 1, 2)
    assert kept(rival_of(house)) == (1, 0, 0, 0, 0)


def test_a_failure_is_recorded_beside_the_last_success(house: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded_run(house)
    ended = LifecycleRun.objects.get().ended_on
    monkeypatch.setattr("release.schedule.runs.run_lifecycle", lambda *args, **options: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        recorded_run(house, LifecycleJobResult())
    run = LifecycleRun.objects.get()
    assert kept(house) == (2, 1, 0, 0, 0)
    assert (run.ended_on, run.failed_on is not None) == (ended, True)


def test_a_dry_run_is_not_recorded(house: Storage) -> None:
    call_command("run_lifecycle", "--dry-run", stdout=StringIO(), stderr=StringIO())
    assert not LifecycleRun.objects.exists()


def test_the_record_is_removed_with_its_storage(storage: Storage) -> None:
    recorded_run(storage)
    gone = Storage.objects.get(pk=storage.pk)
    remove_storage(storage)
    assert not LifecycleRun.objects.exists()
    with pytest.raises(NotFound):
        recorded_run(gone)
