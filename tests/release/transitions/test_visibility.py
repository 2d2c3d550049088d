"""Applying a transition (operation 18; D21, D83 to D86, D89): who sees which version before and after."""

from __future__ import annotations

import pytest

from storage.models import Storage
from tests.release.house import ID, HouseClient, MakeClient, Wire
from tests.release.transition_calls import DETAIL, pointers, refusal, released_draft
from tests.release.transition_table import version_reference

pytestmark = pytest.mark.django_db


# Visibility for readers.


def test_a_viewer_sees_the_released_version_instead_of_the_earlier_one(desk: MakeClient, draft: Wire) -> None:
    vera, ben = desk(user="vera"), desk(user="ben")
    own = draft["versionId"]
    before = vera.element("order")
    assert (before["versionId"], before["state"]) == (ID["order-2"], "released")
    # A viewer learns nothing about the draft or the expired version.
    assert before["related"]["releaseHistory"] == [version_reference("order", "order-2", "released")]
    hidden = "There is no element {} in the view detail of the facet processes."
    refusal(vera.get(f"{DETAIL}/{own}"), 404, "error", "volatile", hidden.format(own))
    ben.applied("order", "InProcessToReleased", "")
    expected = released_draft(draft)
    expected["related"]["releaseHistory"] = [version_reference("order", own, "released")]
    assert vera.element("order") == vera.element(own) == expected
    refusal(vera.get(f"{DETAIL}/{ID['order-2']}"), 404, "error", "volatile", hidden.format(ID["order-2"]))


def shapes_of(desk: HouseClient, name: str) -> list[tuple[str, str]]:
    """Return the elements of a diagram with their names."""
    response = desk.get(f"{DETAIL}/{ID.get(name, name)}/content")
    assert response.status_code == 200, response.content
    return [(each["id"], each["attributes"]["name"]["1033"]) for each in response.json()["elements"]]


def test_elements_of_diagrams_appear_and_disappear_with_them(desk: MakeClient, house: Storage, draft: Wire) -> None:
    vera, ben = desk(user="vera"), desk(user="ben")
    old = [ID[f"order-2-{part}"] for part in ("start", "task", "end")]
    new = [each["id"] for each in draft["content"]]
    names = [f"{part} of order-2" for part in ("start", "task", "end")]

    def seen_by(desk: HouseClient, elements: list[str]) -> list[int]:
        return [desk.get(f"{DETAIL}/{each}").status_code for each in elements]

    assert (seen_by(vera, old), seen_by(vera, new)) == ([200] * 3, [404] * 3)
    assert shapes_of(vera, "order") == list(zip(old, names, strict=True))
    assert vera.get(f"{DETAIL}/{draft['versionId']}/content").status_code == 404
    ben.applied("order", "InProcessToReleased", "")
    assert (seen_by(vera, old), seen_by(vera, new)) == ([404] * 3, [200] * 3)
    assert shapes_of(vera, "order") == shapes_of(vera, draft["versionId"]) == list(zip(new, names, strict=True))
    assert vera.get(f"{DETAIL}/{ID['order-2']}/content").status_code == 404
    assert [pointers(house, each)[1] for each in (*old, *new)] == [None, None, None, *new]
    # Callers who see drafts still see both versions and the earlier diagram.
    assert (seen_by(ben, old), seen_by(ben, new)) == ([200] * 3, [200] * 3)
    assert shapes_of(ben, "order-2") == list(zip(old, names, strict=True))


def test_a_first_release_appears_in_the_lists_of_viewers(desk: MakeClient, house: Storage) -> None:
    vera, ben = desk(user="vera"), desk(user="ben")
    parts = [ID[f"inProcess-{part}"] for part in ("start", "task", "end")]

    def lists() -> tuple[bool, bool, bool]:
        listed = vera.get("rest/facets/processes/views/list/elements").json()["elements"]
        children = vera.element("house")["children"]
        found = vera.get(f"{DETAIL}?$filter=isReleased eq true AND name eq 'inProcess-1'").json()
        return (
            ID["inProcess"] in [each["id"] for each in listed],
            ID["inProcess"] in [each["id"] for each in children],
            found["count"] == 1,
        )

    assert lists() == (False, False, False)
    assert vera.get(f"{DETAIL}/{ID['inProcess']}").status_code == 404
    ben.applied("inProcess", "InProcessToReleased")
    assert lists() == (True, True, True)
    assert shapes_of(vera, "inProcess")[1] == (parts[1], "task of inProcess-1")
    assert [pointers(house, each)[1] for each in parts] == parts


@pytest.mark.parametrize(("name", "key"), [("inProcess", "InProcessToInReview"), ("inReview", "InReviewToInProcess")])
def test_viewers_see_no_steps_within_draft_and_review(desk: MakeClient, house: Storage, name: str, key: str) -> None:
    vera = desk(user="vera")
    desk(user="anna").applied(name, key)
    for each in (name, f"{name}-1", f"{name}-task"):
        assert vera.get(f"{DETAIL}/{ID[each]}").status_code == 404
    assert pointers(house, name) == (ID[f"{name}-1"], None)
    assert pointers(house, f"{name}-task") == (ID[f"{name}-task"], None)


def test_references_name_the_version_that_the_reader_sees(desk: MakeClient, draft: Wire) -> None:
    vera, ben = desk(user="vera"), desk(user="ben")

    def child(desk: HouseClient) -> tuple[str, str]:
        [found] = [each for each in desk.element("house")["children"] if each["id"] == ID["order"]]
        return found["versionId"], found["state"]

    assert (child(vera), child(ben)) == ((ID["order-2"], "released"), (draft["versionId"], "inProcess"))
    ben.applied("order", "InProcessToReleased", "")
    assert child(vera) == child(ben) == (draft["versionId"], "released")
