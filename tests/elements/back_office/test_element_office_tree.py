"""The tree in the back office (D481): moves by buttons, undo, refused moves, search and details."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from elements.admin.trees import pages
from elements.models import Element, ElementChange
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.conftest import StorageMaker
from tests.elements.handbook import ID
from tests.elements.office import Office, main_text
from tests.elements.update_desk import extended_handbook
from tests.factories import token_for
from tests.scale import first_quick

pytestmark = pytest.mark.django_db
SALES = f"elements/tree/?facet=processes&open={ID['house']},{ID['sales']}"
BRANCH = re.compile(r'<li id="at-([0-9a-f-]{36})"')


@pytest.fixture(scope="module")
def handbook(filled_storage: StorageMaker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Storage]:
    with extended_handbook(filled_storage, tmp_path_factory.mktemp("handbook")) as storage:
        yield storage


@pytest.fixture
def office(handbook: Storage) -> Office:
    return Office(handbook, Role.ARCHITECT)


def branches(page: str) -> list[str]:
    names = {id: name for name, id in ID.items() if "-" not in name}
    return [names.get(each, each) for each in BRANCH.findall(page)]


def moves(office: Office, name: str) -> dict[str, str]:
    """Return the values of the buttons of an element, by direction."""
    page = office.get(SALES).content.decode()
    return {
        step: value
        for value, step in re.findall(r'name="move" value="([^"]*)" data-step="(\w+)"', page)
        if value.startswith(ID[name])
    }


def move(office: Office, value: str, status: int = 302) -> str:
    given = {"facet": "processes", "open": f"{ID['house']},{ID['sales']}", "move": value}
    response = office.post("elements/tree/move/", given)
    assert response.status_code == status, main_text(response)
    return str(response["Location"]) if status == 302 else response.content.decode()


def place(storage: Storage, name: str) -> tuple[str | None, list[str]]:
    names = {id: name for name, id in ID.items() if "-" not in name}
    with tenant_scope(storage):
        parent = Element.objects.get(id=ID[name]).parent_id
        order = Element.objects.filter(parent_id=parent).order_by("position", "rank", "id")
        return names.get(str(parent)), [names.get(str(each.id), "?") for each in order]


def test_buttons_move_by_one_step_and_undo_moves_back(handbook: Storage, office: Office) -> None:
    assert place(handbook, "invoice") == ("sales", ["ship", "invoice", "order"])
    offered = moves(office, "invoice")
    assert set(offered) == {"up", "down", "in"}
    location = move(office, offered["down"])
    assert location.endswith(f"moved={ID['invoice']}#at-{ID['invoice']}")
    assert place(handbook, "invoice") == ("sales", ["ship", "order", "invoice"])
    page = office.get(location.partition("#")[0]).content.decode()
    assert branches(page)[-3:] == ["ship", "order", "invoice"]
    assert "Invoice was moved." in page
    [undo] = re.findall(r'name="move" value="([^"]*)" data-undo', page)
    move(office, undo)
    assert place(handbook, "invoice") == ("sales", ["ship", "invoice", "order"])
    # Undone again, the element is where the first move has put it.
    move(office, undo)
    assert place(handbook, "invoice") == ("sales", ["ship", "order", "invoice"])
    with tenant_scope(handbook):
        changes = ElementChange.objects.filter(element_id=ID["invoice"]).order_by("changed_on", "id")
        assert [each.after["position"] for each in changes] == [2, 1, 2]


def test_moves_in_and_out(handbook: Storage, office: Office) -> None:
    move(office, moves(office, "invoice")["in"])
    assert place(handbook, "invoice") == ("ship", ["invoice"])
    path = f"{SALES},{ID['ship']}"
    page = office.get(path).content.decode()
    [out] = [each for each in re.findall(r'value="([^"]*)" data-step="out"', page) if each.startswith(ID["invoice"])]
    move(office, out)
    assert place(handbook, "invoice") == ("sales", ["ship", "invoice", "order"])


def test_elements_move_to_the_top_and_back(showcase: Storage, api: ApiClient) -> None:
    """A system can be below another one and at the top. Undo puts it between its former siblings."""
    address = f"/{showcase.collection.key}/{showcase.key}/_api/rest/facets/it/views/detail/elements"
    token, office = token_for(showcase, Role.ARCHITECT), Office(showcase, Role.ARCHITECT)

    def make(name: str, parent: str = "") -> str:
        above = {"rootPath": [{"id": parent}]} if parent else {}
        body = {"elements": [{"type": "system", "attributes": {"name": {"1033": name}}, **above}]}
        return str(api.post(address, body, "application/json", token=token).json()["elements"][0]["id"])

    def children() -> list[str]:
        return [each["id"] for each in api.get(f"{address}/{top}/children", token=token).json()["elements"]]

    top = make("Top")
    below = [make(name, top) for name in ("Ash", "Beech", "Cedar")]
    page = office.get(f"elements/tree/?facet=it&open={top}").content.decode()
    offered = re.findall(rf'value="({below[1]}/[^"]*)" data-step="(\w+)"', page)
    to_top = {step: value for value, step in offered}["top"]
    assert ("out", to_top) in [(step, value) for value, step in offered]
    assert not re.search(rf'value="{top}/[^"]*" data-step="top"', page)
    moved = office.post("elements/tree/move/", {"facet": "it", "open": top, "move": to_top})
    assert children() == [below[0], below[2]]
    page = office.get(moved["Location"].partition("#")[0]).content.decode()
    assert "Beech was moved." in page
    [undo] = re.findall(r'name="move" value="([^"]*)" data-undo', page)
    office.post("elements/tree/move/", {"facet": "it", "open": top, "move": undo})
    assert children() == below


def test_undo_returns_an_element_to_its_place_among_its_former_siblings(handbook: Storage, office: Office) -> None:
    location = move(office, moves(office, "invoice")["in"])
    page = office.get(location.partition("#")[0]).content.decode()
    [undo] = re.findall(r'name="move" value="([^"]*)" data-undo', page)
    move(office, undo)
    assert place(handbook, "invoice") == ("sales", ["ship", "invoice", "order"])


def test_the_history_shows_the_position_from_one_on(office: Office) -> None:
    move(office, moves(office, "invoice")["up"])
    assert re.search(r"Position .*2.*1", office.element(ID["invoice"], tab="record"))


@pytest.mark.parametrize(
    ("value", "status", "text"),
    first_quick(
        [
            (f"{ID['invoice']}/{ID['house']}/before/{ID['ship']}", 412, "Somebody else has moved"),
            (f"{ID['ship']}/{ID['sales']}/after/{ID['invoice']}", 409, "The place in the tree cannot be changed"),
            (f"{ID['invoice']}/{ID['sales']}/into/{ID['house']}", 422, "cannot be placed below elements of type"),
            (f"{ID['invoice']}/{ID['sales']}/into/{ID['invoice']}", 422, "is the element itself or below it"),
            (f"{ID['invoice']}/{ID['sales']}/before/{ID['house']}", 422, "at the top of the tree are sorted by name"),
            (f"{ID['invoice']}/{ID['sales']}/undo/", 409, "was not a move"),
            (f"{ID['invoice']}/{ID['sales']}/before/{ID['invoice']}", 422, "is not a sibling"),
            (f"{ID['invoice']}/{ID['sales']}/top/", 422, "cannot be at the top of the tree"),
            ("nonsense", 422, "This is not a move"),
        ],
        4,
    ),
)
def test_a_refused_move_shows_the_tree_and_the_reason(
    handbook: Storage, office: Office, value: str, status: int, text: str
) -> None:
    before = place(handbook, "invoice")
    page = move(office, value, status)
    assert text in page
    assert "rootPath" not in page
    assert branches(page)[-3:] == ["ship", "invoice", "order"]
    assert place(handbook, "invoice") == before


def test_only_people_who_can_move_get_the_buttons(handbook: Storage, office: Office) -> None:
    assert moves(office, "ship") == {}
    analyzer = Office(handbook, Role.ANALYZER)
    assert "data-step" not in analyzer.get(SALES).content.decode()
    assert "Your roles do not allow you to move elements." in analyzer.page(SALES)
    assert "Drag an element to move it" in office.page(SALES)
    value = f"{ID['invoice']}/{ID['sales']}/before/{ID['ship']}"
    assert analyzer.post("elements/tree/move/", {"move": value}).status_code == 403
    assert office.get("elements/tree/move/").status_code == 405


def test_the_tree_finds_elements_and_opens_the_way_to_them(office: Office) -> None:
    page = office.get("elements/tree/?facet=processes&q=invoice").content.decode()
    [address] = re.findall(rf'href="([^"]*details={ID["invoice"]}[^"]*)"', page.partition('id="tree"')[0])
    opened = office.get(address.replace("&amp;", "&").partition("#")[0])
    assert branches(opened.content.decode())[-3:] == ["ship", "invoice", "order"]
    assert re.search(r"Invoice .* House › Sales", main_text(opened))
    assert "Nothing in this tree contains “xyzzy”." in office.page("elements/tree/?facet=processes&q=xyzzy")


def test_details_are_shown_beside_the_tree(office: Office) -> None:
    details = office.get(f"elements/tree/details/{ID['invoice']}/")
    assert details.status_code == 200
    assert "Invoice" in details.content.decode()
    assert f"elements/element/{ID['invoice']}/edit/" in details.content.decode()
    assert office.get(f"elements/tree/details/{ID['ship']}x/").status_code == 404
    beside = office.page(f"{SALES}&details={ID['invoice']}")
    assert re.search(r"Invoice Sub process In process .* Id", beside)


def test_a_branch_shows_more_children_on_request(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "SIBLINGS", 2)
    page = office.get(SALES).content.decode()
    assert branches(page)[-2:] == ["ship", "invoice"]
    [more] = re.findall(r'href="([^"]*all=1[^"]*)"', page)
    whole = office.get(more.replace("&amp;", "&").partition("#")[0]).content.decode()
    assert branches(whole)[-3:] == ["ship", "invoice", "order"]
    given = {"facet": "processes", "all": "1", "move": moves(office, "invoice")["up"]}
    assert "all=1" in office.post("elements/tree/move/", given)["Location"]


@pytest.mark.long
def test_moving_costs_the_same_below_few_and_many(office: Office) -> None:
    costs = []
    for value in ("up", "down"):
        offered = moves(office, "invoice")[value]
        with CaptureQueriesContext(connection) as captured:
            move(office, offered)
        costs.append(len(captured))
    assert costs[0] == costs[1]
