"""`manage.py run_lifecycle`: output, failures, and concurrent runs."""

from __future__ import annotations

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from io import StringIO
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone
from pytest_django.plugin import DjangoDbBlocker

from elements.models import Element, ElementChange, ElementVersion
from elements.reading.rows import VersionRow, read_versions
from release.models import LifecycleEntry, Task
from release.schedule.lifecycle_jobs import LifecycleJobResult, run_lifecycle
from repository_site.core.problems import NotFound
from storage.models import Storage
from storage.tenancy.scope import tenant_scope
from tests.conftest import StorageMaker
from tests.release.house import ID, MakeClient
from tests.release.scheduled_runs import let_versions_take_effect, line, states, valid
from tests.release.stored_contents import fingerprints, fresh, rival_of
from tests.release.task_calls import TYPE, ask, set_task


def run(*words: str) -> tuple[list[str], list[str]]:
    """Return what the command writes to stdout and stderr."""
    out, err = StringIO(), StringIO()
    call_command("run_lifecycle", *words, stdout=out, stderr=err)
    return out.getvalue().splitlines(), err.getvalue().splitlines()


def fails(*words: str) -> tuple[str, list[str], list[str]]:
    """Return the error in one line, and the output before it."""
    out, err = StringIO(), StringIO()
    with pytest.raises(CommandError) as caught:
        call_command("run_lifecycle", *words, stdout=out, stderr=err)
    assert "\n" not in str(caught.value)
    assert caught.value.returncode == 1
    return str(caught.value), out.getvalue().splitlines(), err.getvalue().splitlines()


@pytest.mark.django_db
class TestOneStorage:
    def test_nothing_is_due(self, house: Storage) -> None:
        before = fingerprints(house)
        for words in ((), ("--dry-run",)):
            assert run("acme", "house", *words) == ([], ["acme/house: nothing is due."])
        assert fingerprints(house) == before

    def test_lines_have_the_order_of_the_ends(self, house: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
        """The database returns rows in any order."""

        def read_backwards(*versions: Any, **options: Any) -> dict[str, VersionRow]:
            return dict(reversed(read_versions(*versions, **options).items()))

        monkeypatch.setattr("release.schedule.lifecycle_jobs.read_versions", read_backwards)
        ends = ("inEffect-1", "requestToExpire-1", "released-1")
        for days, name in enumerate(ends):
            valid(house, name, valid_until=timezone.now() - timedelta(days=9 - days))
        expected = [line(name) for name in ends]
        assert run_lifecycle(fresh(house), dry_run=True).expired == expected
        assert run_lifecycle(fresh(house)).expired == expected

    def test_one_line_for_each_change_and_a_summary(self, house: Storage, desk: MakeClient) -> None:
        let_versions_take_effect(house)
        anna = desk(user="anna")
        stuck, well = ask(anna, "inEffect"), ask(anna, "order")
        set_task(house, well, stuck_on=timezone.now(), stuck_reasons=["overdue"])
        set_task(house, stuck, assignee_id=ID["eve"], requested_on=timezone.now() - timedelta(days=20))
        valid(house, "order-2", valid_from=None)
        valid(house, "requestToExpire-1", valid_until=timezone.now())
        rival = fingerprints(house)[1]
        expected = {
            "took effect": line("released-1"),
            "expired": line("requestToExpire-1"),
            "is stuck": f"{stuck}, {TYPE}: approverInactive, overdue",
            "is no longer stuck": f"{well}, {TYPE}",
        }
        would = ("would take effect", "would expire", "would be marked as stuck", "would no longer be stuck")
        before = fingerprints(house)
        assert run("acme", "house", "--dry-run") == (
            [f"acme/house: {verb}: {text}" for verb, text in zip(would, expected.values(), strict=True)],
            [f"acme/house: {', '.join(f'1 {verb}' for verb in would)}."],
        )
        assert fingerprints(house) == before
        assert run("acme", "house") == (
            [f"acme/house: {verb}: {text}" for verb, text in expected.items()],
            ["acme/house: 1 took effect, 1 expired, 1 is stuck, 1 is no longer stuck."],
        )
        assert run("acme", "house") == ([], ["acme/house: nothing is due."])
        assert fingerprints(house)[1] == rival

    @pytest.mark.parametrize(
        ("words", "text"),
        [
            (["acme"], "Give both collection and storage, such as acme handbook, or neither."),
            (
                ["acme", "nowhere"],
                "There is no storage acme/nowhere; similar: acme/house. List storages: manage.py list_storages",
            ),
            (
                ["nowhere", "house"],
                "There is no storage nowhere/house; similar: acme/house. List storages: manage.py list_storages",
            ),
            (
                ["acme", "House"],
                "There is no storage acme/House; similar: acme/house, rival/house. List storages: manage.py list_storages",
            ),
        ],
    )
    def test_wrong_arguments(self, house: Storage, words: list[str], text: str) -> None:
        valid(house, "released-1", valid_until=timezone.now())
        before = fingerprints(house)
        assert fails(*words) == (text, [], [])
        assert fingerprints(house) == before

    def test_more_versions_than_a_batch(self) -> None:
        with pytest.raises(CommandError, match="unrecognized arguments: x"):
            run("acme", "house", "x")


def break_storage(monkeypatch: pytest.MonkeyPatch, collection: str, problem: Exception) -> None:
    def broken(
        storage: Storage, *, dry_run: bool = False, outcome: LifecycleJobResult | None = None
    ) -> LifecycleJobResult:
        if storage.collection.key == collection:
            raise problem
        return run_lifecycle(storage, dry_run=dry_run, outcome=outcome)

    monkeypatch.setattr("release.schedule.runs.run_lifecycle", broken)


@pytest.mark.django_db
class TestEveryStorage:
    @pytest.fixture(autouse=True)
    def due(self, house: Storage) -> None:
        """Make a version due in each storage, of different elements."""
        valid(house, "released-1", valid_until=timezone.now())
        valid(rival_of(house), "inEffect-1", valid_until=timezone.now())

    @pytest.mark.parametrize(
        ("words", "verb", "counts"),
        [
            ([], "expired", "1 expired"),
            (["--dry-run"], "would expire", "1 would expire"),
        ],
    )
    def test_all_storages_are_processed(self, house: Storage, words: list[str], verb: str, counts: str) -> None:
        before = fingerprints(house)
        assert run(*words) == (
            [f"acme/house: {verb}: {line('released-1')}", f"rival/house: {verb}: {line('inEffect-1')}"],
            [f"acme/house: {counts}.", f"rival/house: {counts}."],
        )
        assert (fingerprints(house) == before) is bool(words)
        state = ("released", "inEffect") if words else ("expired", "inEffect")
        assert states(house, "released-1", "inEffect-1") == [*state]
        state = ("released", "inEffect") if words else ("released", "expired")
        assert states(rival_of(house), "released-1", "inEffect-1") == [*state]

    @pytest.mark.parametrize(("broken", "other"), [("acme", "rival"), ("rival", "acme")])
    def test_a_failure_does_not_stop_other_storages(
        self, house: Storage, monkeypatch: pytest.MonkeyPatch, broken: str, other: str
    ) -> None:
        break_storage(monkeypatch, broken, RuntimeError("no space left"))
        text, out, err = fails()
        assert text == "1 of 2 storages failed; see the messages above, then run the command again."
        assert out == [f"{other}/house: expired: {line('inEffect-1' if other == 'rival' else 'released-1')}"]
        told = {
            f"{broken}/house: failed: no space left",
            f"{other}/house: 1 expired.",
        }
        assert set(err) == told
        assert len(err) == 2

    def test_changes_before_a_failure_are_reported(self, house: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("release.schedule.lifecycle_jobs._mark_tasks", lambda *args: 1 / 0)
        assert fails("acme", "house") == (
            "1 of 1 storages failed; see the messages above, then run the command again.",
            [f"acme/house: expired: {line('released-1')}"],
            ["acme/house: failed: division by zero", "acme/house: 1 expired."],
        )

    def test_all_storages_fail(self, house: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("release.schedule.lifecycle_jobs.write_steps", lambda *args: 1 / 0)
        before = fingerprints(house)
        assert fails() == (
            "2 of 2 storages failed; see the messages above, then run the command again.",
            [],
            [f"{name}/house: failed: division by zero" for name in ("acme", "rival")],
        )
        assert fingerprints(house) == before

    def test_a_removed_storage_is_skipped(self, house: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
        break_storage(monkeypatch, "acme", NotFound("There is no storage."))
        out, err = run()
        assert out == [f"rival/house: expired: {line('inEffect-1')}"]
        assert err == ["rival/house: 1 expired."]


@pytest.mark.long
class TestConcurrentRuns:
    """Runs in transactions of their own, as in several processes."""

    COUNT = 120

    @pytest.fixture
    def lines(self, tmp_path: Path) -> Path:
        """Return systems whose end has passed."""
        systems = [
            {
                "facetName": "it", "id": self.id(1, number), "versionId": self.id(2, number), "type": "system",
                "state": ("released", "inEffect", "requestToExpire")[number % 3],
                "attributes": {
                    "name": {"1033": f"System {number}"}, "version": {"127": "1.0"},
                    "validUntil": {"127": f"2026-01-{number % 28 + 1:02}T00:00:00"},
                },
            }
            for number in range(self.COUNT)
        ]  # fmt: skip
        path = tmp_path / "lines.ndjson"
        path.write_text("".join(json.dumps(each) + "\n" for each in systems), encoding="utf-8")
        return path

    def id(self, kind: int, number: int) -> str:
        return f"0000000{kind}-0000-4000-8000-{number:012x}"

    @pytest.mark.parametrize("batch", [1, 7, 200])
    def test_each_version_expires_once(
        self,
        filled_storage: StorageMaker,
        lines: Path,
        django_db_blocker: DjangoDbBlocker,
        monkeypatch: pytest.MonkeyPatch,
        batch: int,
    ) -> None:
        monkeypatch.setattr("release.schedule.lifecycle_jobs.BATCH", batch)
        start = Barrier(4)

        def work(number: int) -> tuple[list[str], list[str]]:
            try:
                start.wait(60)
                return run("acme", "rush")
            finally:
                connection.close()

        with filled_storage(lines, key="rush", template="standard") as storage, django_db_blocker.unblock():
            with tenant_scope(storage):
                Task.objects.create(
                    type=TYPE, element_id=self.id(1, 5), version_id=self.id(2, 5), revision=0, transition="T",
                    source_state="released", target_state="expired", requested_on=timezone.now(), requester_label="x",
                )  # fmt: skip
            with ThreadPoolExecutor(4) as threads:
                found = list(threads.map(work, range(4)))
            told = [
                text.partition("expired: ")[2].partition(",")[0]
                for out, _ in found
                for text in out
                if "expired: " in text
            ]
            versions = [self.id(2, number) for number in range(self.COUNT)]
            assert sorted(told) == versions
            with tenant_scope(storage):
                for model in (LifecycleEntry, ElementChange):
                    rows: Any = model.objects.values_list("version_id", flat=True)
                    assert Counter(map(str, rows)) == dict.fromkeys(versions, 1)
                assert set(LifecycleEntry.objects.values_list("number", "step", "to_state")) == {
                    (1, "expiry", "expired")
                }
                ended = ElementVersion.objects.filter(id__in=versions)
                assert set(ended.values_list("state", "category")) == {("expired", "retired")}
                assert not Element.objects.filter(type__key="system", published__isnull=False).exists()
                assert Task.objects.get().state == "obsolete"
            assert run("acme", "rush") == ([], ["acme/rush: nothing is due."])
            connection.close()
