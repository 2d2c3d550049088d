"""Requesting the expiry of a version creates a task (D23, D90)."""

from __future__ import annotations

from uuid import UUID

import pytest

from elements.models import ElementChange, ElementVersion
from release.models import Task
from storage.models import Storage
from storage.tenancy.scope import tenant_scope
from tests.release.house import ID, NO_END, MakeClient, error
from tests.release.stored_contents import fingerprints
from tests.release.task_calls import (
    LATER,
    LATER_INSTANT,
    NOW,
    TYPE,
    WAY,
    act,
    appoint,
    ask,
    done,
    label,
    pointers,
    refused,
    set_task,
    wire,
)
from tests.tags import version_tag

pytestmark = pytest.mark.django_db


class TestRequesting:
    @pytest.mark.parametrize("name", ["released", "inEffect"])
    def test_a_request_creates_a_task_and_changes_nothing_else(
        self, house: Storage, desk: MakeClient, name: str
    ) -> None:
        anna, vera = desk(user="anna"), desk(user="vera")
        rival = fingerprints(house)[1]
        before = anna.get(f"rest/facets/processes/views/detail/elements/{ID[name]}")
        response = anna.apply(name, WAY[name], "", {"comment": "Out of date."})
        assert response.status_code == 200
        assert response.json() == before.json()
        assert response["ETag"] == version_tag(before["ETag"])
        assert response.json()["elements"][0]["state"] == name
        with tenant_scope(house):
            task = str(Task.objects.get().id)
        assert done(anna.get(f"rest/tasks/{task}")) == {
            "id": task,
            "type": TYPE,
            "state": "open",
            "element": wire(name, name),
            "transitionId": WAY[name],
            "sourceState": name,
            "targetState": "requestToExpire",
            "requestedOn": NOW,
            "requester": label(anna),
            "requestedBy": wire("anna"),
            "assignee": wire("ben"),
            "comment": "Out of date.",
            "isStuck": False,
        }
        assert anna.steps(name) == [
            {
                "number": 1,
                "step": "request",
                "versionId": ID[f"{name}-1"],
                "version": "1.0",
                "fromState": name,
                "toState": name,
                "transitionId": WAY[name],
                "changedOn": NOW,
                "caller": label(anna),
                "requestId": response["X-Request-ID"],
                "changedBy": wire("anna"),
                "comment": "Out of date.",
                "taskId": task,
            }
        ]
        assert vera.element(name)["state"] == name
        assert pointers(house, name) == [(ID[f"{name}-1"], ID[f"{name}-1"])]
        with tenant_scope(house):
            assert not ElementChange.objects.exists()
        assert fingerprints(house)[1] == rival

    def test_a_request_can_name_an_end(self, desk: MakeClient) -> None:
        anna = desk(user="anna")
        task = done(anna.get(f"rest/tasks/{ask(anna, validUntil=LATER)}"))
        assert task["validUntil"] == LATER
        assert "comment" not in task
        assert anna.element("released")["attributes"]["validUntil"] == {"127": NO_END}

    def test_a_requested_end_must_be_in_the_future(self, house: Storage, desk: MakeClient) -> None:
        anna = desk(user="anna")
        before = fingerprints(house)
        text = "validUntil: must be in the future; leave it out to end the version when the task is accepted."
        for end in (NOW, "2026-07-01T11:59:59.999999", "2020-02-29T00:00:00"):
            refused(anna.apply("released", WAY["released"], "", {"validUntil": end}), 422, text)
        assert fingerprints(house) == before

    def test_a_requested_end_must_be_earlier_than_the_current_one(self, house: Storage, desk: MakeClient) -> None:
        """A request cannot extend the validity."""
        anna = desk(user="anna")
        with tenant_scope(house):
            ElementVersion.objects.filter(id=ID["released-1"]).update(valid_until=LATER_INSTANT)
        before = fingerprints(house)
        text = "validUntil: must be earlier than the current end of the version."
        for end in (LATER, "2026-07-20T08:30:00.000001", "2027-01-01T00:00:00", NO_END):
            refused(anna.apply("released", WAY["released"], "", {"validUntil": end}), 422, text)
        refused(anna.apply("order", WAY["order"], "", {"validUntil": NO_END}), 422, text)
        assert fingerprints(house) == before
        earlier = "2026-07-20T08:29:59.999999"
        task = ask(anna, validUntil=earlier)
        assert done(act(desk(user="ben"), task, "accept"))["element"]["state"] == "requestToExpire"
        assert anna.element("released")["attributes"]["validUntil"] == {"127": earlier}

    def test_any_end_for_a_version_without_an_end(self, house: Storage, desk: MakeClient) -> None:
        anna = desk(user="anna")
        with tenant_scope(house):
            ElementVersion.objects.filter(id=ID["released-1"]).update(valid_until=None)
        done(act(desk(user="ben"), ask(anna, validUntil=NO_END), "accept"))
        assert anna.element("released")["attributes"]["validUntil"] == {"127": NO_END}

    def test_an_open_task_prevents_a_second_request(self, house: Storage, desk: MakeClient) -> None:
        anna, ben, cora = desk(user="anna"), desk(user="ben"), desk(user="cora")
        for caller in (anna, cora):
            assert caller.offered("released") == [WAY["released"]]
        task = ask(anna)
        before = fingerprints(house)
        for caller in (anna, cora):
            assert caller.offered("released") == []
            text = f"subProcess {ID['released-1']} has an open task {TYPE}; decide or withdraw it first."
            refused(caller.apply("released", WAY["released"]), 409, text)
        assert anna.offered("inEffect") == [WAY["inEffect"]]
        assert fingerprints(house) == before
        done(act(ben, task, "reject"))
        assert anna.offered("released") == [WAY["released"]]
        second = ask(anna)
        assert second != task
        done(act(anna, second, "withdraw"))
        assert anna.offered("released") == [WAY["released"]]

    def test_choice_of_the_approver(self, house: Storage, desk: MakeClient) -> None:
        anna = desk(user="anna")
        cases: list[tuple[dict[str, list[str]], str | None]] = [
            ({"owner": ["ben"], "reviewer": ["dora"], "qualityManager": ["cora"]}, "ben"),
            ({"owner": [], "reviewer": ["dora"], "qualityManager": ["ben"]}, "dora"),
            ({"owner": [], "reviewer": [], "qualityManager": ["dora"]}, "dora"),
            ({"owner": ["anna"], "reviewer": ["anna", "dora"], "qualityManager": ["ben"]}, "dora"),
            ({"owner": ["anna"], "reviewer": ["anna"], "qualityManager": ["anna"]}, None),
            ({"owner": [], "reviewer": [], "qualityManager": []}, None),
            # The approver may be unable to decide; the task is stuck then.
            ({"owner": ["eve"], "reviewer": ["dora"]}, "eve"),
            ({"owner": ["crew"], "reviewer": ["dora"]}, "crew"),
        ]
        for people, assignee in cases:
            appoint(house, "released-1", **people)
            task = ask(anna)
            with tenant_scope(house):
                found = Task.objects.get(id=task).assignee_id
            assert found == (UUID(ID[assignee]) if assignee else None), people
            set_task(house, task, state="withdrawn")

    def test_a_request_about_a_version_by_its_own_id(self, house: Storage, desk: MakeClient) -> None:
        """The id of an element with a draft means the draft; the id of the version means the published one."""
        anna = desk(user="anna")
        draft = anna.new_version("order")["versionId"]
        response = anna.apply("order", WAY["order"])
        assert error(response)[0] == 409
        answered = anna.applied("order-2", WAY["order"], "")
        assert (answered["versionId"], answered["state"]) == (ID["order-2"], "released")
        (task,) = anna.tasks("?assignee=all")
        assert task["element"] == wire("order", "released", "order-2")
        done(act(desk(user="ben"), task["id"], "accept"))
        assert pointers(house, "order") == [(draft, None)]
        assert anna.element("order")["state"] == "inProcess"
        assert anna.element("order-2")["state"] == "expired"
