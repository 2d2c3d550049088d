"""Applying a transition (operation 18; D21, D83 to D86, D89): addresses of elements, versions and transitions."""

from __future__ import annotations

from typing import Any

import pytest

from elements.reading.rows import VersionRow, read_versions
from release.lifecycle.transitions import TransitionRequest, apply_transition
from repository_site.core.problems import Conflict, Forbidden, NotFound
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.factories import token_for
from tests.release.house import API, ID, HouseClient, MakeClient, Wire, error, one
from tests.release.stored_contents import contents, undone
from tests.release.transition_calls import DETAIL, UNKNOWN, refusal, state, unreadable, writer_of
from tests.release.transition_table import version_reference

pytestmark = pytest.mark.django_db


# Addresses.


def test_the_case_of_a_transition_does_not_matter(caller: HouseClient) -> None:
    for key in ("inprocesstoinreview", "INPROCESSTOINREVIEW", "iNpROCESStOiNrEVIEW"):
        with undone():
            assert caller.applied("inProcess", key)["state"] == "inReview"
            [step] = caller.steps("inProcess")
            assert step["transitionId"] == "InProcessToInReview"
            refusal(caller.apply("inProcess", key), 409, "error", "dialog",
                    f"InProcessToInReview is not available for subProcess {ID['inProcess-1']} in the state inReview. Available "
                    "transitions: InReviewToInProcess, InReviewToReadyForQA and InReviewToReadyForRelease.")  # fmt: skip


@pytest.mark.parametrize("prefix", ["release", "rest/release"])
def test_a_post_without_a_body_lists_transitions(caller: HouseClient, prefix: str) -> None:
    path = f"{prefix}/{ID['inProcess']}/transitions"
    listed, posted = caller.get(path).json(), caller.post(path).json()
    assert listed["count"] > 0
    assert posted == {"count": listed["count"], "transitions": listed["values"]}


@pytest.mark.parametrize("name", ["inProcess", "inProcess-1"])
def test_elements_and_versions_in_any_case_with_or_without_a_slash(caller: HouseClient, name: str) -> None:
    shouted = ID[name].upper()
    assert caller.offered(shouted) == caller.offered(name)
    found = one(caller.post(f"rest/release/{shouted}/transitions/InProcessToInReview/"))
    assert (found["id"], found["versionId"], found["state"]) == (ID["inProcess"], ID["inProcess-1"], "inReview")


def test_the_id_of_an_element_means_its_newest_version(desk: MakeClient, house: Storage, draft: Wire) -> None:
    """The published version has its own id, and a viewer always gets the published version."""
    anna, ben, vera = desk(user="anna"), desk(user="ben"), desk(user="vera")
    own = draft["versionId"]
    assert anna.offered("order") == anna.offered(own)
    assert anna.offered("order-2") == ["ReleasedToRequestToExpire"]
    refusal(anna.apply("order", "ReleasedToRequestToExpire"), 409, "error", "dialog",
            f"ReleasedToRequestToExpire is not available for subProcess {own} in the state inProcess. Available transitions: "
            "InProcessToInReview, InProcessToReadyForQA and InProcessToReadyForRelease.")  # fmt: skip
    refusal(ben.apply("order-2", "InProcessToReleased"), 409, "error", "dialog",
            f"InProcessToReleased is not available for subProcess {ID['order-2']} in the state released. No transition is available.")  # fmt: skip
    refusal(ben.apply("order-1", "InProcessToReleased"), 409, "error", "dialog",
            f"InProcessToReleased is not available for subProcess {ID['order-1']} in the state expired. No transition is available.")  # fmt: skip
    refusal(vera.apply("order", "InProcessToReleased"), 403, "unauthorized", "volatile",
            f"InProcessToReleased of subProcess {ID['order-2']} requires the permission ApproveElement.")  # fmt: skip
    refusal(vera.apply(own, "InProcessToReleased"), 404, "error", "volatile", f"There is no element {own}.")
    assert one(anna.apply("order-2", "ReleasedToRequestToExpire"))["versionId"] == ID["order-2"]
    assert state(house, own) == "inProcess"


def step_from(desk: HouseClient, stale: VersionRow, key: str, named: str) -> str:
    with tenant_scope(desk.storage):
        return apply_transition(writer_of(desk), stale, TransitionRequest(transition=key), named=named)


def found_by(storage: Storage, name: str) -> VersionRow:
    with tenant_scope(storage):
        return read_versions([ID.get(name, name)])[ID.get(name, name)]


def test_the_version_is_chosen_again_after_the_draft_was_deleted(desk: MakeClient, house: Storage, draft: Wire) -> None:
    """The id of the element then means the published version; the id of the draft is unknown."""
    anna, own, expire = desk(user="anna"), draft["versionId"], "ReleasedToRequestToExpire"
    stale = found_by(house, own)
    assert anna.post(f"{DETAIL}/{own}/delete").status_code == 200
    stored = contents(house)
    with pytest.raises(NotFound) as caught:
        step_from(anna, stale, expire, own)
    assert caught.value.message == f"There is no element {own}."
    with pytest.raises(Conflict) as refused:
        step_from(anna, stale, "InProcessToInReview", ID["order"])
    assert refused.value.message == (
        f"InProcessToInReview is not available for subProcess {ID['order-2']} in the state released. "
        "Available transitions: ReleasedToRequestToExpire."
    )
    assert contents(house) == stored
    assert step_from(anna, stale, expire, ID["order"]) == ID["order-2"]
    [task] = anna.tasks("?requester=me")
    assert task["element"] == version_reference("order", "order-2", "released")


def test_the_version_is_chosen_again_after_a_new_draft(desk: MakeClient, house: Storage) -> None:
    anna, ben = desk(user="anna"), desk(user="ben")
    stale = found_by(house, "order-2")
    own = anna.new_version("order")["versionId"]
    for caller, named in ((ben, ID["order-2"]), (desk(Role.VIEWER), ID["order"])):
        # The id of a version, and of an element for callers who cannot see drafts, keeps its meaning.
        with pytest.raises((Conflict, Forbidden)) as caught:
            step_from(caller, stale, "InProcessToReleased", named)
        assert caught.value.message.partition(": ")[0].count(ID["order-2"]) == 1
    assert step_from(anna, stale, "InProcessToInReview", ID["order"]) == own
    assert (state(house, own), state(house, "order-2")) == ("inReview", "released")


def test_a_deleted_element(desk: MakeClient, house: Storage) -> None:
    cora = desk(user="cora")
    stale = found_by(house, "inProcess-1")
    assert cora.post(f"{DETAIL}/{ID['inProcess']}/delete").status_code == 200
    for name in ("inProcess", "inProcess-1"):
        with pytest.raises(NotFound) as caught:
            step_from(cora, stale, "InProcessToInReview", ID[name])
        assert caught.value.message == f"There is no element {ID[name]}."


@pytest.mark.parametrize(("name", "type"), [("anna", "user"), ("crew", "userGroup"), ("inProcess-task", "task")])
def test_elements_without_versions_have_no_transitions(
    caller: HouseClient, house: Storage, name: str, type: str
) -> None:
    stored = contents(house)
    assert caller.get(f"release/{ID[name]}/transitions").json() == {"count": 0, "values": []}
    assert caller.post(f"rest/release/{ID[name]}/transitions").json() == {"count": 0, "transitions": []}
    for key in ("InProcessToReleased", "Whatever"):
        refusal(caller.apply(name, key), 404, "error", "volatile",
                f"Elements of type {type} have no versions and therefore no transitions.")  # fmt: skip
    assert contents(house) == stored


def test_unknown_ids(caller: HouseClient) -> None:
    missing = f"There is no element {UNKNOWN}."
    for response in (
        caller.get(f"release/{UNKNOWN.upper()}/transitions"),
        caller.post(f"rest/release/{UNKNOWN}/transitions"),
        caller.apply(UNKNOWN, "InProcessToReleased"),
        caller.apply(UNKNOWN, "Whatever"),
    ):
        refusal(response, 404, "error", "volatile", missing)
    for name in ("attic", UNKNOWN[:-1], f"{{{UNKNOWN}}}", UNKNOWN.replace("-", "")):
        unreadable(caller.get(f"release/{name}/transitions"), f"{name!r} is not a GUID.")
        unreadable(caller.apply(name, "InProcessToReleased"), f"{name!r} is not a GUID.")


def test_messages_escape_the_name_of_the_transition(caller: HouseClient) -> None:
    for key in ("x" * 300, "%00", "%0A", "%F0%9F%98%80", "a%20b", "'", '"', "%25", "ſ"):
        response = caller.apply("inProcess", key)
        assert error(response)[:3] == (404, "error", "volatile")
        assert response.json()["message"].startswith("There is no transition ")
        assert response.json()["message"].isprintable()
        assert len(response.json()["message"]) < 600


def test_other_tenants(house: Storage, rival: Storage, api: ApiClient, draft: Wire) -> None:
    """An id that only the other storage has is unknown, and so is its token."""
    own = draft["versionId"]

    def release(address: str, name: str) -> Any:
        path = f"{address}/release/{ID.get(name, name)}/transitions/InProcessToReleased"
        return api.post(path, b"", content_type="application/json", token=token)

    with undone():
        token = token_for(rival, Role.ADMINISTRATOR)
        stored = contents(house)
        listed = api.get(f"/rival/house/_api/release/{own}/transitions", token=token)
        for response in (listed, release("/rival/house/_api", own)):
            refusal(response, 404, "error", "volatile", f"There is no element {own}.")
        unknown = "The token is unknown here, expired or revoked."
        refusal(release(API, own), 401, "unauthorized", "volatile", unknown)
        # An id of both storages means the element of the caller's storage.
        assert one(release("/rival/house/_api", "inProcess"))["attributes"]["name"]["1033"] == "Rival inProcess-1"
        assert contents(house) == stored
    assert state(house, own) == "inProcess"
