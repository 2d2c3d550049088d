"""The effects of single transitions: response, stored version and log."""

from __future__ import annotations

import pytest
from django.utils import timezone

from release.models import LifecycleEntry
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.release.house import ID, HouseClient, MakeClient, Wire, one
from tests.release.stored_contents import undone
from tests.release.transition_table import BY_KEY, NOW, TABLE, error_body, version_reference

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timezone, "now", lambda: NOW)


# The specification's table of states.


@pytest.fixture(params=["release", "rest/release"])
def prefix(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def take(desk: HouseClient, prefix: str, state: str, key: str) -> Wire:
    """Apply a transition that the list offers, and check the row of the table."""
    row = BY_KEY[key]
    offered = desk.get(f"{prefix}/{ID[state]}/transitions").json()["values"]
    assert {"transitionId": key, "sourceState": row.source, "targetState": row.target} in offered
    return one(desk.post(f"{prefix}/{ID[state]}/transitions/{key}"))


def check_row(desk: HouseClient, prefix: str, key: str, *, released: bool = False) -> None:
    row = BY_KEY[key]
    after = take(desk, prefix, row.source, key)
    attributes = after["attributes"]
    assert (after["versionId"], after["state"]) == (ID[f"{row.source}-1"], row.target)
    assert attributes["state1"] == {"127": row.target}
    assert attributes["isReleased"] == {"127": released}
    assert attributes["version"] == {"127": "1.0" if released else "0.1"}
    assert desk.element(row.source) == after
    assert desk.offered(row.source) == [each.key for each in TABLE if each.source == row.target]


def test_in_process_by_in_process_to_in_review(desk: MakeClient, prefix: str) -> None:
    check_row(desk(Role.ADMINISTRATOR), prefix, "InProcessToInReview")


def test_in_process_by_in_process_to_ready_for_qa(desk: MakeClient, prefix: str) -> None:
    check_row(desk(Role.ADMINISTRATOR), prefix, "InProcessToReadyForQA")


def test_in_process_by_in_process_to_ready_for_release(desk: MakeClient, prefix: str) -> None:
    check_row(desk(Role.ADMINISTRATOR), prefix, "InProcessToReadyForRelease")


def test_in_process_by_in_process_to_released(desk: MakeClient, prefix: str) -> None:
    check_row(desk(Role.ADMINISTRATOR), prefix, "InProcessToReleased", released=True)


def test_in_process_by_in_process_to_released_qa(desk: MakeClient, prefix: str) -> None:
    check_row(desk(Role.ADMINISTRATOR), prefix, "InProcessToReleasedQA", released=True)


def test_in_process_by_in_process_to_released_external(desk: MakeClient, prefix: str) -> None:
    check_row(desk(Role.ADMINISTRATOR), prefix, "InProcessToReleasedExternal", released=True)


def test_released_by_released_to_request_to_expire(desk: MakeClient, prefix: str) -> None:
    """The response shows the element still released; the task must be accepted first."""
    anna, ben = desk(user="anna"), desk(user="ben")
    before = anna.element("released")
    assert take(anna, prefix, "released", "ReleasedToRequestToExpire") == before
    [task] = ben.tasks()
    assert (task["type"], task["element"]) == (
        "Approve expiry",
        version_reference("released", "released-1", "released"),
    )
    assert task["assignee"]["id"] == ID["ben"]
    # While it is open, the transition is not offered, and applying it is a conflict.
    assert anna.offered("released") == []
    response = anna.post(f"{prefix}/{ID['released']}/transitions/ReleasedToRequestToExpire")
    open_task = f"subProcess {ID['released-1']} has an open task Approve expiry; decide or withdraw it first."
    assert (response.status_code, response.json()) == (409, error_body(409, open_task))
    assert ben.post(f"rest/tasks/{task['id']}/accept").status_code == 200
    # The end is today, so the version expires at once.
    steps = [(each["step"], each.get("fromState"), each["toState"]) for each in anna.steps("released")]
    assert steps == [
        ("request", "released", "released"),
        ("transition", "released", "requestToExpire"),
        ("expiry", "requestToExpire", "expired"),
    ]
    assert anna.element("released")["state"] == "expired"


def test_released_by_createversion(desk: MakeClient, prefix: str) -> None:
    """Earlier versions are expired or released, and the release history of the new version lists them."""
    anna = desk(user="anna")
    new = one(anna.post(f"{prefix}/{ID['order']}/createversion"))
    assert (new["id"], new["state"]) == (ID["order"], "inProcess")
    assert new["related"]["releaseHistory"] == [
        version_reference("order", "order-1", "expired"), version_reference("order", "order-2", "released")
    ]  # fmt: skip
    versions = anna.get(f"rest/facets/processes/views/detail/elements/{ID['order']}/versions").json()
    found = [(each["versionId"], each["state"]) for each in versions["elements"]]
    assert found == [(ID["order-1"], "expired"), (ID["order-2"], "released"), (new["versionId"], "inProcess")]


def test_several_transitions_may_lead_to_one_state(desk: MakeClient, house: Storage) -> None:
    """Rule 2; the log names the transition."""
    ben = desk(user="ben")
    ways = [row.key for row in TABLE if (row.source, row.target) == ("inProcess", "released")]
    assert len(ways) == 3
    for key in ways:
        with undone():
            ben.applied("inProcess", key)
            with tenant_scope(house):
                entry = LifecycleEntry.objects.get(element_id=ID["inProcess"])
                assert (entry.transition, entry.from_state, entry.to_state) == (key, "inProcess", "released")
