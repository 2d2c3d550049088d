"""Other ends of a task: rejected, withdrawn, overtaken by a newer version (D91, D92)."""

from __future__ import annotations

import pytest

from elements.models import ElementChange
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.release.house import ID, MakeClient, error
from tests.release.settable_clock import SettableClock
from tests.release.stored_contents import fingerprints
from tests.release.task_calls import (
    LATER,
    NOT_YOURS,
    NOW,
    VERBS,
    WAY,
    act,
    appoint,
    ask,
    done,
    entry,
    grant,
    label,
    logged,
    open_task,
    refused,
    set_task,
    wire,
)

pytestmark = pytest.mark.django_db


class TestOtherEnds:
    def test_rejecting(self, house: Storage, desk: MakeClient) -> None:
        anna, ben = desk(user="anna"), desk(user="ben")
        before = anna.get(f"rest/facets/processes/views/detail/elements/{ID['released']}")
        task = ask(anna, validUntil=LATER, comment="Out of date.")
        asked = done(anna.get(f"rest/tasks/{task}"))
        response = act(ben, task, "reject", comment="Still needed.")
        assert done(response) == {
            **asked,
            "state": "rejected",
            "decidedBy": wire("ben"),
            "decider": label(ben),
            "decision": "Still needed.",
            "decidedOn": NOW,
        }
        after = anna.get(f"rest/facets/processes/views/detail/elements/{ID['released']}")
        assert (after.json(), after["ETag"]) == (before.json(), before["ETag"])
        wanted = {"transitionId": WAY["released"], "comment": "Still needed."}
        assert anna.steps("released")[1:] == [entry(ben, response, task, 2, "rejection", ("released",) * 2, **wanted)]
        with tenant_scope(house):
            assert not ElementChange.objects.exists()

    def test_withdrawing(self, house: Storage, desk: MakeClient) -> None:
        anna, cora = desk(user="anna"), desk(user="cora")
        before = anna.element("released")
        task = ask(anna)
        asked = done(anna.get(f"rest/tasks/{task}"))
        others = [desk(user="ben"), desk(Role.EDITOR), desk(Role.ARCHITECT), desk(Role.ANALYZER)]
        stored = fingerprints(house)
        for other in others:
            refused(act(other, task, "withdraw"), 403, NOT_YOURS)
        assert fingerprints(house) == stored
        # The same person with another token.
        withdrawn = done(act(desk(user="anna"), task, "withdraw", comment="A mistake."))
        assert withdrawn == {
            **asked,
            "state": "withdrawn",
            "decidedBy": wire("anna"),
            "decider": withdrawn["decider"],
            "decision": "A mistake.",
            "decidedOn": NOW,
        }
        second = ask(anna)
        assert done(act(cora, second, "withdraw"))["decidedBy"] == wire("cora")
        assert anna.element("released") == before
        assert [each[0] for each in logged(anna, "released")] == ["request", "withdrawal", "request", "withdrawal"]
        assert logged(anna, "released")[1][1:] == ("released", "released", withdrawn["decider"], "A mistake.")

    def test_a_requester_without_edit_permission_can_still_withdraw(self, house: Storage, desk: MakeClient) -> None:
        task = open_task(house)
        appoint(house, "released-1", author=["dora"])
        grant(house, "anna", analyzer=True, editor=False)
        reader = desk(Role.ANALYZER, user="anna")
        assert done(act(reader, task, "withdraw"))["state"] == "withdrawn"

    def test_a_task_ends_once(self, house: Storage, desk: MakeClient) -> None:
        """Every later decision is refused."""
        cora = desk(user="cora")
        for first, version in zip(VERBS[:3], ("released-1", "inEffect-1", "order-2"), strict=True):
            task = open_task(house, version)
            state = done(act(cora, task, first))["state"]
            before = fingerprints(house)
            for second in VERBS:
                body = {"assignee": ID["dora"]} if second == "delegate" else {}
                refused(act(cora, task, second, **body), 409, f"The task has already been {state}.")
            assert fingerprints(house) == before

    def test_a_delegated_task_stays_open(self, house: Storage, desk: MakeClient) -> None:
        cora = desk(user="cora")
        states = dict(zip(VERBS, ("accepted", "rejected", "withdrawn", "open"), strict=True))
        versions = ("released-1", "requestToExpire-1", "order-2", "house-1")
        for (second, state), version in zip(states.items(), versions, strict=True):
            task = open_task(house, version)
            done(act(cora, task, "delegate", assignee=ID["dora"]))
            body = {"assignee": ID["ben"]} if second == "delegate" else {}
            assert done(act(cora, task, second, **body))["state"] == state

    def test_a_version_that_has_changed_cannot_be_accepted(self, house: Storage, desk: MakeClient) -> None:
        """Both references and attributes can change while a version is released."""
        anna, ben, cora = desk(user="anna"), desk(user="ben"), desk(user="cora")
        task, other = ask(anna), ask(anna, "inEffect")
        assert anna.update({"id": ID["released"], "related": {"reviewer": [{"id": ID["dora"]}]}}).status_code == 200
        before = fingerprints(house)
        text = "has changed since the task was created; reject or withdraw the task, then request again."
        for caller in (ben, cora):
            refused(act(caller, task, "accept"), 409, f"subProcess {ID['released-1']} {text}")
        assert fingerprints(house) == before
        assert done(act(ben, task, "reject"))["state"] == "rejected"
        assert done(act(ben, ask(anna), "accept"))["state"] == "accepted"
        assert done(act(ben, other, "accept"))["state"] == "accepted"

    def test_a_task_about_a_changed_version_can_be_withdrawn_or_delegated(self, desk: MakeClient) -> None:
        anna, ben, dora = desk(user="anna"), desk(user="ben"), desk(user="dora")
        task = ask(anna)
        anna.update({"id": ID["released"], "attributes": {"processMaturity": {"127": "defined"}}})
        assert done(act(ben, task, "delegate", assignee=ID["dora"]))["assignee"] == wire("dora")
        assert error(act(dora, task, "accept"))[0] == 409
        assert done(act(anna, task, "withdraw"))["state"] == "withdrawn"

    def test_a_newer_version_makes_a_task_obsolete(
        self, house: Storage, desk: MakeClient, clock: SettableClock
    ) -> None:
        anna, ben, cora = desk(user="anna"), desk(user="ben"), desk(user="cora")
        task, other = ask(anna, "order"), ask(anna, "released")
        asked = done(anna.get(f"rest/tasks/{task}"))
        set_task(house, task, stuck_on=clock.moment, stuck_reasons=["overdue"])
        draft = anna.new_version("order")["versionId"]
        released = ben.applied(draft, "InProcessToReleased")
        assert (released["state"], released["attributes"]["version"]) == ("released", {"127": "3.0"})
        assert done(anna.get(f"rest/tasks/{task}")) == {
            **asked,
            "state": "obsolete",
            "element": wire("order", "expired", "order-2"),
            "decidedBy": wire("ben"),
            "decider": label(ben),
            "decidedOn": NOW,
        }
        before = fingerprints(house)
        for verb in ("accept", "reject", "withdraw", "delegate"):
            body = {"assignee": ID["dora"]} if verb == "delegate" else {}
            refused(act(cora, task, verb, **body), 409, "The task is already obsolete.")
        assert fingerprints(house) == before
        assert [each[:3] for each in logged(anna, "order")] == [
            ("request", "released", "released"),
            ("version", "", "inProcess"),
            ("transition", "inProcess", "released"),
            ("succession", "released", "expired"),
        ]
        assert done(anna.get(f"rest/tasks/{other}"))["state"] == "open"
        # A request about the newer version is possible at once.
        assert anna.offered("order") == [WAY["order"]]
