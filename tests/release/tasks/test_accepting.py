"""Accepting a task (D91)."""

from __future__ import annotations

import itertools
from datetime import datetime
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest

from elements.models import ElementVersion
from release.models import LifecycleEntry
from release.schedule.lifecycle_jobs import run_lifecycle
from storage.models import Storage
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.release.house import API, ID, NO_END, MakeClient, error
from tests.release.settable_clock import SettableClock
from tests.release.stored_contents import fingerprints, fresh
from tests.release.task_calls import (
    LATER,
    LATER_INSTANT,
    TODAY,
    WAY,
    act,
    ask,
    done,
    entry,
    label,
    logged,
    open_task,
    pointers,
    refused,
    set_task,
    wire,
)

pytestmark = pytest.mark.django_db


class TestAccepting:
    def test_accepting_expires_the_version(self, house: Storage, desk: MakeClient, clock: SettableClock) -> None:
        anna, ben, vera = desk(user="anna"), desk(user="ben"), desk(user="vera")
        rival = fingerprints(house)[1]
        before = anna.element("released")
        task = ask(anna, comment="Out of date.")
        asked = done(anna.get(f"rest/tasks/{task}"))
        drawn = [f"released-{part}" for part in ("start", "task", "end")]
        for name in ("released", *drawn):
            assert vera.get(f"rest/facets/processes/views/detail/elements/{ID[name]}").status_code == 200
        clock.set("2026-07-02T21:59:00+00:00")
        moment, day = "2026-07-02T23:59:00", "2026-07-02T00:00:00"
        response = act(ben, task, "accept", comment="Yes.")
        closed = {
            **asked,
            "state": "accepted",
            "element": wire("released", "expired"),
            "decidedBy": wire("ben"),
            "decider": label(ben),
            "decision": "Yes.",
            "decidedOn": moment,
        }
        assert done(response) == closed == done(anna.get(f"rest/tasks/{task}"))
        assert anna.element("released") == {
            **before,
            "state": "expired",
            "attributes": {
                **before["attributes"],
                "changedOn": {"127": moment},
                "isReleased": {"127": False},
                "state1": {"127": "expired"},
                "validUntil": {"127": day},
            },
            "related": {
                **before["related"],
                "changedBy": [wire("ben")],
                "releaseHistory": [wire("released", "expired")],
            },
        }
        wanted = {"transitionId": WAY["released"], "comment": "Yes."}
        assert anna.steps("released")[1:] == [
            entry(ben, response, task, 2, "transition", ("released", "requestToExpire"), changedOn=moment, **wanted),
            entry(ben, response, task, 3, "expiry", ("requestToExpire", "expired"), changedOn=moment),
        ]
        with tenant_scope(house):
            row = ElementVersion.objects.get(id=ID["released-1"])
            assert (row.state, row.category) == ("expired", "retired")
            assert row.valid_until == datetime.fromisoformat("2026-07-01T22:00:00+00:00")
        assert pointers(house, "released", *drawn) == [(ID["released-1"], None), *((ID[name], None) for name in drawn)]
        for name in ("released", "released-1", *drawn):
            assert vera.get(f"rest/facets/processes/views/detail/elements/{ID[name]}").status_code == 404
        listed = vera.get("rest/facets/processes/views/detail/elements").json()["elements"]
        assert {each["id"] for each in listed}.isdisjoint(ID[name] for name in ("released", *drawn))
        assert vera.element("order")["state"] == "released"
        assert ben.offered("released") == anna.offered("released") == []
        assert run_lifecycle(fresh(house)).is_empty
        assert fingerprints(house)[1] == rival

    def test_the_change_history_has_both_steps_newest_first(
        self, desk: MakeClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Both steps have the same time; the order must not depend on their ids."""
        ids = itertools.count(2**128 - 1, -1)
        monkeypatch.setattr("elements.writing.history.uuid4", lambda: UUID(int=next(ids)), raising=False)
        anna, ben = desk(user="anna"), desk(user="ben")
        done(act(ben, ask(anna), "accept"))
        found = anna.get(f"rest/facets/processes/views/detail/elements/{ID['released']}/history").json()["values"]
        asked = {"state": "requestToExpire", "validUntil": TODAY}
        assert [(each["action"], each["before"], each["after"]) for each in found] == [
            ("transitioned", {"state": "requestToExpire"}, {"state": "expired"}),
            ("transitioned", {"state": "released", "validUntil": NO_END}, asked),
        ]

    def test_a_requested_end_in_the_future(self, house: Storage, desk: MakeClient, clock: SettableClock) -> None:
        anna, ben, vera = desk(user="anna"), desk(user="ben"), desk(user="vera")
        task = ask(anna, validUntil=LATER)
        assert done(act(ben, task, "accept"))["element"] == wire("released", "requestToExpire")
        element = vera.element("released")
        assert (element["state"], element["attributes"]["validUntil"]) == ("requestToExpire", {"127": LATER})
        assert element["attributes"]["isReleased"] == {"127": True}
        assert anna.offered("released") == []
        steps = [
            ("request", "released", "released", label(anna), ""),
            ("transition", "released", "requestToExpire", label(ben), ""),
        ]
        assert logged(anna, "released") == steps
        clock.set("2026-07-20T06:29:59.999999+00:00")
        assert run_lifecycle(fresh(house)).is_empty
        clock.set(LATER_INSTANT)
        assert run_lifecycle(fresh(house)).expired == [f"{ID['released-1']}, version 1.0 of {ID['released']}"]
        assert vera.get(f"rest/facets/processes/views/detail/elements/{ID['released']}").status_code == 404
        element = anna.element("released")
        assert (element["state"], element["attributes"]["validUntil"]) == ("expired", {"127": LATER})
        assert "changedBy" not in element["related"]
        assert logged(anna, "released") == [*steps, ("expiry", "requestToExpire", "expired", "run_lifecycle", "")]
        assert done(anna.get(f"rest/tasks/{task}"))["state"] == "accepted"

    def test_a_requested_end_that_has_passed(self, house: Storage, desk: MakeClient, clock: SettableClock) -> None:
        """A version cannot end earlier than the day of the decision."""
        cora = desk(user="cora")
        for version, asked_for, accepted, end in (
            ("released-1", "2026-07-01T13:00:00+00:00", "2026-07-01T13:00:00+00:00", "2026-07-01T15:00:00"),
            ("house-1", "2026-07-01T13:00:00+00:00", "2026-07-01T21:59:59+00:00", "2026-07-01T15:00:00"),
            ("order-2", "2026-07-01T13:00:00+00:00", "2026-07-01T22:00:00+00:00", "2026-07-02T00:00:00"),
            ("erp-1", "2026-07-05T00:00:00+00:00", "2026-08-01T10:00:00+00:00", "2026-08-01T00:00:00"),
        ):
            task = open_task(house, version)
            set_task(house, task, valid_until=asked_for)
            clock.set(accepted)
            assert done(act(cora, task, "accept"))["element"]["state"] == "expired"
            with tenant_scope(house):
                found = ElementVersion.objects.get(id=ID[version]).valid_until
                steps = LifecycleEntry.objects.filter(version_id=ID[version]).order_by("number")
                assert [each.step for each in steps] == ["transition", "expiry"]
            assert found == datetime.fromisoformat(end).replace(tzinfo=ZoneInfo("Europe/Berlin")), version

    def test_accepting_never_extends_the_validity(self, house: Storage, desk: MakeClient, clock: SettableClock) -> None:
        """A version that ends earlier than requested keeps its end, also before the scheduled jobs have expired it."""
        cora = desk(user="cora")
        clock.set("2026-07-10T10:00:00+00:00")
        for version, asked_for, end, state in (
            ("released-1", LATER_INSTANT, "2026-07-15T00:00:00+00:00", "requestToExpire"),
            ("order-2", LATER_INSTANT, "2026-07-09T12:00:00+00:00", "expired"),
            ("house-1", None, "2026-05-01T00:00:00+00:00", "expired"),
            ("erp-1", "2026-07-05T00:00:00+00:00", "2026-07-04T00:00:00+00:00", "expired"),
        ):
            task = open_task(house, version)
            set_task(house, task, valid_until=asked_for)
            with tenant_scope(house):
                ElementVersion.objects.filter(id=ID[version]).update(valid_until=end)
            assert done(act(cora, task, "accept"))["element"]["state"] == state, version
            with tenant_scope(house):
                found = ElementVersion.objects.get(id=ID[version]).valid_until
            assert found == datetime.fromisoformat(end), version

    def test_the_comment_is_optional(self, house: Storage, desk: MakeClient, api: ApiClient) -> None:
        """Ids may be in upper case, and addresses may end in a slash."""
        ben = desk(user="ben")
        for content in (b"", b"{}", b'{"comment": null}', b'{"comment": ""}', b' { "comment":"\\n" } '):
            address = f"{API}/rest/tasks/{open_task(house).upper()}/reject/"
            response = api.post(address, content, content_type="application/json", token=ben.token)
            assert done(response).get("decision") == ("\n" if b"\\n" in content else None)

    def test_an_idempotency_key_accepts_once(self, house: Storage, desk: MakeClient) -> None:
        ben, task = desk(user="ben"), open_task(house)
        path, key = f"rest/tasks/{task}/accept", {"Idempotency-Key": "once"}
        first = ben.post(path, {"comment": "Yes."}, **key)
        stored = fingerprints(house)
        again = ben.post(path, {"comment": "Yes."}, **key)
        assert (again.status_code, again.content) == (200, first.content)
        assert done(first)["state"] == "accepted"
        assert error(ben.post(path, {"comment": "No."}, **key))[0] == 422
        assert error(ben.post(f"rest/tasks/{task}/reject", {"comment": "Yes."}, **key))[0] == 422
        refused(ben.post(path, {"comment": "Yes."}), 409, "The task has already been accepted.")
        assert fingerprints(house) == stored
