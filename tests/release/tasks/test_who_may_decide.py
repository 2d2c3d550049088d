"""Permissions to decide a task: four eyes, assignees, groups and administrators (D90)."""

from __future__ import annotations

from typing import Any

import pytest

from storage.models import Storage, StorageMembership
from storage.options import Role
from tests.api_client import ApiClient
from tests.factories import StaffAccountFactory
from tests.release.house import API, ID, MakeClient, error
from tests.release.stored_contents import fingerprints
from tests.release.task_calls import (
    ANOTHERS,
    LIFECYCLE,
    NOT_YOURS,
    WAY,
    act,
    appoint,
    ask,
    done,
    grant,
    open_task,
    refused,
    set_task,
    wire,
)

pytestmark = pytest.mark.django_db
FOUR_EYES = "You cannot decide your own request (four-eyes principle); only an administrator can."


class TestWhoMayDecide:
    DECIDE = (("accept", "Accepting"), ("reject", "Rejecting"), ("delegate", "Delegating"))

    def test_requesters_cannot_decide_their_own_request(self, house: Storage, desk: MakeClient) -> None:
        """They cannot delegate it either, but they can withdraw it."""
        appoint(house, "released-1", owner=[], author=[])
        needs = f"a task of subProcess {ID['released-1']} requires the permission ApproveElement."
        for roles in ((Role.EDITOR,), (Role.EDITOR, Role.APPROVER), (Role.ARCHITECT,)):
            caller = desk(*roles)
            task = ask(caller)
            before = fingerprints(house)
            for verb, name in self.DECIDE:
                body = {"assignee": ID["dora"]} if verb == "delegate" else {}
                text = f"{name} {needs}" if roles == (Role.EDITOR,) else FOUR_EYES
                refused(act(caller, task, verb, **body), 403, text)
            assert (caller.tasks(), fingerprints(house)) == ([], before)
            assert [each["id"] for each in caller.tasks("?requester=me")] == [task]
            assert done(act(caller, task, "withdraw"))["state"] == "withdrawn"

    def test_administrators_can_decide_their_own_request(self, house: Storage, desk: MakeClient) -> None:
        """Their list therefore shows their own requests."""
        appoint(house, "released-1", owner=[])
        cora = desk(user="cora")
        for verb, state in (("reject", "rejected"), ("withdraw", "withdrawn"), ("accept", "accepted")):
            task = ask(cora)
            assert [each["id"] for each in cora.tasks()] == [task]
            assert done(act(cora, task, verb))["state"] == state
        assert cora.element("released")["state"] == "expired"
        task = ask(cora, "order")
        assert done(act(cora, task, "delegate", assignee=ID["dora"]))["assignee"] == wire("dora")

    def test_another_token_of_the_requester_cannot_decide(self, house: Storage, desk: MakeClient) -> None:
        grant(house, "anna", approver=True)
        appoint(house, "released-1", owner=[])
        asking = desk(user="anna")
        accepting = desk(Role.APPROVER, user="anna")
        task = ask(asking)
        # Not even if she is the assignee, which a request never causes.
        for assignee in (None, ID["anna"]):
            set_task(house, task, assignee_id=assignee)
            before = fingerprints(house)
            for verb, _ in self.DECIDE:
                body = {"assignee": ID["dora"]} if verb == "delegate" else {}
                refused(act(accepting, task, verb, **body), 403, FOUR_EYES)
            assert (accepting.tasks(), fingerprints(house)) == ([], before)
        assert done(act(accepting, task, "withdraw"))["state"] == "withdrawn"

    def test_staff_requesters_are_known_by_their_label(self, house: Storage, desk: MakeClient) -> None:
        """Staff accounts of the back office have no element."""
        appoint(house, "released-1", owner=[], author=[])
        staff = []
        for _ in range(2):
            account = StaffAccountFactory.create()
            StorageMembership.objects.create(account=account, storage=house, roles=["editor", "approver"])
            staff.append(ApiClient())
            staff[-1].force_login(account)
        asking, other = staff
        send: dict[str, Any] = {"data": b"", "content_type": "application/json"}
        assert asking.post(f"{API}/release/{ID['released']}/transitions/{WAY['released']}", **send).status_code == 200
        (task,) = asking.get(f"{API}/rest/tasks?requester=me").json()["values"]
        assert (task["requester"][:6], "requestedBy" in task) == ("staff:", False)
        assert other.get(f"{API}/rest/tasks?requester=me").json() == {"count": 0, "values": []}
        assert other.get(f"{API}/rest/tasks").json()["values"] == [task]
        assert asking.get(f"{API}/rest/tasks").json() == {"count": 0, "values": []}
        address = f"{API}/rest/tasks/{task['id']}"
        refused(asking.post(f"{address}/accept", **send), 403, FOUR_EYES)
        refused(other.post(f"{address}/withdraw", **send), 403, NOT_YOURS)
        accepted = done(other.post(f"{address}/accept", **send))
        assert (accepted["state"], "decidedBy" in accepted) == ("accepted", False)
        assert accepted["decider"] != accepted["requester"]
        assert "changedBy" not in desk(user="anna").element("released")["related"]

    def test_other_approvers_cannot_decide(self, house: Storage, desk: MakeClient) -> None:
        anna, dora, vera = desk(user="anna"), desk(user="dora"), desk(user="vera")
        task = open_task(house)
        needs = f"of subProcess {ID['released-1']} requires the permission ApproveElement."
        others = [desk(Role.ANALYZER), desk(Role.EDITOR), desk(Role.APPROVER), desk(Role.ARCHITECT)]
        before = fingerprints(house)
        for verb, name in (("accept", "Accepting"), ("reject", "Rejecting"), ("delegate", "Delegating")):
            body = {"assignee": ID["dora"]} if verb == "delegate" else {}
            refused(act(anna, task, verb, **body), 403, f"{name} a task {needs}")
            refused(act(dora, task, verb, **body), 403, ANOTHERS)
            refused(act(vera, task, verb, **body), 403, LIFECYCLE)
        for caller, text in zip(others, [f"Accepting a task {needs}"] * 2 + [ANOTHERS] * 2, strict=True):
            refused(act(caller, task, "accept"), 403, text)
        assert fingerprints(house) == before

    def test_administrators_can_decide_for_every_assignee(self, house: Storage, desk: MakeClient) -> None:
        cora = desk(user="cora")
        rejected = done(act(cora, open_task(house), "reject", comment="On behalf."))
        assert (rejected["assignee"], rejected["decidedBy"]) == (wire("ben"), wire("cora"))
        task = open_task(house)
        assert done(act(cora, task, "delegate", assignee=ID["dora"]))["assignee"] == wire("dora")
        accepted = done(act(cora, task, "accept"))
        assert (accepted["assignee"], accepted["decidedBy"]) == (wire("dora"), wire("cora"))

    def test_any_approver_can_decide_a_task_for_everybody(self, house: Storage, desk: MakeClient) -> None:
        for caller in (desk(user="dora"), desk(Role.APPROVER), desk(Role.ARCHITECT)):
            task = open_task(house, assignee=None)
            assert task in [each["id"] for each in caller.tasks()]
            assert done(act(caller, task, "reject"))["state"] == "rejected"

    def test_members_can_decide_a_task_of_their_group(self, house: Storage, desk: MakeClient) -> None:
        grant(house, "vera", approver=True)
        ben, dora, vera = desk(user="ben"), desk(user="dora"), desk(Role.APPROVER, user="vera")
        for member in (ben, dora):
            task = open_task(house, assignee="crew")
            assert [each["id"] for each in member.tasks()] == [task]
            assert vera.tasks() == []
            refused(act(vera, task, "accept"), 403, ANOTHERS)
            assert done(act(member, task, "reject"))["decidedBy"] == wire("ben" if member is ben else "dora")
        task = open_task(house, assignee="crew")
        # After a member delegates the task outside the group, it no longer waits for the group.
        assert done(act(ben, task, "delegate", assignee=ID["vera"]))["assignee"] == wire("vera")
        refused(act(ben, task, "accept"), 403, ANOTHERS)
        assert done(act(vera, task, "accept"))["state"] == "accepted"

    def test_a_member_cannot_accept_their_own_request(self, house: Storage, desk: MakeClient) -> None:
        grant(house, "ben", editor=True)
        appoint(house, "released-1", owner=["crew"], author=[])
        ben, dora = desk(Role.EDITOR, Role.APPROVER, user="ben"), desk(user="dora")
        task = ask(ben)
        refused(act(ben, task, "accept"), 403, FOUR_EYES)
        assert (ben.tasks(), [each["id"] for each in dora.tasks()]) == ([], [task])
        assert done(act(dora, task, "accept"))["state"] == "accepted"

    def test_assignees_without_the_role_or_inactive_cannot_decide(self, house: Storage, desk: MakeClient) -> None:
        ben, task = desk(user="ben"), open_task(house)
        grant(house, "ben", approver=False, analyzer=True)
        analyst = desk(Role.ANALYZER, Role.APPROVER, user="ben")
        assert error(act(analyst, task, "accept"))[0] == 403
        grant(house, "ben", approver=True, inactive=True)
        assert error(act(ben, task, "accept"))[0] == 401
