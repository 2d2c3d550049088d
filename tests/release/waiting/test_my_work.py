"""My work: tasks for me, my requests, my drafts, and what I own that ends soon."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from elements.models import ElementVersion
from facets.blueprint.cycles import Transition
from storage.models import StaffAccount, Storage, StorageMembership
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.factories import StaffAccountFactory
from tests.release.house import ID, MakeClient
from tests.release.settable_clock import SettableClock
from tests.release.stored_contents import fresh
from tests.release.task_calls import appoint, change_cycle, change_state
from tests.release.task_pages import OFFICE, member, take, text_of, told

pytestmark = pytest.mark.django_db
WORK = f"{OFFICE}my-work/"


def sections(client: Client) -> dict[str, str]:
    """Return the text of the page by the heading of each section."""
    response = client.get(WORK)
    assert response.status_code == 200
    names = ["Tasks for me", "My requests", "My elements in process", "What I own that ends within 60 days"]
    text = text_of(response)
    parts = re.split("|".join(map(re.escape, names)), text[text.rindex("My work") :])
    return dict(zip(names, (each.strip() for each in parts[1:]), strict=True))


def submit(desk: MakeClient) -> Any:
    desk(user="anna").applied("inProcess", "InProcessToInReview")
    (task,) = desk(user="ben").tasks(f"?element={ID['inProcess']}")
    return task["id"]


def test_the_reviewer_accepts_in_place(house: Storage, desk: MakeClient) -> None:
    appoint(house, "inProcess-1", reviewer=["ben"])
    ben, anna = member(house, Role.APPROVER, user="ben"), member(house, Role.EDITOR, user="anna")
    assert sections(ben)["Tasks for me"] == "No task waits for you."
    task = submit(desk)
    shown = sections(ben)["Tasks for me"]
    for text in ("Review", "inProcess-1", "due in 14 days", "Reject"):
        assert text in shown
    mine = sections(anna)
    assert mine["Tasks for me"] == "No task waits for you."
    for text in ("inProcess-1", "Ben"):
        assert text in mine["My requests"]
    response = take(ben, "accept", task, comment="Fine.", back=WORK)
    assert response["Location"] == WORK
    assert "1 task was accepted." in told(ben, response)
    assert "Accepted" in sections(anna)["My requests"]


def test_a_release_asks_first_and_keeps_the_comment(house: Storage, desk: MakeClient) -> None:
    desk(user="anna").applied("inProcess", "InProcessToReadyForRelease")
    ben = member(house, Role.APPROVER, user="ben")
    (task,) = desk(user="ben").tasks(f"?element={ID['inProcess']}")
    page = ben.get(WORK).content.decode()
    assert 'name="ask" value="true"' in page
    effect = "Accepting releases this version: all readers see it, it can no longer be changed"
    assert effect in text_of(ben.get(WORK))
    asked = take(ben, "accept", task["id"], ask="true", comment="Well done.", back=WORK)
    assert (asked.status_code, effect in text_of(asked), ">Well done.</textarea>" in re.sub(r"\s*\n", "", asked.content.decode())) == (200, True, True)  # fmt: skip
    assert desk(user="ben").element("inProcess")["state"] == "readyForRelease"
    assert take(ben, "accept", task["id"], comment="Well done.", back=WORK)["Location"] == WORK
    assert desk(user="ben").element("inProcess")["state"] == "released"


@pytest.mark.long
def test_a_request_that_neither_releases_nor_ends_is_decided_in_place(house: Storage, desk: MakeClient) -> None:
    way = Transition("TakeEffect", "released", "inEffect", ((1033, "Take effect"),), "Approve effect")
    change_cycle(house, way)
    desk(user="anna").applied("released", "TakeEffect")
    ben = member(house, Role.APPROVER, user="ben")
    assert "Accepting leads to the state “In effect”." in sections(ben)["Tasks for me"]
    assert 'name="ask"' not in ben.get(WORK).content.decode()
    # The task shows a transition that no longer exists, so nothing is promised.
    change_cycle(house, replace(way, target="requestToExpire"))
    assert "Accepting" not in sections(ben)["Tasks for me"]


def test_a_release_says_how_many_approvals_it_needs(house: Storage, desk: MakeClient) -> None:
    change_state(house, "readyForRelease", approvals=0)
    appoint(house, "inProcess-1", owner=["ben", "dora"])
    desk(user="anna").applied("inProcess", "InProcessToReadyForRelease")
    assert (
        "version expires. 2 approvals are needed." in sections(member(house, Role.APPROVER, user="ben"))["Tasks for me"]
    )


def test_only_rejecting_and_acting_for_others_need_a_comment(house: Storage, desk: MakeClient) -> None:
    appoint(house, "inProcess-1", reviewer=["ben", "dora"])
    desk(user="anna").applied("inProcess", "InProcessToInReview")
    tasks = {
        each["assignee"]["id"]: each["id"]
        for each in desk(user="ben").tasks(f"?assignee=all&element={ID['inProcess']}")
    }
    ben, dora, cora = (
        member(house, role, user=name)
        for name, role in (("ben", Role.APPROVER), ("dora", Role.APPROVER), ("cora", Role.ADMINISTRATOR))
    )
    needed = "Enter a reason; it is recorded in the lifecycle log."
    for client, step, task in ((ben, "reject", "ben"), (cora, "accept", "ben")):
        assert needed in text_of(take(client, step, tasks[ID[task]], back=WORK))
    assert take(ben, "accept", tasks[ID["ben"]], back=WORK)["Location"] == WORK
    appoint(house, "dora", deputies=["cora"])
    assert "Waiting for Dora" in sections(cora)["Tasks for me"]
    assert "Waiting for" not in sections(dora)["Tasks for me"]


def test_what_a_group_owns_ends_soon_for_its_members(house: Storage, clock: SettableClock) -> None:
    appoint(house, "released-1", owner=["crew", "ben"])
    with tenant_scope(house):
        ElementVersion.objects.filter(id=ID["released-1"]).update(valid_until="2026-08-29T00:00:00Z")
    for name in ("ben", "dora"):
        shown = sections(member(house, Role.APPROVER, user=name))["What I own that ends within 60 days"]
        assert shown.count("released-1") == 1


def test_my_drafts_and_what_ends_soon(house: Storage, clock: SettableClock) -> None:
    anna, ben = (member(house, role, user=name) for name, role in (("anna", Role.EDITOR), ("ben", Role.APPROVER)))
    names = re.findall(r"\w+-1", sections(anna)["My elements in process"])
    assert sorted({*names}) == ["inProcess-1", "inReview-1", "readyForQa-1", "readyForRelease-1"]
    assert sections(ben)["My elements in process"] == "You have no elements in process."
    assert "Nothing that you own ends soon." in sections(ben)["What I own that ends within 60 days"]
    with tenant_scope(house):
        ElementVersion.objects.filter(id=ID["released-1"]).update(valid_until="2026-08-29T00:00:00Z")
        ElementVersion.objects.filter(id=ID["order-2"]).update(valid_until="2026-08-31T00:00:00Z")
    assert "released-1 Sub process Released" in sections(ben)["What I own that ends within 60 days"]
    assert "order-2" not in sections(ben)["What I own that ends within 60 days"]
    assert "released-1" not in sections(anna)["What I own that ends within 60 days"]


def test_an_account_without_a_user(house: Storage, desk: MakeClient) -> None:
    """It sees the tasks of every approver, and its own requests by the name of the account."""
    submit(desk)
    client = member(house, Role.APPROVER)
    assert "Your account is not linked to a user of this storage" in text_of(client.get(WORK))
    assert "inProcess-1" in sections(client)["Tasks for me"]
    editor = member(house, Role.EDITOR)
    assert sections(editor)["Tasks for me"] == "No task waits for you."


def test_requests_of_an_account_stay_its_own_when_it_gets_a_user(house: Storage) -> None:
    client = member(house, Role.ARCHITECT, Role.APPROVER, username="new")
    with tenant_scope(house):
        revision = ElementVersion.objects.get(id=ID["inProcess-1"]).revision
    step = {"transition": "InProcessToInReview", "revision": str(revision)}
    assert client.post(f"{OFFICE}elements/element/{ID['inProcess']}/transition/", step).status_code == 302
    StorageMembership.objects.filter(account__username="new").update(user_id=ID["dora"])
    found = sections(client)
    assert "inProcess-1" in found["My requests"]
    assert found["Tasks for me"] == "No task waits for you."


def test_it_is_the_first_page_after_signing_in(house: Storage) -> None:
    account: StaffAccount = StaffAccountFactory.create(username="ida")
    account.set_password("Perfectly-fine-42")
    account.save()
    member_of = {"account": account, "storage": fresh(house), "roles": [Role.EDITOR.value]}
    house.memberships.create(**{name: value for name, value in member_of.items() if name != "storage"})
    client, form = Client(), {"username": "ida", "password": "Perfectly-fine-42"}
    assert client.post(f"{OFFICE}login/?next={OFFICE}", form)["Location"] == WORK
    client.logout()
    assert client.post(f"{OFFICE}login/?next={OFFICE}release/task/", form)["Location"] == f"{OFFICE}release/task/"


def test_statements_do_not_depend_on_the_number_of_tasks(house: Storage, desk: MakeClient) -> None:
    ben = member(house, Role.APPROVER, user="ben")

    def statements() -> int:
        with CaptureQueriesContext(connection) as found:
            ben.get(WORK)
        return len(found)

    submit(desk)
    desk(Role.ARCHITECT).applied("inReview", "InReviewToReadyForRelease")
    statements()
    before = statements()
    desk(Role.ARCHITECT).applied("readyForQa", "ReadyForQAToReadyForRelease")
    assert statements() == before
