"""Creating elements, operation 5 without an id (D15, D71): whole responses, stored rows, and errors."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest

from elements.models import Element, ElementChange, ElementVersion
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.conftest import StorageMaker
from tests.elements.expected_elements import in_order
from tests.elements.handbook import AUTHOR_NOTE, BASE, FACETS, HTML, ID, NO_END, TYPE_NAMES, wire
from tests.elements.update_desk import RESTS, UNKNOWN, Body, UpdateDesk, extended_handbook, fingerprint
from tests.factories import token_for

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def handbook(filled_storage: StorageMaker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Storage]:
    with extended_handbook(filled_storage, tmp_path_factory.mktemp("handbook")) as storage:
        yield storage


@pytest.fixture
def desk(handbook: Storage, api: ApiClient) -> UpdateDesk:
    return UpdateDesk(handbook, api)


def new(type: str, english: str = "New", **more: Any) -> Body:
    return {"type": type, "attributes": {"name": {"1033": english}, **more.pop("attributes", {})}, **more}


def reference(element: Body, view: str = "detail") -> Body:
    """Return the reference that other elements have to it."""
    keys = ("facetName", "id", "versionId", "creationId", "type", "state", "stereotype")
    found = {key: element[key] for key in keys if key in element}
    address = f"{FACETS}/{found['facetName']}/views/{view}/elements/{found.get('versionId', found['id'])}"
    return {**found, "expandUri": address}


def draft(found: Body, type: str, attributes: Body, related: Body, facet: str = "processes") -> Body:
    """Return a new version of Anna, with the id and time that the server chose."""
    pages = {lcid: f"{BASE}/{lcid}/{facet}/{found['versionId']}" for lcid in ("1031", "1033")}
    moment = found["attributes"]["createdOn"]
    given = {
        "authorNote": AUTHOR_NOTE, "changedOn": moment, "createdOn": moment, "gotoUrl": pages, "isReleased": {"127": False},
        "state1": {"127": "inProcess"}, "validUntil": NO_END, "version": {"127": "0.1"}, **attributes,
    }  # fmt: skip
    people = {name: [wire("anna")] for name in ("author", "changedBy", "createdBy")}
    return {
        "facetName": facet, "id": found["id"], "versionId": found["versionId"], "type": type, "state": "inProcess",
        "displayNames": TYPE_NAMES[type], "attributes": dict(sorted(given.items())), "related": dict(sorted((people | related).items())),
    }  # fmt: skip


def created(desk: UpdateDesk, element: str) -> list[tuple[Any, Any]]:
    with tenant_scope(desk.storage):
        rows = ElementChange.objects.filter(element_id=element, action="created")
        return [(row.before, row.after) for row in rows]


def test_a_child_is_a_draft_of_its_author(desk: UpdateDesk) -> None:
    rival = fingerprint(desk.rival)
    attributes = {"name": {"1031": "Neu", "1033": "New"}, "description": {"1033": "<p>x</p>"}, "cost": {"127": 1}}
    [found] = desk.update(
        {"type": "subProcess", "attributes": attributes, "related": {"systems": [{"id": ID["erp"]}]},
         "rootPath": [{"id": ID["sales"]}, {"id": ID["house"]}], "state": "inProcess", "facetName": "processes"}
    )  # fmt: skip
    stored = attributes | {"description": {"1033": f"{HTML}<p>x</p>"}}
    expected = draft(found, "subProcess", stored, {"systems": [wire("erp-2")]})
    assert in_order(found) == in_order({**expected, "rootPath": [wire("sales-1"), wire("house")]})
    assert len({found["id"], found["versionId"]} | set(ID.values())) == len(ID) + 2
    siblings = [each["id"] for each in desk.read("sales")["children"]]
    assert siblings == [ID["ship"], ID["invoice"], ID["order"], found["id"]]
    values = {"name[1031]": "Neu", "name[1033]": "New", "description[1033]": f"{HTML}<p>x</p>", "cost[127]": 1}
    assert created(desk, found["id"]) == [
        ({"attributes": dict.fromkeys(values), "related": {"systems": [], "author": []}, "parent": None},
         {"attributes": values, "related": {"systems": [ID["erp"]], "author": [ID["anna"]]}, "parent": ID["sales"]})
    ]  # fmt: skip
    # Nothing is published.
    address = f"{RESTS}/processes/views/detail/elements/{found['id']}"
    assert desk.api.get(address, token=token_for(desk.storage)).status_code == 404
    assert desk.api.get(address, token=desk.anna).status_code == 200
    assert fingerprint(desk.rival) == rival


def test_a_root_shows_in_its_tree(desk: UpdateDesk) -> None:
    [found] = desk.update(new("view", "Another view"), view="tree", token=desk.architect)
    assert in_order(found) == in_order(
        {
            "facetName": "processes", "id": found["id"], "creationId": found["id"], "type": "view",
            "displayNames": TYPE_NAMES["view"], "attributes": {"name": {"1033": "Another view"}, "state1": {"127": "show"}},
        }
    )  # fmt: skip
    roots = desk.api.get(f"{RESTS}/processes/views/tree/elements", token=token_for(desk.storage)).json()["elements"]
    assert [each["id"] for each in roots] == [found["id"], ID["customer-view"], ID["house"]]
    with tenant_scope(desk.storage):
        row = Element.objects.get(pk=found["id"])
        assert (row.parent_id, row.newest_id, row.published_id, row.creation_id) == (None, row.pk, row.pk, row.pk)
        assert ElementVersion.objects.get(pk=row.pk).valid_until is None


@pytest.mark.parametrize("place", [{}, {"rootPath": []}, {"rootPath": None}])
def test_an_element_without_parent_is_unfiled(desk: UpdateDesk, place: Body) -> None:
    [found] = desk.update(new("subProcess", **place))
    assert found == draft(found, "subProcess", {"name": {"1033": "New"}}, {})
    listed = desk.api.get(f"{RESTS}/processes/views/list/elements", token=desk.anna).json()["elements"]
    assert found["id"] in {each["id"] for each in listed}
    roots = desk.api.get(f"{RESTS}/processes/views/tree/elements", token=desk.anna).json()["elements"]
    assert {each["id"] for each in roots} == {ID["customer-view"], ID["house"]}


def test_allowed_and_refused_fields(desk: UpdateDesk) -> None:
    said = {
        "validUntil": {"127": "2030-01-01T00:00:00"},
        "createdOn": {"127": "2000-01-01T00:00:00"},
        "version": {"127": "7.7"},
    }
    people = {"author": [{"id": ID["ben"]}], "createdBy": [{"id": ID["ben"]}], "relBy": [{"id": ID["ben"]}]}
    [found] = desk.update(new("subProcess", attributes=said, related=people, stereotype="core", creationId=UNKNOWN))
    values = {"name": {"1033": "New"}, "validUntil": said["validUntil"], "stereotype": {"127": "core"}}
    expected = draft(found, "subProcess", values, {"author": [wire("ben")]})
    assert found == expected | {"stereotype": "core"}
    # Anna is no longer the author.
    place = f"elements[0] {found['id']}"
    desk.refuse(403, [{"id": found["id"]}],
                f"{place}: only its authors and architects can change it; this requires the permission EditElement.")  # fmt: skip


def test_a_token_is_the_author_of_its_elements(desk: UpdateDesk) -> None:
    token = token_for(desk.storage, Role.EDITOR)
    [found] = desk.update(new("mainProcess", rootPath=[{"id": ID["house"]}]), token=token)
    [author] = found["related"]["author"]
    assert (author["type"], author["facetName"]) == ("authToken", "automation")
    assert found["related"]["createdBy"] == found["related"]["changedBy"] == [author]
    assert len(desk.update({"id": found["id"]}, token=token)) == 1


@pytest.mark.parametrize(
    ("status", "element", "problem"),
    [
        (422, {"attributes": {}}, ": a new element needs a type; the view list has mainProcess and subProcess."),
        (422, new("nothing"), ": the view list has no type nothing; it has mainProcess and subProcess."),
        (422, new("processHouse"), ": the view list has no type processHouse; it has mainProcess and subProcess."),
        (422, new("system"), ": the view list has no type system; it has mainProcess and subProcess."),
        (422, new("mainProcess", facetName="it"), ": elements of type mainProcess are in the facet processes."),
        (409, new("mainProcess", state="released"), ": a new mainProcess starts in the state inProcess; leave out state."),
        (422, new("mainProcess", rootPath=[{"id": ID["sales"]}]),
         ": rootPath: elements of type mainProcess cannot be placed below elements of type mainProcess; possible parents: processHouse."),
        (422, new("mainProcess", rootPath=[{"id": UNKNOWN}]), f": rootPath[0]: there is no element {UNKNOWN}."),
        (422, new("mainProcess", rootPath=[{}]), ": rootPath[0]: expected the id of an element."),
        (422, new("mainProcess", attributes={"nam": {}}),
         ": nam: the type mainProcess has no such attribute; similar: name."),
        (422, new("mainProcess", attributes={"name": {"1033": 5}}), ": name[1033]: must be text."),
    ],
)  # fmt: skip
def test_invalid_new_elements_are_refused(desk: UpdateDesk, status: int, element: Body, problem: str) -> None:
    desk.refuse(status, [element], f"elements[0]{problem}", view="list")


def test_elements_of_diagrams_are_created_by_drawing(desk: UpdateDesk) -> None:
    text = "elements[0]: elements of type task are created by drawing them: post them to the content of a diagram."
    desk.refuse(422, [new("task", rootPath=[{"id": ID["order"]}])], text)
    desk.refuse(
        409,
        [new("userGroup", state="inProcess")],
        "elements[0]: elements of type userGroup have no states; leave out state.",
        facet="users",
    )


def test_making_needs_the_permission(desk: UpdateDesk) -> None:
    house, step = new("processHouse"), new("mainProcess", rootPath=[{"id": ID["house"]}])
    desk.refuse(
        403, [step, house], "elements[1]: creating an element of type processHouse requires the permission NewElement."
    )
    for role in (Role.VIEWER, Role.ANALYZER, Role.APPROVER):
        assert desk.send({"elements": [step]}, token=token_for(desk.storage, role)).status_code == 403
    assert [each["type"] for each in desk.update(house, step, token=desk.architect)] == ["processHouse", "mainProcess"]


def test_several_are_made_and_changed_at_once(desk: UpdateDesk) -> None:
    below = {"rootPath": [{"id": ID["sales"]}]}
    change = {"id": ID["order"], "attributes": {"scope": {"1033": "x"}}}
    found = desk.update(
        new("subProcess", "B", **below), change, new("subProcess", "A", **below), new("subProcess", "C")
    )
    assert [each["attributes"]["name"]["1033"] for each in found] == ["B", "Handle every order", "A", "C"]
    children = [each["id"] for each in desk.read("sales")["children"]]
    assert children == [ID["ship"], ID["invoice"], ID["order"], found[0]["id"], found[2]["id"]]
    assert len({each["attributes"]["changedOn"]["127"] for each in found}) == 1
    moments = {datetime.fromisoformat(each["attributes"]["createdOn"]["127"]) for each in found}
    assert len(moments) == 2
    wrong = new("subProcess", attributes={"count": {"127": "many"}})
    desk.refuse(422, [new("subProcess"), wrong], "elements[1]: count[127]: must be a whole number of up to 64 bits.")


# References that create their target.


def test_a_reference_makes_its_target(desk: UpdateDesk) -> None:
    system = new("system", "Made", stereotype="application", attributes={"validFrom": {"127": "2026-01-01T00:00:00"}})
    tools = [{"id": ID["crm"]}, system, {"id": ID["erp"]}]
    [found] = desk.update({"id": ID["order"], "related": {"tools": tools, "watchers": [new("userGroup", "Team")]}})
    crm, made, erp = found["related"]["tools"]
    assert [crm, erp] == [wire("crm-1"), wire("erp-2")]
    target = desk.read(made["versionId"], facet="it")
    expected = draft(target, "system", {"name": {"1033": "Made"}, "stereotype": {"127": "application"},
                                        "validFrom": {"127": "2026-01-01T00:00:00"}}, {}, "it")  # fmt: skip
    assert target == expected | {"stereotype": "application"}
    assert made == reference(target)
    [team] = found["related"]["watchers"]
    assert desk.read(team["id"], facet="users") == {
        "facetName": "users", "id": team["id"], "creationId": team["id"], "type": "userGroup",
        "displayNames": TYPE_NAMES["userGroup"], "attributes": {"name": {"1033": "Team"}},
    }  # fmt: skip
    assert len(created(desk, made["id"])) == len(created(desk, team["id"])) == 1
    # Posted back, the reference names the created element and creates nothing.
    before = desk.api.get(f"{RESTS}/it/views/list/elements", token=desk.anna).json()["count"]
    [again] = desk.update({"id": ID["order"], "related": found["related"]})
    assert again["related"] == found["related"]
    assert desk.api.get(f"{RESTS}/it/views/list/elements", token=desk.anna).json()["count"] == before
    # A new element can create its targets.
    [both] = desk.update(new("subProcess", related={"tools": [new("system", "Own")]}))
    assert [each["type"] for each in both["related"]["tools"]] == ["system"]


@pytest.mark.parametrize(
    ("status", "related", "problems"),
    [
        (422, {"tools": [{"id": ID["erp"]}, new("system", attributes={"name": {"127": "x", "1033": 5}, "nme": {}})]},
         ["tools[1]: name[127]: this culture is not allowed here; use 1031 or 1033.",
          "tools[1]: name[1033]: must be text.",
          "tools[1]: nme: the type system has no such attribute; similar: name."]),
        (422, {"tools": [new("user")]}, ["tools[0]: expected an id, or the type of a new element: a type of the facet it."]),
        (422, {"tools": [{"attributes": {}}]}, ["tools[0]: expected an id, or the type of a new element: a type of the facet it."]),
        (422, {"tools": [{"type": "system"}]}, ["tools[0]: a new element needs attributes, such as {\"name\": {\"1033\": \"Order parts\"}}."]),
        (422, {"tools": [new("system", related={"owner": [{"id": ID["ben"]}]})]},
         ["tools[0]: related: is not allowed for a new element in a reference; create the element in a separate update."]),
        (422, {"watchers": [new("system")]},
         ["watchers[0]: expected an id, or the type of a new element: user or userGroup."]),
        (422, {"watchers": [new("user"), new("user"), {"id": ID["ben"]}]}, ["watchers: 3 references; at most 2 are allowed."]),
        (422, {"systems": [new("system")]}, ["systems[0]: expected the id of an existing element; this context cannot create elements."]),
        (422, {"nextSteps": [new("task")]}, ["nextSteps[0]: elements of type task are created by drawing them: post them to the content of a diagram."]),
        (403, {"nextSteps": [new("processHouse")]},
         ["nextSteps[0]: creating an element of type processHouse requires the permission NewElement."]),
    ],
)  # fmt: skip
def test_targets_that_cannot_be_made_are_refused(
    desk: UpdateDesk, status: int, related: Body, problems: list[str]
) -> None:
    place = f"elements[0] {ID['order-3']}"
    desk.refuse(status, [{"versionId": ID["order-3"], "related": related}], *(f"{place}: {each}" for each in problems))


def test_a_version_that_cannot_be_changed_gets_no_new_targets(desk: UpdateDesk) -> None:
    element = {"versionId": ID["order-2"], "related": {"tools": [new("system")]}}
    problem = f"elements[0] {ID['order-2']}: tools cannot be changed in the state released; create a new version."
    desk.refuse(409, [element], problem)
