"""Applying a transition (operation 18; D21, D83 to D86, D89): steps within draft and review, and what can be edited then."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from storage.models import Storage
from tests.release.house import ID, HouseClient, MakeClient, error, one, user
from tests.release.settable_clock import SettableClock
from tests.release.stored_contents import contents
from tests.release.transition_calls import DETAIL, NIGHT, pointers, refusal, version
from tests.release.transition_table import user_reference
from tests.tags import Unlike

pytestmark = pytest.mark.django_db


# Editing before and after.


def scope(desk: HouseClient, name: str, text: str) -> Any:
    return desk.update({"id": ID[name], "attributes": {"scope": {"1033": text}}})


def test_a_version_in_review_cannot_be_edited_until_it_is_sent_back(desk: MakeClient, house: Storage) -> None:
    anna, ben, cora = desk(user="anna"), desk(user="ben"), desk(user="cora")
    assert one(scope(anna, "inProcess", "first"))["attributes"]["scope"] == {"1033": "first"}
    anna.applied("inProcess", "InProcessToInReview")
    stored = contents(house)
    locked = "{}: {} cannot be changed in the state inReview; send it back first."
    shape = {"values": [{"shapeInfo": {"index": 0}, "element": {"type": "task", "attributes": {}}}]}
    for caller in (anna, cora):
        response = scope(caller, "inProcess", "second")
        refusal(response, 409, "error", "dialog", locked.format(f"elements[0] {ID['inProcess']}", "scope"))
        response = caller.update({"id": ID["inProcess-task"], "attributes": {"name": {"1033": "Other"}}})
        refusal(response, 409, "error", "dialog", locked.format(f"elements[0] {ID['inProcess-task']}", "name"))
        response = caller.post(f"rest/facets/processes/views/diagram/elements/{ID['inProcess']}/content", shape)
        refusal(response, 409, "error", "dialog", locked.format(ID["inProcess-1"], "the diagram"))
        response = caller.post(f"{DETAIL}/{ID['inProcess']}/delete")
        reason = f"{ID['inProcess-1']}: it is in the state inReview; only a draft can be deleted."
        refusal(response, 409, "error", "dialog", reason)
    # The state is not a writable field.
    assert error(anna.update({"id": ID["inProcess"], "state": "inProcess"}))[0] == 409
    assert contents(house) == stored
    ben.applied("inProcess", "InReviewToInProcess", "", {"comment": "Please say who."})
    assert one(scope(anna, "inProcess", "second"))["attributes"]["scope"] == {"1033": "second"}
    assert one(anna.update({"id": ID["inProcess-task"], "attributes": {"name": {"1033": "Other"}}}))
    told = [(each["transitionId"], each["caller"], each.get("comment")) for each in anna.steps("inProcess")]
    assert [(key, comment) for key, _, comment in told] == [
        ("InProcessToInReview", None), ("InReviewToInProcess", "Please say who.")
    ]  # fmt: skip
    assert told[0][1] != told[1][1]
    steps = anna.steps("inProcess")
    assert [each["number"] for each in steps] == [1, 2]
    assert steps == anna.steps("inProcess", "?$orderBy=time") == anna.steps("inProcess", "?$orderBy=time%20asc")
    assert steps[::-1] == anna.steps("inProcess", "?$orderBy=time%20desc")
    assert steps[:1] == anna.steps("inProcess", "?$orderBy=time%20desc&$page=2&$pageSize=1")


def test_a_released_version_cannot_be_edited(desk: MakeClient, house: Storage) -> None:
    """Except for properties that are editable in released versions."""
    anna = desk(user="anna")
    desk(user="ben").applied("inProcess", "InProcessToReleased")
    text = f"elements[0] {ID['inProcess']}: scope cannot be changed in the state released; create a new version."
    refusal(scope(anna, "inProcess", "late"), 409, "error", "dialog", text)
    assert error(anna.update({"id": ID["inProcess-task"], "attributes": {"name": {"1033": "Other"}}}))[0] == 409
    found = one(anna.update({"id": ID["inProcess"], "related": {"reviewer": [user("dora")]}}))
    assert (found["state"], found["related"]["reviewer"]) == ("released", [user_reference("dora")])
    assert pointers(house, "inProcess") == (ID["inProcess-1"], ID["inProcess-1"])


def test_steps_within_draft_and_review_change_the_state_and_nothing_else(
    desk: MakeClient, house: Storage, clock: SettableClock
) -> None:
    anna, dora = desk(user="anna"), desk(user="dora")
    before = version(house, "inProcess-1")
    clock.moment = NIGHT
    response = anna.apply("inProcess", "InProcessToReadyForQA")
    assert response.status_code == 200
    after = version(house, "inProcess-1")
    assert after == before | {
        "state": "readyForQa", "category": "review", "changed_on": NIGHT, "changed_by_id": UUID(ID["anna"]),
        "revision": Unlike(before["revision"]),
    }  # fmt: skip
    [change] = anna.get(f"{DETAIL}/{ID['inProcess']}/history").json()["values"]
    assert (change["action"], change["before"], change["after"], change["requestId"]) == (
        "transitioned", {"state": "inProcess"}, {"state": "readyForQa"}, response["X-Request-ID"]
    )  # fmt: skip
    # An approver sends it back: the state and the author of the change are new.
    dora.applied("inProcess", "ReadyForQAToInProcess", "")
    assert version(house, "inProcess-1") == after | {
        "state": "inProcess", "category": "draft", "changed_by_id": UUID(ID["dora"]), "revision": Unlike(after["revision"])
    }  # fmt: skip


def test_a_request_does_not_change_the_version(caller: HouseClient, house: Storage) -> None:
    """The task waits, and the change history has no entry."""
    before = version(house, "released-1")
    response = caller.apply("released", "ReleasedToRequestToExpire")
    assert response["ETag"] == f'"{ID["released-1"]}.{before["revision"]}"'
    assert version(house, "released-1") == before
    assert caller.get(f"{DETAIL}/{ID['released']}/history").json() == {"count": 0, "values": []}
    assert [each["step"] for each in caller.steps("released")] == ["request"]


def test_the_request_id_of_the_client_is_logged(caller: HouseClient) -> None:
    address = f"release/{ID['inProcess']}/transitions/InProcessToInReview"
    assert caller.post(address, **{"X-Request-ID": "trace-42"})["X-Request-ID"] == "trace-42"
    [step] = caller.steps("inProcess")
    assert step["requestId"] == "trace-42"
