"""Scheduled jobs: versions expire at the end of their validity (D21, D85)."""

from __future__ import annotations

from datetime import datetime

import pytest

from elements.models import ElementChange, ElementVersion, Shape
from release.models import LifecycleEntry
from release.schedule.lifecycle_jobs import run_lifecycle
from repository_site.core.problems import NotFound
from storage.models import Storage
from storage.provisioning.provision import remove_storage
from storage.tenancy.scope import tenant_scope
from tests.factories import StorageFactory
from tests.release.house import ID, NO_END, PUBLISHED, STATES, MakeClient
from tests.release.scheduled_runs import DAY, NOW, TICK, line, run, states, valid
from tests.release.settable_clock import SettableClock
from tests.release.stored_contents import fingerprints, fresh, rival_of
from tests.release.task_calls import TYPE, act, ask, done, logged, pointers, set_task

pytestmark = [pytest.mark.django_db, pytest.mark.long]


class TestExpiring:
    @pytest.mark.parametrize(
        ("end", "is_over"),
        [(NOW, True), (NOW - TICK, True), (NOW + TICK, False), (NOW - 900 * DAY, True), (None, False)],
    )
    def test_versions_past_their_end_expire(self, house: Storage, end: datetime | None, is_over: bool) -> None:
        valid(house, "released-1", valid_until=end)
        before = fingerprints(house)
        assert run(house) == ({"expired": [line("released-1")]} if is_over else {})
        assert states(house, "released-1") == ["expired" if is_over else "released"]
        assert (fingerprints(house) == before) is not is_over

    def test_only_published_versions_expire(self, house: Storage) -> None:
        versions = [f"{state}-1" for state in STATES]
        valid(house, *versions, "order-1", "order-2", valid_until=NOW - DAY)
        ended = [f"{state}-1" for state in PUBLISHED]
        expected = sorted([*(line(each) for each in ended), line("order-2", "2.0")])
        assert run(house) == {"expired": expected}
        assert states(house, *versions, "order-1", "order-2") == [
            *("expired" if state in PUBLISHED else state for state in STATES),
            "expired",
            "expired",
        ]
        with tenant_scope(house):
            assert {str(each.version_id) for each in LifecycleEntry.objects.all()} == {
                ID[each] for each in (*ended, "order-2")
            }

    def test_all_effects_of_an_expiry(self, house: Storage, desk: MakeClient, clock: SettableClock) -> None:
        anna, vera = desk(user="anna"), desk(user="vera")
        task = ask(anna, comment="Out of date.")
        asked = done(anna.get(f"rest/tasks/{task}"))
        set_task(house, task, stuck_on=NOW, stuck_reasons=["overdue"])
        before = anna.element("released")
        rival = fingerprints(house)[1]
        end = NOW + DAY
        valid(house, "released-1", valid_until=end)
        clock.moment = NOW + 2 * DAY
        assert run(house) == {"expired": [line("released-1")], "overtaken": [f"{task}, {TYPE}"]}
        related = {name: found for name, found in before["related"].items() if name != "changedBy"}
        [history] = related["releaseHistory"]
        assert anna.element("released") == {
            **before,
            "state": "expired",
            "attributes": {
                **before["attributes"],
                "changedOn": {"127": "2026-07-03T12:00:00"},
                "isReleased": {"127": False},
                "state1": {"127": "expired"},
                "validUntil": {"127": "2026-07-02T12:00:00"},
            },
            "related": {**related, "releaseHistory": [{**history, "state": "expired"}]},
        }
        assert anna.steps("released")[1:] == [
            {
                "number": 2,
                "step": "expiry",
                "versionId": ID["released-1"],
                "version": "1.0",
                "fromState": "released",
                "toState": "expired",
                "changedOn": "2026-07-03T12:00:00",
                "caller": "run_lifecycle",
                "requestId": "",
            }
        ]
        with tenant_scope(house):
            [change] = ElementChange.objects.all()
            row = ElementVersion.objects.get(id=ID["released-1"])
        assert (change.action, change.before, change.after) == (
            "transitioned",
            {"state": "released"},
            {"state": "expired"},
        )
        assert (change.caller_id, change.caller_label, change.request_id) == (None, "run_lifecycle", "")
        assert (row.category, row.changed_by_id) == ("retired", None)
        assert done(anna.get(f"rest/tasks/{task}")) == {
            **asked,
            "state": "obsolete",
            "element": {**asked["element"], "state": "expired"},
            "decider": "run_lifecycle",
            "decidedOn": "2026-07-03T12:00:00",
        }
        parts = [f"released-{part}" for part in ("start", "task", "end")]
        assert pointers(house, "released", *parts) == [(ID["released-1"], None), *((ID[each], None) for each in parts)]
        for name in ("released", "released-1", *parts):
            assert vera.get(f"rest/facets/processes/views/detail/elements/{ID[name]}").status_code == 404
        assert fingerprints(house)[1] == rival
        # An expired version can be copied to a new one.
        assert anna.new_version("released")["state"] == "inProcess"

    def test_a_draft_stays_the_newest(self, house: Storage, desk: MakeClient) -> None:
        draft = desk(user="anna").new_version("order")["versionId"]
        with tenant_scope(house):
            ElementVersion.objects.filter(id=draft).update(valid_until=NOW - DAY)
        valid(house, "order-2", valid_until=NOW)
        assert run(house) == {"expired": [line("order-2", "2.0")]}
        assert pointers(house, "order") == [(draft, None)]
        with tenant_scope(house):
            assert ElementVersion.objects.get(id=draft).state == "inProcess"

    def test_elements_of_another_published_diagram_stay_published(self, house: Storage) -> None:
        with tenant_scope(house):
            Shape.objects.create(version_id=ID["order-2"], element_id=ID["released-task"], position=9)
        valid(house, "released-1", valid_until=NOW)
        run(house)
        assert pointers(house, "released-start", "released-task") == [
            (ID["released-start"], None),
            (ID["released-task"], ID["released-task"]),
        ]
        valid(house, "order-2", valid_until=NOW)
        run(house)
        assert pointers(house, "released-task") == [(ID["released-task"], None)]

    def test_an_accepted_expiry_is_carried_out(self, house: Storage, desk: MakeClient, clock: SettableClock) -> None:
        anna, ben = desk(user="anna"), desk(user="ben")
        task = ask(anna, "inEffect", validUntil="2026-07-05T00:00:00")
        done(act(ben, task, "accept"))
        clock.set("2026-07-04T21:59:59.999999+00:00")
        assert run(house) == {}
        clock.set("2026-07-04T22:00:00+00:00")
        assert run(house) == {"expired": [line("inEffect-1")]}
        assert [each[:4] for each in logged(anna, "inEffect")][2:] == [
            ("expiry", "requestToExpire", "expired", "run_lifecycle")
        ]
        assert done(anna.get(f"rest/tasks/{task}"))["state"] == "accepted"

    def test_a_version_expires_once(self, house: Storage) -> None:
        valid(house, "released-1", "inEffect-1", valid_until=NOW)
        run(house)
        before = fingerprints(house)
        assert run(house) == {}
        assert fingerprints(house) == before

    def test_only_the_given_storage_is_processed(self, house: Storage) -> None:
        rival = rival_of(house)
        for storage in (house, rival):
            valid(storage, "released-1", valid_until=NOW)
        before = fingerprints(house)
        assert run(rival) == {"expired": [line("released-1")]}
        after = fingerprints(house)
        assert (after[0] == before[0], after[1] == before[1]) == (True, False)
        assert states(house, "released-1") == ["released"]

    def test_other_types_and_empty_storages(self, house: Storage) -> None:
        """All types with a release cycle are processed; an empty storage has nothing due."""
        valid(house, "erp-1", valid_until=NOW)
        assert run(house) == {"expired": [line("erp-1")]}
        assert run(StorageFactory.create(collection="acme", key="plain")) == {}

    def test_a_removed_storage_is_not_found(self, house: Storage) -> None:
        storage = StorageFactory.create(collection="acme", key="gone")
        remove_storage(fresh(storage))
        for dry_run in (False, True):
            with pytest.raises(NotFound):
                run_lifecycle(storage, dry_run=dry_run)


def test_versions_without_an_end_never_expire(house: Storage, desk: MakeClient, clock: SettableClock) -> None:
    """The date 9999-12-31 means no end."""
    assert desk(user="anna").element("released")["attributes"]["validUntil"] == {"127": NO_END}
    clock.set("9999-12-30T22:59:59+00:00")
    assert run(house) == {}
