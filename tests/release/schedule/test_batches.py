"""Scheduled jobs: each batch is a transaction of its own, and deadlocks are retried."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import OperationalError
from psycopg.errors import DeadlockDetected, LockNotAvailable

from elements.models import ElementChange, ElementVersion
from elements.writing.stored import hold_elements
from release.models import LifecycleEntry, Task
from release.steps.effects import write_steps
from storage.models import Storage
from storage.tenancy.scope import tenant_scope
from tests.release.scheduled_runs import DAY, NOW, line, run, states, valid
from tests.release.stored_contents import fingerprints

pytestmark = [pytest.mark.django_db, pytest.mark.long]


class TestBatches:
    DUE = ("released-1", "inEffect-1", "requestToExpire-1", "order-2", "erp-1")

    @pytest.fixture(autouse=True)
    def due(self, house: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("release.schedule.lifecycle_jobs.BATCH", 2)
        for number, version in enumerate(self.DUE):
            valid(house, version, valid_until=NOW - number * DAY)

    def test_all_batches_are_processed(self, house: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
        sizes = []

        def write(change: Any, steps: Any) -> list[Task]:
            sizes.append(len(steps))
            return write_steps(change, steps)

        monkeypatch.setattr("release.schedule.lifecycle_jobs.write_steps", write)
        assert len(run(house)["expired"]) == 5
        assert sizes == [2, 2, 1]
        assert states(house, *self.DUE) == ["expired"] * 5
        with tenant_scope(house):
            assert LifecycleEntry.objects.count() == ElementChange.objects.count() == 5

    def test_finished_batches_stay_when_a_later_one_fails(
        self, house: Storage, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        calls = []

        def write(change: Any, steps: Any) -> list[Task]:
            overtaken = write_steps(change, steps)
            calls.append(steps)
            if len(calls) == 2:
                raise RuntimeError("in the second")
            return overtaken

        monkeypatch.setattr("release.schedule.lifecycle_jobs.write_steps", write)
        with pytest.raises(RuntimeError):
            run(house)
        # The earliest ends come first.
        assert states(house, *self.DUE) == ["released", "inEffect", "requestToExpire", "expired", "expired"]
        assert len(run(house)["expired"]) == 3

    def test_versions_changed_before_the_lock_are_skipped(
        self, house: Storage, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Between search and lock, one version has expired and one got a later end; the others are unchanged."""
        looks: Iterator[dict[str, Any]] = iter(
            [{"valid_until": NOW + DAY}, {"state": "expired", "category": "retired"}]
        )

        def lock(elements: Any, versions: Any) -> Any:
            ElementVersion.objects.filter(id=versions[0]).update(**next(looks, {"minor": 0}))
            return hold_elements(elements, versions)

        monkeypatch.setattr("release.schedule.lifecycle_jobs.hold_elements", lock)
        assert run(house) == {"expired": sorted([line("order-2", "2.0"), line("inEffect-1"), line("released-1")])}
        assert states(house, *self.DUE) == ["expired", "expired", "expired", "expired", "released"]
        with tenant_scope(house):
            assert LifecycleEntry.objects.count() == 3

    def test_a_deadlock_is_retried(self, house: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
        waits, failing = list[float](), 3

        def write(change: Any, steps: Any) -> list[Task]:
            nonlocal failing
            overtaken = write_steps(change, steps)
            failing -= 1
            if failing >= 0:
                raise OperationalError("deadlock") from DeadlockDetected()
            return overtaken

        monkeypatch.setattr("release.schedule.lifecycle_jobs.write_steps", write)
        monkeypatch.setattr("time.sleep", waits.append)
        assert len(run(house)["expired"]) == 5
        assert len(waits) == 3
        with tenant_scope(house):
            assert LifecycleEntry.objects.count() == 5

    @pytest.mark.parametrize(("cause", "attempts"), [(DeadlockDetected(), 5), (LockNotAvailable(), 1)])
    def test_retries_are_limited(
        self, house: Storage, monkeypatch: pytest.MonkeyPatch, cause: Exception, attempts: int
    ) -> None:
        calls = []

        def write(change: Any, steps: Any) -> None:
            calls.append(steps)
            raise OperationalError("no") from cause

        monkeypatch.setattr("release.schedule.lifecycle_jobs.write_steps", write)
        monkeypatch.setattr("time.sleep", lambda seconds: None)
        before = fingerprints(house)
        with pytest.raises(OperationalError):
            run(house)
        assert len(calls) == attempts
        assert fingerprints(house) == before
