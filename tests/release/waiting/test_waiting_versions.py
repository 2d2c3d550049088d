"""Versions that wait in a state of review (D355): who gets a task, approvals, rejection, deputies, due dates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from release.messages.deciders import Deciders
from release.models import Task
from release.schedule.lifecycle_jobs import run_lifecycle
from storage.backup.restoring import restore_storage
from storage.backup.writing import back_up_storage
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.release.house import ID, HouseClient, MakeClient, Wire
from tests.release.settable_clock import SettableClock
from tests.release.stored_contents import fresh
from tests.release.task_calls import ANOTHERS, act, appoint, change_state, done, grant, label, logged, refused, wire
from tests.release.waiting.waiting_tasks import submit, tasks_of, with_approvals
from tests.scale import first_quick

pytestmark = pytest.mark.django_db
DUE = "2026-07-15T12:00:00"
CHANGED = "The release cycle has changed since the task was created; reject or withdraw the task."


def state_of(desk: HouseClient, name: str = "inProcess") -> str:
    state: str = desk.element(name)["state"]
    return state


def stuck(storage: Storage, task: str) -> Any:
    """Return the reasons that the scheduled jobs find."""
    run_lifecycle(fresh(storage))
    with tenant_scope(storage):
        return Task.objects.get(id=task).stuck_reasons


class TestWhoGetsATask:
    def test_the_reviewer_gets_the_whole_task(self, house: Storage, desk: MakeClient) -> None:
        anna, ben = desk(user="anna"), desk(user="ben")
        appoint(house, "inProcess-1", reviewer=["ben"])
        submit(anna)
        (task,) = ben.tasks("?assignee=me")
        assert task == {
            "id": tasks_of(ben)["ben"],
            "type": "Review",
            "state": "open",
            "element": wire("inProcess", "inReview"),
            "transitionId": "InReviewToReadyForRelease",
            "sourceState": "inReview",
            "targetState": "readyForRelease",
            "requestedOn": "2026-07-01T12:00:00",
            "requester": label(anna),
            "isStuck": False,
            "requestedBy": wire("anna"),
            "assignee": wire("ben"),
            "dueOn": DUE,
        }
        assert desk(user="dora").tasks() == []

    @pytest.mark.parametrize(
        ("transition", "people", "expected", "type"),
        [
            ("InProcessToInReview", {"reviewer": ["ben", "dora"]}, ["ben", "dora"], "Review"),
            ("InProcessToInReview", {"reviewer": ["anna", "dora"]}, ["dora"], "Review"),
            ("InProcessToInReview", {"reviewer": ["anna"]}, [""], "Review"),
            ("InProcessToInReview", {}, [""], "Review"),
            ("InProcessToInReview", {"reviewer": ["crew"]}, ["crew"], "Review"),
            ("InProcessToReadyForQA", {"qualityManager": ["dora"]}, ["dora"], "Quality assurance"),
            ("InProcessToReadyForRelease", {"owner": ["dora"]}, ["dora"], "Approve release"),
        ],
    )
    def test_assignees(
        self,
        house: Storage,
        desk: MakeClient,
        transition: str,
        people: dict[str, list[str]],
        expected: list[str],
        type: str,
    ) -> None:
        """The requester never is one. Without another one, every approver can decide."""
        anna = desk(user="anna")
        appoint(house, "inProcess-1", **people)
        submit(anna, transition)
        assert sorted(tasks_of(anna)) == expected
        assert {each["type"] for each in anna.tasks(f"?assignee=all&element={ID['inProcess']}")} == {type}

    def test_imported_versions_get_their_tasks_by_the_next_run(self, house: Storage, desk: MakeClient) -> None:
        cora = desk(user="cora")
        waiting = ["inReview", "readyForQa", "readyForRelease"]
        assert [tasks_of(cora, name) for name in waiting] == [{}, {}, {}]
        planned = run_lifecycle(fresh(house), dry_run=True)
        assert tasks_of(cora, "inReview") == {}
        run = run_lifecycle(fresh(house))
        assert planned.opened == run.opened == [f"{ID[f'{name}-1']}, version 0.1 of {ID[name]}" for name in waiting]
        assert [list(tasks_of(cora, name)) for name in waiting] == [[""], [""], ["ben"]]
        assert run_lifecycle(fresh(house)).is_empty


@pytest.mark.long
def test_open_tasks_are_in_a_backup(house: Storage, desk: MakeClient, tmp_path: Path) -> None:
    """A restored version waits for the same people, and the scheduled jobs open no other tasks for it."""
    anna, ben = desk(user="anna"), desk(user="ben")
    appoint(house, "inProcess-1", reviewer=["ben", "dora"])
    submit(anna)
    done(act(ben, tasks_of(anna)["ben"], "accept"))
    run_lifecycle(fresh(house))
    back_up_storage(house, tmp_path / "backup")
    copy = restore_storage(tmp_path / "backup", ("acme", "copy")).storage
    assert run_lifecycle(fresh(copy)).opened == []
    found = []
    for storage in (house, copy):
        with tenant_scope(storage):
            rows = Task.objects.order_by("id").values()
            found.append([{name: value for name, value in row.items() if name != "storage_id"} for row in rows])
    assert found[0] == found[1]
    assert {"open", "accepted"} <= {row["state"] for row in found[1]}


class TestAccepting:
    def test_every_reviewer_accepts_then_the_owner_releases(self, house: Storage, desk: MakeClient) -> None:
        anna, ben, dora = desk(user="anna"), desk(user="ben"), desk(user="dora")
        appoint(house, "inProcess-1", reviewer=["ben", "dora"], owner=["ben"])
        submit(anna)
        tasks = tasks_of(anna)
        refused(act(dora, tasks["ben"], "accept"), 403, ANOTHERS)
        first = done(act(ben, tasks["ben"], "accept", comment="Fine."))
        assert (first["state"], first["approvals"], state_of(anna)) == ("accepted", 2, "inReview")
        assert done(act(dora, tasks["dora"], "accept"))["state"] == "accepted"
        assert state_of(anna) == "readyForRelease"
        (release,) = ben.tasks()
        assert (release["type"], list(tasks_of(anna))) == ("Approve release", ["ben"])
        assert done(act(ben, release["id"], "accept"))["state"] == "accepted"
        assert state_of(anna) == "released"
        assert logged(anna, "inProcess") == [
            ("transition", "inProcess", "inReview", label(anna), ""),
            ("approval", "inReview", "inReview", label(ben), "Fine."),
            ("transition", "inReview", "readyForRelease", label(dora), ""),
            ("transition", "readyForRelease", "released", label(ben), ""),
        ]
        assert [each.get("taskId") for each in anna.steps("inProcess")] == [
            None, tasks["ben"], tasks["dora"], release["id"]
        ]  # fmt: skip

    def test_one_of_several_is_enough_if_the_cycle_says_so(self, house: Storage, desk: MakeClient) -> None:
        with_approvals(house, 1)
        anna = desk(user="anna")
        appoint(house, "inProcess-1", reviewer=["ben", "dora"])
        submit(anna)
        done(act(desk(user="ben"), tasks_of(anna)["ben"], "accept"))
        assert state_of(anna) == "readyForRelease"
        assert {each["state"] for each in anna.tasks("?assignee=all&state=accepted,obsolete&type=Review")} == {
            "accepted", "obsolete"
        }  # fmt: skip

    def test_several_approvals_come_from_different_people(self, house: Storage, desk: MakeClient) -> None:
        with_approvals(house, 2)
        anna, ben, dora = desk(user="anna"), desk(user="ben"), desk(user="dora")
        submit(anna)
        first, second = (each["id"] for each in ben.tasks(f"?element={ID['inProcess']}"))
        done(act(ben, first, "accept"))
        text = "You have already accepted; the next approval must come from somebody else."
        refused(act(ben, second, "accept"), 409, text)
        about = f"?element={ID['inProcess']}"
        assert [ben.tasks(f"{about}{more}") for more in ("", "&assignee=me")] == [[], []]
        assert [each["id"] for each in ben.tasks(f"{about}&state=accepted")] == [first]
        assert [[each["id"] for each in other.tasks(about)] for other in (dora, desk(user="cora"))] == [[second]] * 2
        done(act(dora, second, "accept"))
        assert state_of(anna) == "readyForRelease"

    def test_rules_warn_as_in_a_transition(self, house: Storage, desk: MakeClient) -> None:
        anna, ben = desk(user="anna"), desk(user="ben")
        appoint(house, "inProcess-1", owner=[])
        submit(anna, "InProcessToReadyForRelease")
        (task,) = ben.tasks()
        response = act(ben, task["id"], "accept")
        body = response.json()
        assert (response.status_code, body["type"]) == (422, "warning")
        assert body["message"].endswith("To apply the transition anyway, send ignoreWarnings=true.")
        assert state_of(anna) == "readyForRelease"
        assert done(ben.post(f"rest/tasks/{task['id']}/accept?ignoreWarnings=true"))["state"] == "accepted"
        assert state_of(anna) == "released"
        assert anna.steps("inProcess")[-1]["ignoredWarnings"] == [each["error"] for each in body["data"]]

    def test_applying_the_transition_directly_closes_the_tasks(self, house: Storage, desk: MakeClient) -> None:
        anna, cora = desk(user="anna"), desk(user="cora")
        appoint(house, "inProcess-1", reviewer=["ben", "dora"])
        submit(anna)
        assert "InReviewToReadyForRelease" in cora.offered("inProcess")
        cora.applied("inProcess", "InReviewToReadyForRelease")
        assert sorted(tasks_of(cora, state="obsolete")) == ["ben", "dora"]
        refused(
            act(desk(user="ben"), tasks_of(cora, state="obsolete")["ben"], "accept"),
            409,
            "The task is already obsolete.",
        )


class TestSendingBack:
    @pytest.mark.parametrize(
        ("person", "verb", "step", "state"),
        first_quick([("ben", "reject", "rejection", "rejected"), ("anna", "withdraw", "withdrawal", "withdrawn")]),
    )
    def test_a_rejected_version_can_be_edited_again(
        self, house: Storage, desk: MakeClient, person: str, verb: str, step: str, state: str
    ) -> None:
        anna, decider = desk(user="anna"), desk(user=person)
        appoint(house, "inProcess-1", reviewer=["ben", "dora"])
        submit(anna)
        task = tasks_of(anna)["ben"]
        assert done(act(decider, task, verb, comment="Not yet."))["state"] == state
        assert state_of(anna) == "inProcess"
        assert logged(anna, "inProcess")[-1] == (step, "inReview", "inProcess", label(decider), "Not yet.")
        assert anna.steps("inProcess")[-1]["transitionId"] == "InReviewToInProcess"
        assert (tasks_of(anna), list(tasks_of(anna, state="obsolete"))) == ({}, ["dora"])
        assert anna.update({"id": ID["inProcess"], "attributes": {"purp": {"1033": "New"}}}).status_code == 200
        submit(anna)
        assert sorted(tasks_of(anna)) == ["ben", "dora"]

    @pytest.mark.parametrize(
        ("person", "verb", "step", "state"),
        first_quick([("ben", "reject", "rejection", "rejected"), ("anna", "withdraw", "withdrawal", "withdrawn")]),
    )
    def test_a_state_that_has_lost_its_task(
        self, house: Storage, desk: MakeClient, person: str, verb: str, step: str, state: str
    ) -> None:
        """Rejecting and withdrawing stay possible (D91). The version stays, since its state no longer names a way back."""
        anna, ben, decider = desk(user="anna"), desk(user="ben"), desk(user=person)
        appoint(house, "inProcess-1", reviewer=["ben", "dora"])
        submit(anna)
        task = tasks_of(anna)["ben"]
        change_state(house, "inReview", task="")
        refused(act(ben, task, "accept"), 409, CHANGED)
        assert (state_of(anna), sorted(tasks_of(anna))) == ("inReview", ["ben", "dora"])
        assert done(act(decider, task, verb, comment="Late."))["state"] == state
        assert logged(anna, "inProcess")[-1] == (step, "inReview", "inReview", label(decider), "Late.")
        assert (state_of(anna), tasks_of(anna), list(tasks_of(anna, state="obsolete"))) == ("inReview", {}, ["dora"])
        assert run_lifecycle(fresh(house)).opened != [f"{ID['inProcess-1']}, version 0.1 of {ID['inProcess']}"]

    @pytest.mark.long
    def test_a_task_never_takes_another_transition_than_it_shows(self, house: Storage, desk: MakeClient) -> None:
        anna, ben = desk(user="anna"), desk(user="ben")
        appoint(house, "inProcess-1", reviewer=["ben"])
        submit(anna)
        change_state(house, "inReview", accept="InReviewToReadyForQA")
        task = tasks_of(anna)["ben"]
        refused(act(ben, task, "accept"), 409, CHANGED)
        assert done(act(ben, task, "reject"))["state"] == "rejected"
        submit(anna)
        assert done(act(ben, tasks_of(anna)["ben"], "accept"))["targetState"] == "readyForQa"
        assert state_of(anna) == "readyForQa"


def deciders(house: Storage, task: str) -> list[str]:
    with tenant_scope(house):
        found = Task.objects.get(id=task)
        return Deciders(house, [found]).of(found)


class TestPeople:
    def test_a_deputy_decides_on_behalf_of_the_assignee(self, house: Storage, desk: MakeClient) -> None:
        anna, dora = desk(user="anna"), desk(user="dora")
        appoint(house, "inProcess-1", reviewer=["ben"])
        submit(anna)
        task = tasks_of(anna)["ben"]
        refused(act(dora, task, "accept"), 403, ANOTHERS)
        assert dora.tasks() == []
        appoint(house, "ben", deputies=["dora", "anna"])
        assert [each["id"] for each in dora.tasks()] == [task]
        assert anna.tasks() == []
        done(act(dora, task, "accept"))
        last: Wire = anna.steps("inProcess")[-1]
        assert (last["caller"], last["assignee"], last["toState"]) == (label(dora), wire("ben"), "readyForRelease")

    def test_a_task_cannot_go_to_a_person_who_has_one(self, house: Storage, desk: MakeClient) -> None:
        anna, ben = desk(user="anna"), desk(user="ben")
        appoint(house, "inProcess-1", reviewer=["ben", "dora"])
        submit(anna)
        text = f"assignee: the user {ID['dora']} already has an open task for this version."
        tasks = tasks_of(anna)
        refused(act(ben, tasks["ben"], "delegate", assignee=ID["dora"]), 422, text)
        assert done(act(ben, tasks["ben"], "delegate", assignee=ID["ben"]))["assignee"] == wire("ben")
        done(act(desk(user="dora"), tasks["dora"], "accept"))
        text = f"assignee: the user {ID['dora']} has already accepted this version."
        refused(act(ben, tasks["ben"], "delegate", assignee=ID["dora"]), 422, text)
        assert done(act(ben, tasks["ben"], "delegate", assignee=ID["cora"]))["assignee"] == wire("cora")

    def test_deputies_do_not_pass_tasks_on(self, house: Storage, desk: MakeClient) -> None:
        """Neither a chain nor a cycle of deputies reaches further than one person."""
        anna, cora = desk(user="anna"), desk(user="cora")
        grant(house, "vera", approver=True)
        vera = desk(Role.APPROVER, user="vera")
        appoint(house, "inProcess-1", reviewer=["ben"])
        appoint(house, "ben", deputies=["dora"])
        appoint(house, "dora", deputies=["vera", "ben"])
        appoint(house, "vera", deputies=["dora", "vera"])
        submit(anna)
        task = tasks_of(anna)["ben"]
        assert [[each["id"] for each in desk.tasks()] for desk in (desk(user="dora"), vera)] == [[task], []]
        refused(act(vera, task, "accept"), 403, ANOTHERS)
        done(act(desk(user="dora"), task, "accept"))
        assert state_of(cora) == "readyForRelease"

    def test_a_deputy_keeps_a_task_from_being_stuck(self, house: Storage, desk: MakeClient) -> None:
        anna = desk(user="anna")
        appoint(house, "inProcess-1", reviewer=["eve"])
        submit(anna)
        task = tasks_of(anna)["eve"]
        assert stuck(house, task) == ["approverInactive"]
        appoint(house, "eve", deputies=["vera", "anna"])
        assert stuck(house, task) == ["approverInactive"]
        appoint(house, "eve", deputies=["dora"])
        assert stuck(house, task) == []

    def test_more_approvals_than_approvers_are_stuck(self, house: Storage, desk: MakeClient) -> None:
        with_approvals(house, 2)
        grant(house, "dora", approver=False)
        grant(house, "cora", administrator=False)
        anna, ben = desk(user="anna"), desk(user="ben")
        submit(anna)
        first, second = (each["id"] for each in ben.tasks(f"?element={ID['inProcess']}"))
        assert stuck(house, second) == []
        done(act(ben, first, "accept"))
        assert stuck(house, second) == ["approverMissing"]
        grant(house, "dora", approver=True)
        assert stuck(house, second) == []

    def test_who_has_accepted_is_not_told_of_the_other_task(self, house: Storage, desk: MakeClient) -> None:
        with_approvals(house, 2)
        anna, ben = desk(user="anna"), desk(user="ben")
        submit(anna)
        first, second = (each["id"] for each in ben.tasks(f"?element={ID['inProcess']}"))
        told = [f"user:{ID[name]}" for name in ("ben", "cora", "dora")]
        assert sorted(deciders(house, second)) == sorted(told)
        done(act(ben, first, "accept"))
        assert sorted(deciders(house, second)) == sorted(told[1:])

    def test_a_task_is_overdue_after_the_days_of_its_state(
        self, house: Storage, desk: MakeClient, clock: SettableClock
    ) -> None:
        anna = desk(user="anna")
        appoint(house, "inProcess-1", reviewer=["ben"])
        submit(anna)
        task = tasks_of(anna)["ben"]
        clock.set("2026-07-15T10:00:00+00:00")
        assert stuck(house, task) == []
        clock.set("2026-07-15T10:01:00+00:00")
        assert stuck(house, task) == ["overdue"]
