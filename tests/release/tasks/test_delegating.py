"""Delegating a task to another approver."""

from __future__ import annotations

import itertools
from typing import Any
from uuid import UUID

import pytest

from release.models import LifecycleEntry
from storage.models import Storage
from storage.tenancy.scope import tenant_scope
from tests.release.house import ID, MakeClient, error
from tests.release.settable_clock import SettableClock
from tests.release.stored_contents import fingerprints, rival_of
from tests.release.task_calls import ANOTHERS, UNKNOWN, WAY, act, ask, done, entry, grant, open_task, refused, wire

pytestmark = pytest.mark.django_db


class TestDelegating:
    def test_delegating_to_another_approver(self, house: Storage, desk: MakeClient, clock: SettableClock) -> None:
        anna, ben, dora = desk(user="anna"), desk(user="ben"), desk(user="dora")
        before = anna.element("released")
        task = ask(anna, comment="Out of date.")
        asked = done(anna.get(f"rest/tasks/{task}"))
        clock.set("2026-07-02T10:00:00+00:00")
        response = act(ben, task, "delegate", assignee=ID["dora"].upper(), comment="You know this better.")
        given = {**asked, "assignee": wire("dora")}
        assert done(response) == given == done(anna.get(f"rest/tasks/{task}"))
        wanted = {
            "transitionId": WAY["released"],
            "comment": "You know this better.",
            "changedOn": "2026-07-02T12:00:00",
            "assignee": wire("dora"),
        }
        assert anna.steps("released")[1:] == [entry(ben, response, task, 2, "delegation", ("released",) * 2, **wanted)]
        assert anna.element("released") == before
        assert (ben.tasks(), [each["id"] for each in dora.tasks()]) == ([], [task])
        refused(act(ben, task, "accept"), 403, ANOTHERS)
        assert done(act(dora, task, "accept"))["decidedBy"] == wire("dora")

    def test_delegating_to_people_who_cannot_decide(self, house: Storage, desk: MakeClient) -> None:
        """Neither the approver nor an administrator can do this."""
        grant(house, "anna", approver=True)
        callers, task = itertools.cycle([desk(user="ben"), desk(user="cora")]), open_task(house)
        before = fingerprints(house)
        for assignee, text in (
            ("eve", f"the user {ID['eve']} is inactive."),
            ("vera", f"the user {ID['vera']} has no role with the permission ApproveElement."),
            ("anna", f"the user {ID['anna']} is the requester (four-eyes principle)."),
            ("crew", f"there is no user {ID['crew']}."),
            ("erp", f"there is no user {ID['erp']}."),
            ("released-1", f"there is no user {ID['released-1']}."),
            (UNKNOWN, f"there is no user {UNKNOWN}."),
        ):
            response = act(next(callers), task, "delegate", assignee=ID.get(assignee, assignee))
            refused(response, 422, f"assignee: {text}")
        assert fingerprints(house) == before

    def test_delegating_to_a_user_of_another_storage(self, house: Storage, desk: MakeClient) -> None:
        """Both storages have the same ids; a user is active in one storage and deleted in the other."""
        rival = rival_of(house)
        grant(rival, "dora", inactive=True)
        grant(rival, "eve", inactive=False)
        ben = desk(user="ben")
        task = open_task(house)
        assert error(act(ben, task, "delegate", assignee=ID["eve"]))[0] == 422
        assert done(act(ben, task, "delegate", assignee=ID["dora"]))["assignee"] == wire("dora")

    def test_delegating_without_an_assignee(self, house: Storage, desk: MakeClient) -> None:
        ben, task = desk(user="ben"), open_task(house)
        before = fingerprints(house)
        wrong: list[Any] = [None, "", "dora", 7, ["x"], {"id": ID["dora"]}, True, ID["dora"][:-1]]
        for value in wrong:
            refused(act(ben, task, "delegate", assignee=value), 400, "assignee: expected the id of a user.")
        refused(act(ben, task, "delegate"), 400, "assignee: expected the id of a user.")
        assert fingerprints(house) == before

    def test_the_log_names_the_new_assignee(self, house: Storage, desk: MakeClient) -> None:
        cora, task = desk(user="cora"), open_task(house)
        for name in ("dora", "ben", "cora"):
            done(act(cora, task, "delegate", assignee=ID[name]))
        assert [each["assignee"] for each in cora.steps("released")] == [wire(name) for name in ("dora", "ben", "cora")]
        with tenant_scope(house):
            given = LifecycleEntry.objects.order_by("number").values_list("assignee_id", flat=True)
            assert list(given) == [UUID(ID[name]) for name in ("dora", "ben", "cora")]
        done(act(cora, task, "reject"))
        assert "assignee" not in cora.steps("released")[-1]
