"""Tasks in release cycles other than the standard one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from facets.blueprint.cycles import Transition
from release.schedule.lifecycle_jobs import run_lifecycle
from storage.models import Storage
from tests.cycles import set_state
from tests.release.house import ID, NO_END, MakeClient, error
from tests.release.settable_clock import SettableClock
from tests.release.stored_contents import fingerprints, fresh
from tests.release.task_calls import (
    LATER,
    LATER_INSTANT,
    NOW,
    TODAY,
    TYPE,
    WAY,
    act,
    ask,
    change_cycle,
    done,
    logged,
    pointers,
    refused,
    wire,
)

pytestmark = pytest.mark.django_db


class TestOtherCycles:
    """Release cycles that differ from the standard one or have changed since the request."""

    END = Transition("End", "released", "expired", ((1033, "End"),), "Approve end", ends_version=True)
    EFFECT = Transition("TakeEffect", "released", "inEffect", ((1033, "Take effect"),), "Approve effect")

    @pytest.mark.long
    def test_a_task_whose_transition_retires_the_version(
        self, house: Storage, desk: MakeClient, clock: SettableClock
    ) -> None:
        """`released` ends at once, `order` at a future time."""
        change_cycle(house, self.END)
        anna, ben, vera = desk(user="anna"), desk(user="ben"), desk(user="vera")
        anna.applied("released", "End", "")
        anna.applied("order", "End", "", {"validUntil": LATER})
        tasks = anna.tasks("?assignee=all")
        assert {(each["type"], each["targetState"]) for each in tasks} == {("Approve end", "expired")}
        # One open task of any type at a time.
        assert anna.offered("released") == []
        assert error(anna.apply("released", WAY["released"]))[0] == 409
        states = {each["element"]["id"]: done(act(ben, each["id"], "accept"))["element"]["state"] for each in tasks}
        assert states == {ID["released"]: "expired", ID["order"]: "released"}
        assert anna.element("released")["attributes"]["validUntil"] == {"127": TODAY}
        assert pointers(house, "released", "released-task") == [(ID["released-1"], None), (ID["released-task"], None)]
        element = vera.element("order")
        assert (element["state"], element["attributes"]["validUntil"]) == ("released", {"127": LATER})
        clock.set(LATER_INSTANT)
        assert run_lifecycle(fresh(house)).expired == [f"{ID['order-2']}, version 2.0 of {ID['order']}"]
        request = ("request", "released", "released")
        assert [each[:3] for each in logged(anna, "released")] == [request, ("transition", "released", "expired")]
        assert [each[:3] for each in logged(anna, "order")] == [
            request,
            ("transition", "released", "released"),
            ("expiry", "released", "expired"),
        ]

    WAY_THEN = Transition(WAY["released"], "released", "requestToExpire", ((1033, "X"),), TYPE, ends_version=True)

    @pytest.mark.parametrize(
        ("ways", "without"),
        [
            ([replace(WAY_THEN, target="expired")], ""),
            pytest.param([], "requestToExpire", marks=pytest.mark.long),
            pytest.param([replace(WAY_THEN, source="inEffect")], "", marks=pytest.mark.long),
            # The transition no longer needs approval.
            pytest.param([replace(WAY_THEN, task="", ends_version=False)], "", marks=pytest.mark.long),
            pytest.param([], WAY["released"], marks=pytest.mark.long),
        ],
        ids=["another target", "without the state", "another source", "without a task", "without the transition"],
    )
    def test_a_requested_transition_that_was_removed(
        self, house: Storage, desk: MakeClient, ways: list[Transition], without: str
    ) -> None:
        """The transition was removed or changed: the task can only be rejected or withdrawn."""
        anna, ben, cora = desk(user="anna"), desk(user="ben"), desk(user="cora")
        task, other = ask(anna), ask(anna, "order", validUntil=LATER)
        set_state(house, "released", ID["requestToExpire-1"])
        change_cycle(house, *ways, without=without)
        before = fingerprints(house)
        text = f"The release cycle no longer has the transition {WAY['released']}; reject or withdraw the task."
        for caller, each in ((ben, task), (cora, task), (ben, other)):
            refused(act(caller, each, "accept"), 409, text)
        assert fingerprints(house) == before
        assert done(act(ben, task, "reject"))["state"] == "rejected"
        assert done(act(anna, other, "withdraw"))["state"] == "withdrawn"
        for name in ("released", "order"):
            element = anna.element(name)
            assert (element["state"], element["attributes"]["validUntil"]) == ("released", {"127": NO_END})

    @pytest.mark.long
    def test_a_changed_cycle_that_still_has_the_transition(self, house: Storage, desk: MakeClient) -> None:
        """Other changes of the cycle do not matter while the transition has the same states."""
        anna, ben = desk(user="anna"), desk(user="ben")
        task = ask(anna)
        change_cycle(house, without=WAY["released"])
        assert error(act(ben, task, "accept"))[0] == 409
        change_cycle(house, self.EFFECT, replace(self.WAY_THEN, task="Another"))
        accepted = done(act(ben, task, "accept"))
        assert (accepted["type"], accepted["element"]["state"]) == (TYPE, "expired")

    @pytest.mark.long
    def test_a_task_for_another_published_state_keeps_the_validity(self, house: Storage, desk: MakeClient) -> None:
        """Accepting it does what was asked for: the version is in effect, and its validity is what it was."""
        change_cycle(house, self.EFFECT)
        anna, ben, vera = desk(user="anna"), desk(user="ben"), desk(user="vera")
        anna.applied("released", "TakeEffect", "")
        (task,) = anna.tasks("?assignee=all")
        assert ("validUntil" in task, task["type"], task["targetState"]) == (False, "Approve effect", "inEffect")
        done(act(ben, task["id"], "accept"))
        element = vera.element("released")
        assert (element["state"], element["attributes"]["validUntil"]) == ("inEffect", {"127": NO_END})
        assert pointers(house, "released") == [(ID["released-1"], ID["released-1"])]
        assert [each[:3] for each in logged(anna, "released")] == [
            ("request", "released", "released"),
            ("transition", "released", "inEffect"),
        ]
        assert run_lifecycle(fresh(house)).is_empty

    @pytest.mark.long
    def test_a_task_for_a_retired_state_ends_the_version_today(self, house: Storage, desk: MakeClient) -> None:
        """The request has no end of its own, and a retired version is no longer valid."""
        change_cycle(house, replace(self.END, ends_version=False))
        anna, ben = desk(user="anna"), desk(user="ben")
        text = "validUntil: only a transition that ends a version accepts this, not End."
        refused(anna.apply("released", "End", "", {"validUntil": LATER}), 422, text)
        anna.applied("released", "End", "")
        (task,) = anna.tasks("?assignee=all")
        assert done(act(ben, task["id"], "accept"))["element"]["state"] == "expired"
        assert anna.element("released")["attributes"]["validUntil"] == {"127": TODAY}
        assert pointers(house, "released") == [(ID["released-1"], None)]
        assert [each[0] for each in logged(anna, "released")] == ["request", "transition"]

    def test_taking_effect_makes_a_task_obsolete(self, house: Storage, desk: MakeClient) -> None:
        """The request starts from a state that the version has left."""
        anna, cora = desk(user="anna"), desk(user="cora")
        task, other = ask(anna), ask(anna, "inEffect")
        change_cycle(house, takes_effect="inEffect")
        outcome = run_lifecycle(fresh(house))
        assert outcome.overtaken == [f"{task}, {TYPE}"]
        found = done(anna.get(f"rest/tasks/{task}"))
        assert (found["state"], found["element"]) == ("obsolete", wire("released", "inEffect"))
        assert (found["decider"], "decidedBy" in found, found["decidedOn"]) == ("run_lifecycle", False, NOW)
        refused(act(cora, task, "accept"), 409, "The task is already obsolete.")
        assert done(anna.get(f"rest/tasks/{other}"))["state"] == "open"
        assert anna.offered("released") == [WAY["inEffect"]]
        assert anna.apply("released", WAY["inEffect"]).status_code == 200
