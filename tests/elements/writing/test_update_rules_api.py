"""Updating elements, operation 5: moves in the tree, permissions, states and concurrent changes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any
from uuid import UUID

import pytest
from django.utils import timezone

from elements.models import Element, ElementChange, ElementVersion, Shape
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.conftest import StorageMaker
from tests.cycles import set_state
from tests.elements.expected_elements import DRAFT
from tests.elements.handbook import ID, wire
from tests.elements.update_desk import RESTS, UNKNOWN, Body, UpdateDesk, at, extended_handbook, history, order, texts
from tests.factories import token_for
from tests.tags import version_tag

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def handbook(filled_storage: StorageMaker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Storage]:
    with extended_handbook(filled_storage, tmp_path_factory.mktemp("handbook")) as storage:
        yield storage


@pytest.fixture
def desk(handbook: Storage, api: ApiClient) -> UpdateDesk:
    return UpdateDesk(handbook, api)


def children(desk: UpdateDesk, name: str) -> list[str]:
    return [each["id"] for each in desk.read(name).get("children", [])]


def test_a_move_makes_it_the_last_child_of_another_parent(desk: UpdateDesk) -> None:
    [below] = desk.update({"id": ID["invoice"], "rootPath": [{"id": ID["order"]}]})
    assert below["rootPath"] == [wire("order-3"), wire("sales-1"), wire("house")]
    assert (children(desk, "sales"), children(desk, "order")) == ([ID["ship"], ID["order"]], [ID["invoice"]])
    [back] = desk.update({"id": ID["invoice"], "rootPath": [{"versionId": ID["sales-1"], "type": "mainProcess"}]})
    assert back["rootPath"] == [wire("sales-1"), wire("house")]
    assert children(desk, "sales") == [ID["ship"], ID["order"], ID["invoice"]]
    [unfiled] = desk.update({"id": ID["invoice"], "rootPath": []})
    assert "rootPath" not in unfiled
    assert children(desk, "sales") == [ID["ship"], ID["order"]]
    places = [ID["sales"], ID["order"], ID["sales"], None]
    expected = [("updated", {"parent": old}, {"parent": new}) for old, new in pairwise(places)]
    assert history(desk, "invoice-1") == expected


def test_an_unchanged_path_changes_nothing(desk: UpdateDesk) -> None:
    before = children(desk, "sales")
    desk.update({"id": ID["invoice"], "rootPath": [wire("sales-1"), wire("house")]}, order(rootPath=[wire("sales-1")]))
    [shown] = desk.update(order(), view="steps")
    assert shown["rootPath"] == [wire("house", view="steps")]
    desk.update(shown, view="steps")
    assert children(desk, "sales") == before
    assert desk.read("order")["rootPath"] == DRAFT["rootPath"]


def test_moves_against_the_tree_are_refused(desk: UpdateDesk) -> None:
    invoice, inside = {"id": ID["invoice"]}, "{} is the element itself or below it; choose another parent"
    under = "elements of type subProcess cannot be placed below elements of type {}; possible parents: mainProcess or subProcess"
    for parent, type in (("house", "processHouse"), ("anna", "user"), ("check-3", "task")):
        desk.refuse(422, [order(rootPath=[{"id": ID[parent]}])], at("rootPath", under.format(type)))
    desk.refuse(422, [order(rootPath=[{"id": UNKNOWN}])], at("rootPath[0]", f"there is no element {UNKNOWN}"))
    desk.refuse(422, [order(rootPath=[{"id": ID["order"]}])], at("rootPath", inside.format(ID["order"])))
    circle = [{**invoice, "rootPath": [{"id": ID["order"]}]}, order(rootPath=[invoice])]
    first = f"elements[0] {ID['invoice']}: rootPath: {inside.format(ID['order'])}."
    desk.refuse(422, circle, first, at("rootPath", inside.format(ID["invoice"]), index=1))
    desk.update(circle[0])
    # Moves are checked together: a cycle after the first move may be resolved by the second.
    swapped = desk.update(order(rootPath=[invoice]), {**invoice, "rootPath": [{"id": ID["sales"]}]})
    assert [each["rootPath"][0]["id"] for each in swapped] == [ID["invoice"], ID["sales"]]
    desk.update({**order(), "rootPath": [{"id": ID["sales"]}]}, {**invoice, "rootPath": [{"id": ID["order"]}]})
    desk.refuse(422, [order(rootPath=[invoice])], at("rootPath", inside.format(ID["invoice"])))
    for path in ([], [invoice]):
        desk.refuse(422, [{"id": ID["check-3"], "rootPath": path}],
                    at("rootPath", "elements of type task have their place in a diagram and cannot be moved", "check-3"))  # fmt: skip
    desk.refuse(409, [{"id": ID["ship"], "rootPath": []}],
                at("", "rootPath cannot be changed in the state inEffect; create a new version", "ship"))  # fmt: skip
    desk.refuse(422, [{"id": ID["customer-view"], "rootPath": [{"id": ID["house"]}]}],
                at("rootPath", "elements of type view cannot be placed below elements of type processHouse; possible parents: nothing", "customer-view"),
                token=desk.architect)  # fmt: skip


@pytest.mark.parametrize("role", [None, Role.VIEWER, Role.ANALYZER, Role.APPROVER])
def test_changing_needs_a_permission(desk: UpdateDesk, role: Role | None) -> None:
    token, status = (token_for(desk.storage, role), 403) if role else (None, 401)
    desk.refuse(status, [{"id": ID["invoice"]}], "This requires the permission EditElement.", token=token)
    new: Body = {"type": "subProcess", "attributes": {"name": {"1033": "New"}}}
    desk.refuse(status, [new], "This requires the permission NewElement.", token=token)
    desk.refuse(status, [new, {"id": ID["invoice"]}], "This requires the permission EditElement.", token=token)
    desk.refuse(status, "{", "This requires the permission EditElement.", token=token)


def test_posting_to_the_address_of_an_element_names_the_right_address(desk: UpdateDesk) -> None:
    response = desk.api.post(
        f"{RESTS}/processes/views/detail/elements/{ID['invoice']}/",
        json.dumps({"elements": [{"id": ID["invoice"]}]}),
        content_type="application/json",
        token=desk.anna,
    )
    message = (
        "This operation only reads and takes no body. To update the element, send it to POST .../elements/, without the"
        " id in the address."
    )
    assert (response.status_code, response.json()) == (
        400,
        {"message": message, "output": "inline", "type": "error", "data": [{"error": message}]},
    )


def test_only_authors_and_architects_change_elements_with_authors(desk: UpdateDesk) -> None:
    named = {"attributes": {"name": {"1033": "By another"}}}
    task, other = {"id": ID["check-3"], **named}, token_for(desk.storage, Role.EDITOR)
    assert desk.update({"id": ID["invoice"], **named}, token=other)[0]["attributes"]["name"] == {"1033": "By another"}
    mine = "only its authors and architects can change it; this requires the permission EditElement"
    desk.refuse(403, [order(**named), task], at("", mine), at("", mine, "check-3", 1), token=other)
    administrator = token_for(desk.storage, Role.ADMINISTRATOR)
    desk.update({"id": ID["ben"], "attributes": {"roleEditor": {"127": True}}}, facet="users", token=administrator)
    ben = token_for(desk.storage, Role.EDITOR, user_id=UUID(ID["ben"]))
    desk.refuse(403, [order()], at("", mine), token=ben)
    desk.update(order(related={"secondaryAuthors": [{"id": ID["ben"]}]}))
    for token in (desk.anna, ben, desk.architect):
        assert len(desk.update(order(), task, token=token)) == 2
    architectural = at(
        "",
        "only architects can change elements of type processHouse; this requires the permission EditElement",
        "house",
    )
    desk.refuse(403, [{"id": ID["house"], **named}], architectural)
    assert (
        desk.update({"id": ID["house"], **named}, token=desk.architect)[0]["attributes"]["name"]["1033"] == "By another"
    )


LATE: Body = {"attributes": {"note": {"1033": "Late"}}, "related": {"watchers": [{"id": ID["crew"]}]}}


@pytest.mark.parametrize("version", ["order-2", "ship-1", "loose-1"])
def test_some_properties_can_be_changed_in_a_published_version(desk: UpdateDesk, version: str) -> None:
    with tenant_scope(desk.storage):
        # An element with versions does not follow the state of a draft that shows it.
        Shape.objects.create(version_id=ID["order-3"], element_id=ID["ship"], position=9)
    [found] = desk.update({"versionId": ID[version], **LATE})
    assert (found["attributes"]["note"], found["related"]["watchers"]) == ({"1033": "Late"}, [wire("crew")])
    more = {
        "attributes": {**LATE["attributes"], "validUntil": {"127": None}},
        "stereotype": "x",
        "related": {"owner": []},
    }
    owner = ["owner"] if version == "order-2" else []
    problems = [at("", f"{name} cannot be changed in the state {found['state']}; create a new version", version)
                for name in (*owner, "stereotype", "validUntil")]  # fmt: skip
    desk.refuse(409, [{"versionId": ID[version], **more}], *problems)


@pytest.mark.parametrize("state", ["inReview", "readyForQa", "readyForRelease", "expired"])
def test_only_drafts_can_be_changed(desk: UpdateDesk, state: str) -> None:
    set_state(desk.storage, state, ID["invoice-1"])
    way_out = "create a new version" if state == "expired" else "send it back first"
    problems = [at("", f"{name} cannot be changed in the state {state}; {way_out}", "invoice-1")
                for name in ("note", "watchers")]  # fmt: skip
    for token in (desk.anna, desk.architect):
        desk.refuse(409, [{"versionId": ID["invoice-1"], **LATE}], *problems, token=token)


def test_elements_of_a_diagram_follow_its_state(desk: UpdateDesk) -> None:
    named = {"attributes": {"name": {"1033": "Look"}}, "related": {"systems": [{"id": ID["old"]}]}}
    assert desk.update({"id": ID["check-3"], **named})[0]["related"]["systems"] == [wire("old-1")]
    problems = [at("", f"{name} cannot be changed in the state released; create a new version", "check-2")
                for name in ("name", "systems")]  # fmt: skip
    desk.refuse(409, [{"id": ID["check-2"], **named}], *problems)
    set_state(desk.storage, "inReview", ID["order-3"])
    desk.refuse(409, [{"id": ID["check-3"], "attributes": {"name": {"1031": "x"}}}],
                at("", "name cannot be changed in the state inReview; send it back first", "check-3"))  # fmt: skip


def test_if_match_refuses_a_stale_version(desk: UpdateDesk) -> None:
    address = f"{RESTS}/processes/views/detail/elements/{ID['order']}"
    first = desk.api.get(address, token=desk.anna)["ETag"]

    def change(text: str, tag: str) -> Any:
        return desk.send({"elements": [texts(scope={"1033": text})]}, headers={"If-Match": tag})

    # Entity tags of all views are valid; they differ in the last part, which is for reading only.
    listed = desk.api.get(address.replace("detail", "list"), token=desk.anna)["ETag"]
    assert (listed != first, version_tag(listed)) == (True, version_tag(first))
    second = change("a", listed)["ETag"]
    assert second == version_tag(desk.api.get(address, token=desk.anna)["ETag"]) != version_tag(first)
    body = {"elements": [texts(scope={"1033": "late"})]}
    stale = "The element has changed since it was read; read it again."
    for tag in (first, f"W/{second}", '"x", "y"', '""'):
        desk.refuse(412, body, stale, headers={"If-Match": tag})
    desk.refuse(412, {"elements": [{"type": "subProcess"}]}, stale, headers={"If-Match": "*"})
    for tag in (second[1:-1], "", '"', '"a" "b"'):
        desk.refuse(
            400,
            body,
            'If-Match: expected * or a list of entity tags in quotes, such as "1a2b.3".',
            headers={"If-Match": tag},
        )
    two = "If-Match: only a request with one element can have this header."
    desk.refuse(400, [order(), {"id": ID["invoice"]}], two, headers={"If-Match": "*"})
    assert [change("b", f'"x" , {second}').status_code, change("c", " * ").status_code] == [200, 200]
    assert "ETag" not in desk.send({"elements": [order(), {"id": ID["invoice"]}]})


def test_elements_of_another_tenant_cannot_be_named(desk: UpdateDesk) -> None:
    with tenant_scope(desk.rival):
        type = Element.objects.get(pk=ID["order"]).type
        foreign = Element.objects.create(type=type, creation_id=UUID(UNKNOWN), pk=UUID(UNKNOWN))
        version = ElementVersion.objects.create(element=foreign, state="inProcess", category="draft", major=0, minor=1,
                                                sort_name="", created_on=timezone.now(), changed_on=timezone.now())  # fmt: skip
        Element.objects.filter(pk=foreign.pk).update(newest=version)
    missing = at("", "there is no such element in the view detail of the facet processes", UNKNOWN)
    desk.refuse(404, [{"id": UNKNOWN, "attributes": {"name": {"1033": "x"}}}], missing)
    desk.refuse(404, [{"versionId": str(version.pk)}], missing.replace(UNKNOWN, str(version.pk)))
    desk.refuse(422, [order(rootPath=[{"id": UNKNOWN}], related={"nextSteps": [{"id": UNKNOWN}]})],
                at("nextSteps[0]", f"there is no element {UNKNOWN}"), at("rootPath[0]", f"there is no element {UNKNOWN}"))  # fmt: skip
    with tenant_scope(desk.rival):
        assert not ElementChange.objects.exists()
