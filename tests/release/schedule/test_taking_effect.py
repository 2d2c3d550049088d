"""Scheduled jobs: versions take effect when their validity begins; dry runs change nothing."""

from __future__ import annotations

import pytest
from django.db import transaction

from facets.configuration import configuration_of
from release.schedule.lifecycle_jobs import run_lifecycle
from storage.models import Storage
from storage.tenancy.scope import tenant_scope
from tests.release.house import ID, STATES, MakeClient, error
from tests.release.scheduled_runs import DAY, NOW, TICK, let_versions_take_effect, line, run, states, told, valid
from tests.release.settable_clock import SettableClock
from tests.release.stored_contents import fingerprints, fresh
from tests.release.task_calls import TYPE, WAY, act, ask, done, logged, open_task, pointers, set_task

pytestmark = [pytest.mark.django_db, pytest.mark.long]


class TestTakingEffect:
    def test_the_standard_cycle_has_no_taking_effect(self, house: Storage) -> None:
        valid(house, "released-1", valid_from=NOW - DAY)
        assert run(house) == {}
        assert states(house, "released-1") == ["released"]

    def test_a_version_takes_effect_when_valid(self, house: Storage, desk: MakeClient, clock: SettableClock) -> None:
        let_versions_take_effect(house)
        anna, ben, vera = desk(user="anna"), desk(user="ben"), desk(user="vera")
        valid(house, *(f"{state}-1" for state in STATES), "order-1", valid_from=NOW - DAY)
        valid(house, "order-2", valid_from=NOW + TICK)
        task = ask(anna)
        before = anna.element("released")
        rival = fingerprints(house)[1]
        expected = {"in_effect": [line("released-1")], "overtaken": [f"{task}, {TYPE}"]}
        assert run(house, dry_run=True) == run(house) == expected
        kept = [state for state in STATES if state != "released"]
        assert states(house, *(f"{state}-1" for state in kept), "order-1", "order-2") == [*kept, "expired", "released"]
        element = vera.element("released")
        assert (element["state"], element["attributes"]["isReleased"]) == ("inEffect", {"127": True})
        for name in ("version", "relOn", "validFrom", "validUntil"):
            assert element["attributes"][name] == before["attributes"][name]
        assert "changedBy" not in element["related"]
        assert element["attributes"]["changedOn"] == {"127": "2026-07-01T12:00:00"}
        assert pointers(house, "released", "released-task") == [(ID["released-1"],) * 2, (ID["released-task"],) * 2]
        assert [each[:4] for each in logged(anna, "released")][1:] == [
            ("effect", "released", "inEffect", "run_lifecycle")
        ]
        # The request was about the earlier state.
        assert error(act(ben, task, "accept"))[0] == 409
        assert done(anna.get(f"rest/tasks/{task}"))["state"] == "obsolete"
        assert anna.offered("released") == [WAY["inEffect"]]
        assert run(house) == {}
        clock.moment = NOW + TICK
        assert run(house) == {"in_effect": [line("order-2", "2.0")]}
        assert fingerprints(house)[1] == rival

    def test_taking_effect_and_expiring_in_one_run(self, house: Storage, desk: MakeClient) -> None:
        stale = fresh(house)
        with tenant_scope(house):
            configuration_of(stale)
        let_versions_take_effect(house)
        valid(house, "released-1", "order-2", valid_from=NOW - 2 * DAY, valid_until=NOW - DAY)
        # Without a validFrom a version does not take effect, but it expires.
        valid(house, "erp-1", valid_until=NOW)
        both = [line("order-2", "2.0"), line("released-1")]
        expected = {"in_effect": sorted(both), "expired": sorted([*both, line("erp-1")])}
        # A storage object from before the change still uses the current cycle.
        with transaction.atomic():
            assert told(run_lifecycle(stale)) == expected
            transaction.set_rollback(True)
        assert run(house, dry_run=True) == run(house) == expected
        anna = desk(user="anna")
        assert [each[:3] for each in logged(anna, "released")] == [
            ("effect", "released", "inEffect"),
            ("expiry", "inEffect", "expired"),
        ]
        assert [each["number"] for each in anna.steps("order")] == [1, 2]
        assert pointers(house, "released", "order") == [(ID["released-1"], None), (ID["order-2"], None)]


class TestDryRun:
    def test_a_dry_run_reports_the_same_and_changes_nothing(self, house: Storage) -> None:
        stuck, well = open_task(house, "order-2", "eve"), open_task(house)
        set_task(house, well, stuck_on=NOW, stuck_reasons=["overdue"])
        valid(house, "inEffect-1", "requestToExpire-1", valid_until=NOW)
        before = fingerprints(house)
        expected = {
            "expired": sorted([line("inEffect-1"), line("requestToExpire-1")]),
            "stuck": [f"{stuck}, {TYPE}: approverInactive"],
            "freed": [f"{well}, {TYPE}"],
        }
        assert run(house, dry_run=True) == expected
        assert fingerprints(house) == before
        assert run(house) == expected

    def test_a_task_that_ends_with_its_version_is_not_stuck(self, house: Storage) -> None:
        task = open_task(house, assignee="eve")
        valid(house, "released-1", valid_until=NOW)
        told_before = run(house, dry_run=True)
        assert run(house) == {"expired": [line("released-1")], "overtaken": [f"{task}, {TYPE}"]}
        assert told_before == {"expired": [line("released-1")], "overtaken": [f"{task}, {TYPE}"]}
