"""Order of siblings (D480): `position` when elements are created and moved, its history, events, export and limits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from elements.models import Element, ElementChange
from elements.transfer.exporting import export_lines
from storage.models import Event, Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.conftest import StorageMaker
from tests.elements.handbook import ID
from tests.elements.update_desk import RESTS, UNKNOWN, Body, UpdateDesk, at, extended_handbook, history
from tests.factories import token_for

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def handbook(filled_storage: StorageMaker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Storage]:
    with extended_handbook(filled_storage, tmp_path_factory.mktemp("handbook")) as storage:
        yield storage


@pytest.fixture
def desk(handbook: Storage, api: ApiClient) -> UpdateDesk:
    return UpdateDesk(handbook, api)


def new(name: str, parent: str = ID["sales"], **more: Any) -> Body:
    return {"type": "subProcess", "attributes": {"name": {"1033": name}}, "rootPath": [{"id": parent}], **more}


def children(desk: UpdateDesk, parent: str = "sales") -> list[str]:
    found = [each["id"] for each in desk.read(parent).get("children", [])]
    listed = desk.api.get(f"{RESTS}/processes/views/detail/elements/{ID.get(parent, parent)}/children", token=desk.anna)
    assert [each["id"] for each in listed.json()["elements"]] == found
    return found


def test_an_element_moves_among_its_siblings(desk: UpdateDesk) -> None:
    first, third, second = children(desk)
    assert third == ID["invoice"]
    for position, expected in (
        (0, [third, first, second]),
        (1, [first, third, second]),
        ({"after": second}, [first, second, third]),
        ({"before": second}, [first, third, second]),
        (99, [first, second, third]),
        ({"before": first.upper()}, [third, first, second]),
    ):
        desk.update({"id": third, "position": position})
        assert children(desk) == expected
    assert [each["id"] for each in desk.read("sales", token=desk.architect)["children"]] == children(desk)


def test_history_has_the_numbers_and_events_the_parents(desk: UpdateDesk) -> None:
    sales, order, invoice = ID["sales"], ID["order"], ID["invoice"]
    desk.update({"id": invoice, "position": 0})
    desk.update({"id": invoice, "position": 0})
    desk.update({"id": invoice, "rootPath": [{"id": order}], "position": 0, "attributes": {"scope": {"1033": "Some"}}})
    desk.update({"id": invoice, "rootPath": [{"id": sales}], "position": 1})
    entries = history(desk, "invoice-1")
    assert entries[0] == ("updated", {"parent": sales, "position": 1}, {"parent": sales, "position": 0})
    assert entries[1] == ("updated", {}, {})
    assert (entries[2][1]["parent"], entries[2][1]["position"]) == (sales, 0)
    assert (entries[2][2]["parent"], entries[2][2]["position"]) == (order, 0)
    assert entries[3] == ("updated", {"parent": order, "position": 0}, {"parent": sales, "position": 1})
    with tenant_scope(desk.storage):
        events = [*Event.objects.filter(subject_id=UUID(invoice)).order_by("time", "id").values_list("type", "data")]
    moves = [data for type, data in events if type == "element.moved"]
    assert moves == [{"from": sales, "to": sales}, {"from": sales, "to": order}, {"from": order, "to": sales}]
    changes = [data for type, data in events if type == "element.changed"]
    assert changes == [{"attributes": [], "contexts": []}, {"attributes": ["scope"], "contexts": []}]


def test_new_elements_can_have_a_position(desk: UpdateDesk) -> None:
    before = children(desk)
    made = desk.update(new("First", position=0), new("Last"), new("Second", position={"after": before[0]}))
    ids = [each["id"] for each in made]
    assert children(desk) == [ids[0], before[0], ids[2], *before[1:], ids[1]]
    with tenant_scope(desk.storage):
        [entry] = ElementChange.objects.filter(element_id=ids[2])
    assert (entry.action, entry.before["position"], entry.after["position"]) == ("created", None, 2)


def test_an_export_has_children_in_their_order(desk: UpdateDesk) -> None:
    desk.update({"id": ID["invoice"], "position": {"after": ID["order"]}})
    expected = children(desk)
    lines = list(export_lines(desk.storage))
    [sales] = [line for line in lines if f'"versionId":"{ID["sales-1"]}"'.encode() in line and b'"children"' in line]
    places = [sales.index(each.encode()) for each in expected]
    assert places == sorted(places)


def test_wrong_positions_are_refused(desk: UpdateDesk) -> None:
    invoice = ID["invoice"]
    form = 'expected a number from 0 on, {"before": "…"} or {"after": "…"} with the id of a sibling'
    wrong: list[Any] = [-1, True, 1.5, "first", [], {}, {"before": invoice, "after": invoice}, {"under": invoice}]
    for position in wrong:
        desk.refuse(400, [{"id": invoice, "position": position}], at("position", form, "invoice"))
    desk.refuse(400, [{"id": invoice, "position": {"before": "x"}}],
                at("position: before", "'x' is not a GUID", "invoice"))  # fmt: skip
    strange = "{} is not a sibling; name another child of the same parent, or a number"
    for sibling in (UNKNOWN, invoice, ID["house"]):
        desk.refuse(422, [{"id": invoice, "position": {"after": sibling}}],
                    at("position", strange.format(sibling), "invoice"))  # fmt: skip
    nowhere = "elements without a parent are sorted by name; leave out position, or name a parent in rootPath"
    desk.refuse(422, [{"id": invoice, "rootPath": [], "position": 0}], at("position", nowhere, "invoice"))
    desk.refuse(422, [{"id": ID["check-3"], "position": 0}],
                at("position", "elements of type task have their place in a diagram and cannot be moved", "check-3"))  # fmt: skip
    desk.refuse(409, [{"id": ID["ship"], "position": 0}],
                at("", "rootPath cannot be changed in the state inEffect; create a new version", "ship"))  # fmt: skip
    desk.refuse(422, [{"id": invoice, "rootPath": [{"id": invoice}], "position": 0}],
                at("rootPath", f"{invoice} is the element itself or below it; choose another parent", "invoice"))  # fmt: skip
    viewer = token_for(desk.storage, Role.VIEWER)
    assert desk.send({"elements": [{"id": invoice, "position": 0}]}, token=viewer).status_code == 403


def test_a_reference_has_no_position(desk: UpdateDesk) -> None:
    response = desk.send({"elements": [{"id": ID["invoice"], "rootPath": [{"id": ID["sales"], "position": 0}]}]})
    assert (response.status_code, "an element has no field 'position'" in response.json()["message"]) == (400, True)


@pytest.mark.long
def test_one_of_many_siblings_moves_with_one_row(desk: UpdateDesk) -> None:
    parent = desk.update(new("Large"))[0]["id"]
    for start in range(0, 1000, 500):
        made = [new(f"Child {number}", parent) for number in range(start, start + 500)]
        assert desk.send({"elements": made}).status_code == 200
    before = children(desk, parent)
    rows = "SELECT id, position, rank FROM elements_element WHERE parent_id = %s ORDER BY id"

    def stored() -> set[tuple[Any, ...]]:
        with tenant_scope(desk.storage), connection.cursor() as cursor:
            cursor.execute(rows, [parent])
            return set(cursor.fetchall())

    counts = []
    for element, number in ((before[900], 100), (before[3], 997), (before[500], 0)):
        old = stored()
        with CaptureQueriesContext(connection) as captured:
            desk.send({"elements": [{"id": element, "position": number}]})
        counts.append(len(captured))
        assert len(stored() - old) == 1
        assert children(desk, parent).index(element) == number
    assert len(set(counts)) == 1
    with tenant_scope(desk.storage):
        assert Element.objects.filter(parent_id=parent).count() == 1000
