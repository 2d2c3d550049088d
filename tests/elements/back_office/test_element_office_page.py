"""The page of an element and the tree: content, permissions and statement counts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from elements.models import ElementVersion, Reference
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.conftest import StorageMaker
from tests.elements.handbook import BASE, ID
from tests.elements.office import Office, main_text
from tests.scale import first_quick

pytestmark = pytest.mark.django_db
TABS = ("attributes", "related", "children", "diagram", "versions", "lifecycle", "record")


@pytest.fixture
def office(handbook: Storage) -> Office:
    return Office(handbook, Role.ADMINISTRATOR)


def page_of(name: str) -> str:
    return f"elements/element/{ID[name]}/change/"


def test_the_head_shows_type_state_and_path(office: Office) -> None:
    text = office.element(ID["order"])
    assert "Tree House Sales Handle every order Sub process In process Version 2.1 Edit Draw Add below" in text
    assert "Read-only" not in text
    assert "Can be changed by Anna Berg and architects" in text


def test_a_version_is_picked_by_its_id(office: Office) -> None:
    response = office.get(page_of("order-2"))
    assert (response.status_code, response["Location"]) == (
        302,
        f"{office.base}{page_of('order')}?version={ID['order-2']}",
    )
    text = office.element(ID["order"], version=ID["order-2"])
    assert "Handle order Sub process Released Version 2.0 not the newest version" in text
    assert office.get(f"{page_of('order')}?version={ID['erp-1']}").status_code == 404
    assert office.get(f"{page_of('order')}?version=nonsense").status_code == 404


@pytest.mark.parametrize("id", ["nonsense", "00000000-0000-4000-8000-ffffffffffff"])
def test_unknown_elements_are_not_found(office: Office, id: str) -> None:
    assert office.get(f"elements/element/{id}/change/").status_code == 404
    assert office.get(f"elements/element/{id}/edit/").status_code == 404
    assert office.get(f"elements/element/{id}/delete/").status_code == 404


def test_links_lead_to_the_reader_page_and_to_the_api(office: Office, handbook: Storage) -> None:
    page = office.get(f"{page_of('order')}?version={ID['order-2']}").content.decode()
    api = f"{BASE}/_api/rest/facets/processes/views/detail/elements/{ID['order-2']}"
    assert f'href="{BASE}/1033/processes/{ID["order-2"]}"' in page
    assert f'href="{api}"' in page
    assert office.get(api.removeprefix("http://testserver")).json()["count"] == 1


def test_attributes_are_shown_by_culture_with_missing_values_marked(office: Office) -> None:
    text = office.element(ID["order"], version=ID["order-2"])
    assert "Attribute German English default" in text
    assert "Label Auftrag abwickeln Handle order" in text
    assert "Label – From order to invoice." in text
    assert "Label 12,345,678,901,234,567,890.125" in text
    assert "Label Board" in text
    assert "missing" not in text


def test_a_mandatory_culture_without_a_value_is_marked(office: Office, handbook: Storage) -> None:
    with tenant_scope(handbook):
        ElementVersion.objects.filter(id=ID["order-3"]).update(attributes={"scope": {"1031": "Alles"}})
    text = office.element(ID["order"])
    assert "(without a name) Sub process" in text
    assert "Label – missing" in text
    assert "Label Alles missing" in text


def test_markup_is_cleaned(office: Office, handbook: Storage) -> None:
    markup = '<?xml version="1.0"?><p onclick="x()">Hi <script>alert(1)</script><b>you</b></p>'
    with tenant_scope(handbook):
        ElementVersion.objects.filter(id=ID["order-3"]).update(attributes={"description": {"1033": markup}})
    page = office.get(page_of("order")).content.decode()
    assert "<p>Hi <b>you</b></p>" in page
    assert "alert(1)" not in page


def test_related_elements_lead_both_ways(office: Office) -> None:
    text = office.element(ID["order"], tab="related", version=ID["order-2"])
    assert "Label CRM System In process ERP next System In process Old system System Expired" in text
    assert "No element refers to this one." in text
    used = office.element(ID["erp"], tab="related")
    assert "Referenced by Context Elements Label" in used
    assert "Handle every order Sub process In process" in used
    assert "Anna Berg User" in used


def test_children_come_in_their_order(office: Office) -> None:
    text = office.element(ID["sales"], tab="children")
    assert re.search(r"ship Sub process In effect Invoice Sub process .* Handle every order Sub process", text)
    assert "Add below: Sub process" in text


def test_the_diagram_is_a_picture_whose_shapes_are_links(office: Office) -> None:
    page = office.get(f"{page_of('order')}?tab=diagram&version={ID['order-2']}").content.decode()
    assert "<svg" in page
    for name in ("start-2", "check-2", "ship", "invoice"):
        assert f'href="{office.base}{page_of(name)}"' in page
    assert "Diagram" not in office.element(ID["erp"])


def test_two_versions_side_by_side(office: Office) -> None:
    text = office.element(ID["order"], tab="versions")
    assert "2.1 shown In process" in text
    assert "From version 2.0 to version 2.1" in text
    assert "Label (German) removed Auftrag abwickeln –" in text
    assert "Label (English) changed Handle order Handle every order" in text
    assert "Label changed CRM ERP next Old system ERP next" in text
    assert "Task changed Check Check again" in text
    assert "Sub process removed ship –" in text
    page = office.get(f"{page_of('order')}?tab=versions").content.decode()
    assert "<ins>every </ins>" in page
    assert "<del>CRM</del>" in page


def test_two_large_versions_side_by_side(office: Office, handbook: Storage, settings: Settings) -> None:
    with tenant_scope(handbook):
        for version, name in (("order-2", "Old"), ("order-3", "New")):
            texts = {"name": {"1033": name}, "scope": {"1033": "x" * 3_000}}
            ElementVersion.objects.filter(id=ID[version]).update(attributes=texts)
    settings.RESPONSE_BYTES = 20_000
    text = office.element(ID["order"], tab="versions")
    assert "Label (English) changed Old New" in text


def test_an_identical_copy_has_no_differences(office: Office, handbook: Storage) -> None:
    """Elements of diagrams differ in each version but have the same creation id (D11)."""
    with tenant_scope(handbook):
        for version, target in (("order-2", "check-2"), ("order-3", "check-3")):
            Reference.objects.create(version_id=ID[version], context="owner", position=7, target_id=ID[target])
    page = office.get(f"{page_of('order')}?tab=versions").content.decode()
    assert "<del>Anna Berg</del>" in page
    assert "<del>Check</del>" not in page.partition("Differences of the diagram")[0]


def test_any_two_versions_can_be_picked(office: Office) -> None:
    text = office.element(ID["order"], tab="versions", old=ID["order-3"], new=ID["order-1"])
    assert "From version 1.0 to version 2.1" in text
    assert "Label (English) changed Take order Handle every order" in text


def test_the_history_shows_values_before_and_after(office: Office, handbook: Storage) -> None:
    assert "This element has not been changed since it was imported." in office.element(ID["order"], tab="record")
    data = office.form(f"elements/element/{ID['order']}/edit/")
    office.post(f"elements/element/{ID['order']}/edit/", {**data, "a-scope-1033": "All of it", "r-owner": ID["ben"]})
    text = office.element(ID["order"], tab="record")
    assert re.search(r"Changed \S+ \S+ staff\d+", text)
    assert "Part Before After Label (English) – All of it Label – Ben Cole" in text


def test_the_other_tenant_with_the_same_ids_shows_its_own(handbook: Storage, office: Office) -> None:
    rival = Office(Storage.objects.get(collection__key="rival", key="handbook"), Role.ADMINISTRATOR)
    data = office.form(f"elements/element/{ID['order']}/edit/")
    office.post(f"elements/element/{ID['order']}/edit/", {**data, "a-name-1033": "Changed here"})
    assert "Changed here" in office.element(ID["order"])
    for tab in TABS:
        text = rival.element(ID["order"], tab=tab)
        assert "Rival Handle every order" in text
        assert "Changed here" not in text
    for path in (page_of("order"), f"elements/element/{ID['order']}/edit/", "elements/tree/"):
        assert rival.get(f"/acme/handbook/admin/{path}").status_code == 404


@pytest.mark.parametrize(
    ("role", "name", "words"),
    first_quick(
        [
            (Role.ANALYZER, "invoice", "Read-only: your roles do not allow changing elements."),
            (Role.APPROVER, "invoice", "Read-only: your roles do not allow changing elements."),
            (Role.EDITOR, "invoice", ""),
            (Role.EDITOR, "house", "Read-only: only architects can change elements of this type."),
            (Role.EDITOR, "order", "Read-only: only the authors (Anna Berg) and architects can change it."),
            (Role.ARCHITECT, "order", ""),
            (Role.ARCHITECT, "ship", "Read-only: this version is not in process."),
            (
                Role.ADMINISTRATOR,
                "check-2",
                "Read-only: the element belongs to the diagram of a version that is not in process.",
            ),
            (Role.ADMINISTRATOR, "check-3", ""),
        ],
        5,
    ),
)
def test_the_page_explains_why_an_element_is_read_only(handbook: Storage, role: Role, name: str, words: str) -> None:
    office = Office(handbook, role)
    page = office.get(page_of(name))
    assert words in main_text(page)
    edit = f"elements/element/{ID[name]}/edit/"
    assert (f'href="{office.base}{edit}"' in page.content.decode()) is not bool(words)
    expected = 200 if not words else 409 if "version" in words else 403
    assert office.get(edit).status_code == expected
    if words:
        assert office.post(edit, {"a-name-1033": "x", "read": "{}"}).status_code == expected


@pytest.mark.parametrize("role", [Role.ANALYZER, Role.APPROVER])
def test_changes_without_permission_are_refused(handbook: Storage, role: Role) -> None:
    office = Office(handbook, role)
    for path in (
        f"elements/element/{ID['invoice']}/edit/",
        f"elements/element/{ID['invoice']}/delete/",
        "elements/element/add/",
    ):
        assert office.get(path).status_code == 403, path
        assert office.post(path).status_code == 403, path


def test_a_viewer_has_no_office(handbook: Storage) -> None:
    assert Office(handbook, Role.VIEWER).get(page_of("sales")).status_code == 403


def test_the_tree_opens_level_by_level_by_links_alone(office: Office) -> None:
    closed = office.get("elements/tree/?facet=processes")
    text = main_text(closed)
    assert "customer view View" in text
    assert "Sales" not in text
    [address] = re.findall(r'class="el-branch-toggle" href="([^"]*)"', closed.content.decode())
    opened = main_text(office.get(address.partition("#")[0].replace("&amp;", "&")))
    assert "House Process house" in opened
    assert "Sales Main process Released" in opened
    assert "Invoice" not in opened
    both = f"elements/tree/?facet=processes&open={ID['house']},{ID['sales']},nonsense"
    assert re.search(r"Sales .* ship .* Invoice .* Handle every order", office.page(both))


def test_adding_below_is_offered_with_permission(handbook: Storage, office: Office) -> None:
    path = f"elements/tree/?facet=processes&open={ID['house']},{ID['sales']}"
    add = f"{office.base}elements/element/add/?type="
    assert f"{add}mainProcess&amp;parent={ID['house']}" in office.get(path).content.decode()
    assert f"{add}processHouse" in office.get(path).content.decode()
    editor = Office(handbook, Role.EDITOR).get(path).content.decode()
    assert f"{add}subProcess&amp;parent={ID['sales']}" in editor
    assert f"{add}processHouse" not in editor
    assert add not in Office(handbook, Role.ANALYZER).get(path).content.decode()


REFERENCES = (3, 300)


@pytest.fixture(scope="module")
def linked(filled_storage: StorageMaker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Storage]:
    """demo/linked: of two processes one refers to 3 systems and has 3 children, users of it and shapes, one has 300."""
    lines = []
    for rank, count in enumerate(REFERENCES):

        def made(kind: int, number: int, rank: int = rank) -> str:
            return f"00000000-0000-4{rank}00-8000-{kind:04x}{number:08x}"

        versioned = {"state": "released", "attributes": {"name": {"1033": f"Thing {rank}"}, "version": {"127": "1.0"}}}
        own = {"facetName": "processes", "id": made(0, 0), "type": "mainProcess"}
        systems = [{"facetName": "it", "id": made(1, each), "type": "system"} for each in range(count)]
        children = [{"facetName": "processes", "id": made(2, each), "type": "subProcess"} for each in range(count)]
        lines.append(
            {
                **own, "versionId": made(3, 0), **versioned, "related": {"systems": systems}, "children": children,
                "content": [
                    {"properties": {"shapeId": made(4, place), "predecessors": []}, **each}
                    for place, each in enumerate(children)
                ],
            }
        )  # fmt: skip
        lines += [{**each, "versionId": made(5, place), **versioned} for place, each in enumerate(systems)]
        lines += [
            {**each, "versionId": made(6, place), **versioned, "related": {"guidelines": []}}
            for place, each in enumerate(children)
        ]
    path = tmp_path_factory.mktemp("linked") / "lines.ndjson"
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    with filled_storage(path, collection="demo", key="linked", template="standard") as storage:
        yield storage


@pytest.mark.long
def test_a_page_costs_the_same_with_few_references_and_many(linked: Storage) -> None:
    office = Office(linked, Role.ADMINISTRATOR)

    def cost(rank: int, tab: str) -> int:
        with CaptureQueriesContext(connection) as captured:
            office.page(f"elements/element/00000000-0000-4{rank}00-8000-{0:012x}/change/?tab={tab}")
        return len(captured)

    for tab in TABS:
        # The first page of all, and the first one with a tab, may read what the process keeps.
        cost(0, tab)
    costs = {tab: [cost(rank, tab) for rank in range(len(REFERENCES))] for tab in TABS}
    assert {tab: found for tab, found in costs.items() if found[0] != found[1]} == {}
    # Including session, account, scope and navigation.
    assert max(found[0] for found in costs.values()) <= 40


def test_the_tree_costs_the_same_with_few_branches_and_many(linked: Storage) -> None:
    office = Office(linked, Role.ADMINISTRATOR)
    costs = []
    for rank in range(len(REFERENCES)):
        path = f"elements/tree/?facet=processes&open=00000000-0000-4{rank}00-8000-{0:012x}"
        office.page(path)
        with CaptureQueriesContext(connection) as captured:
            office.page(path)
        costs.append(len(captured))
    assert costs[0] == costs[1]
