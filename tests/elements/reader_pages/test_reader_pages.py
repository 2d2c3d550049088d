"""The reader pages: content, language and links."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from storage.models import Storage, StorageMembership
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.elements.handbook import AUTHOR_NOTE, BASE, ID
from tests.elements.reader_page import ParsedReaderPage, found_in, read_page
from tests.factories import StaffAccountFactory

pytestmark = pytest.mark.django_db
ROOT = "/acme/handbook"
FRAME = ["handbook"]
PICTURE = [
    "Detailed", "Top to bottom", "Left to right", "Lanes side by side", "Lanes below each other", "As drawn", "Matrix",
    "−", "+", "Fit", "100 %", "Full screen", "PNG", "SVG",
]  # fmt: skip


def page_of(client: Client, path: str, **headers: str) -> ParsedReaderPage:
    response = client.get(f"{ROOT}{path}", headers=headers)
    assert response.status_code == 200, (path, response.status_code, response.get("Location"))
    assert response["Content-Type"] == "text/html; charset=utf-8"
    assert response["Cache-Control"] == "private, no-cache"
    return read_page(response.content.decode())


def element(name: str, lcid: int = 1033, facet: str = "processes") -> str:
    return f"/{lcid}/{facet}/{ID[name]}"


def copy_link(path: str) -> list[str]:
    """Return the lines of the button that copies the address of the page."""
    return ["Copy link", f"Link to this page: {BASE}{path}"]


def staff(storage: Storage, *roles: Role, **fields: Any) -> Client:
    account = StaffAccountFactory.create(**fields)
    StorageMembership.objects.create(account=account, storage=storage, roles=[role.value for role in roles])
    client = Client()
    client.force_login(account)
    return client


def test_the_app_address_leads_to_the_language_of_the_reader(handbook: Storage) -> None:
    client = Client()
    for path, accepted, lcid in (
        ("", "", 1033),
        ("/", "fr", 1033),
        ("", "de-AT,en;q=0.8", 1031),
        ("/", "en-GB,de;q=0.5", 1033),
    ):
        response = client.get(f"{ROOT}{path}", headers={"Accept-Language": accepted})
        assert (response.status_code, response["Location"]) == (302, f"{ROOT}/{lcid}/")
        assert {"Accept-Language", "Cookie"} <= set(response["Vary"].split(", "))
    assert client.get(f"{ROOT}/_api/rest/info").json()["appUrl"] == f"http://testserver{ROOT}/"
    german = staff(handbook, Role.VIEWER, language="de")
    assert german.get(ROOT, headers={"Accept-Language": "en"})["Location"] == f"{ROOT}/1031/"


def test_the_start_page_shows_the_process_map_and_what_is_new(handbook: Storage) -> None:
    page = page_of(Client(), "/1033/")
    assert page.lines == [
        "handbook", "Search for elements", "Search",
        "Processes", "House", "Sales",
        "What is new",
        "Handle order Sub process February 20, 2026",
        "ERP System February 10, 2026",
        "Sales Main process February 10, 2026",
        "ship Sub process February 10, 2026",
        "Loose end Sub process February 10, 2026",
    ]  # fmt: skip
    assert page.headings == [(1, "handbook"), (2, "Processes"), (3, "House"), (2, "What is new")]
    assert page.address("Sales") == f"{ROOT}{element('sales-1')}"
    assert page.address("IT") == f"{ROOT}/1033/it/"
    assert page.address("This storage as JSON") == f"{BASE}/_api/rest/info"


def test_a_tree_opens_level_by_level(handbook: Storage) -> None:
    client = Client()
    page = page_of(client, "/1033/processes/")
    assert page.lines == [
        *FRAME, "Processes", "Processes", *copy_link("/1033/processes/"), "Tree", "By name",
        "customer view View",
        "− House Process house",
        "+ Sales Main process Released",
    ]  # fmt: skip
    opened = page_of(client, page.address("+").removeprefix(ROOT))
    assert opened.lines[-5:] == [
        "customer view View",
        "− House Process house",
        "− Sales Main process Released",
        "ship Sub process In effect",
        "Handle order Sub process Released",
    ]
    assert opened.address("Handle order") == f"{ROOT}{element('order-2')}"
    above = next(address for text, address in reversed(opened.links) if text == "−")
    assert page_of(client, above.removeprefix(ROOT).partition("#")[0]).lines == page.lines
    labels = [each["aria-label"] for each in opened.attributes("a") if "aria-expanded" in each]
    assert labels == ["Close House", "Close Sales"]


def test_the_tree_shows_versions_in_process_to_those_who_may_see_them(handbook: Storage) -> None:
    page = page_of(staff(handbook, Role.ANALYZER), f"/1033/processes/?open={ID['sales']}")
    assert page.lines[-3:] == [
        "ship Sub process In effect",
        "Invoice Sub process In process",
        "Handle every order Sub process In process",
    ]


def test_a_list_is_ordered_by_the_names_of_its_language(handbook: Storage) -> None:
    client = Client()
    page = page_of(client, "/1033/processes/?as=list")
    assert page.lines[page.lines.index("Show") + 1 :] == [
        "customer view View",
        "Handle order Sub process Released",
        "House Process house",
        "Loose end Sub process Expiry requested",
        "Sales Main process Released",
        "ship Sub process In effect",
    ]
    german = page_of(client, "/1031/processes/?as=list")
    assert [text for text, address in german.links if f"{ROOT}/1031/processes/0" in address] == [
        "Auftrag abwickeln", "customer view", "Haus", "Loose end", "Sales", "ship",
    ]  # fmt: skip
    tasks = page_of(client, "/1033/processes/?as=list&type=task")
    assert tasks.lines[-1] == "Check Task"
    users = page_of(client, "/1033/users/")
    assert users.lines[-3:] == ["Anna Berg User", "Ben Cole User", "Crew User group"]


def test_the_page_of_a_released_version(handbook: Storage) -> None:
    page = page_of(Client(), element("order-2"))
    assert page.title == "Handle order · handbook"
    assert page.lines == [
        *FRAME, "Processes", "House", "Sales",
        "Sub process",
        "Handle order",
        "Released Version 2.0 Valid from February 20, 2026",
        "Show in the tree",
        *copy_link(element("order")),
        "Details", "Diagram", "Related", "Versions", "Dates and people",
        "Details",
        "Label", "From order to invoice.",
        "Label", "Whole company",
        "Label", "12,345,678,901,234,567,890.125",
        "Label", "3",
        "Label", "Board image/png", "Show the picture",
        "Label", "December 31, 2026",
        "Diagram",
        *PICTURE,
        "The diagram as a list",
        "Start Start",
        "Check Task after Start",
        "ship Sub process In effect after Check",
        "Related",
        "Label", "ERP System Released",
        "Label", "Anna Berg User",
        "Versions",
        "Version| State| Released on| Valid from| Valid until",
        "2.0| Released | February 20, 2026| February 20, 2026| no end",
        "Dates and people",
        "Label", "February 20, 2026, 10:00 AM · Ben Cole",
        "Label", "March 2, 2026, 9:15 AM · Anna Berg",
        "Label", "February 1, 2026, 9:10 AM · Anna Berg",
    ]  # fmt: skip
    assert page.address("ERP") == f"{ROOT}{element('erp-1', facet='it')}"
    assert page.address("Board") == "https://x.example/a1"
    assert page.address("This element as JSON").startswith(f"{BASE}/_api/rest/facets/processes/views/detail/elements/")
    assert "Edit in the back office" not in dict(page.links)


def test_the_page_of_a_version_in_process(handbook: Storage) -> None:
    page = page_of(staff(handbook, Role.EDITOR), element("order-3"))
    start = page.lines.index("Handle every order")
    assert page.lines[start : start + 4] == [
        "Handle every order",
        "In process Version 2.1",
        "This version is not released. Go to version 2.0 · Compare both versions",
        "Show in the tree Edit in the back office",
    ]
    assert page.section("Versions") == [
        "Version| State| Released on| Valid from| Valid until",
        "2.1| In process | –| –| no end",
        "2.0| Released | February 20, 2026| February 20, 2026| no end",
        "1.0| Expired | February 10, 2026| February 10, 2026| February 20, 2026",
    ]
    assert page.lines[-1] == AUTHOR_NOTE["1033"]
    assert page.address("Go to version 2.0") == f"{ROOT}{element('order-2')}"
    assert page.address("Edit in the back office") == f"{ROOT}/admin/elements/element/{ID['order']}/change/"


def test_other_versions_lead_to_the_current_one(handbook: Storage) -> None:
    client = staff(handbook, Role.ANALYZER)
    old = page_of(client, element("order-1"))
    assert "This is an older version. Go to version 2.1 · Compare both versions" in old.lines
    assert "Another version is released. Go to version 2.0 · Compare both versions" in old.lines
    published = page_of(client, element("order-2"))
    assert "A newer version is in process. Go to version 2.1 · Compare both versions" in published.lines
    assert not [line for line in published.lines if "published" in line]


def test_an_element_without_versions_has_neither_state_nor_versions(handbook: Storage) -> None:
    page = page_of(Client(), element("house"))
    assert page.lines == [
        *FRAME, "Processes", "Process house", "House", "Show in the tree", *copy_link(element("house")),
        "Diagram", "Children", "Related", "Dates and people",
        "Diagram", *PICTURE, "The diagram as a list", "Sales Main process Released",
        "Children", "Sales Main process Released",
        "Related", "Label", "Anna Berg User",
        "Dates and people", "Label", "January 5, 2026, 8:00 AM", "Label", "January 5, 2026, 8:00 AM",
    ]  # fmt: skip


def test_an_element_of_a_diagram_links_to_the_diagram(handbook: Storage) -> None:
    page = page_of(Client(), element("check-2"))
    assert page.lines[:6] == [*FRAME, "Processes", "House", "Sales", "Handle order", "Task"]
    assert page.section("Shown in diagrams") == ["Handle order Sub process Version 2.0 Released"]
    place = f"{ROOT}{element('order-2')}?shape={ID['shape-check-2']}#diagram"
    assert ("Handle order", place) in page.links


def test_a_diagram_has_links_and_shows_the_selected_shape(handbook: Storage) -> None:
    client, address = Client(), f"{ROOT}{element('order-2')}"
    page = page_of(client, element("order-2"))
    inside = [each["href"] for each in page.attributes("a") if "xlink:href" not in each and "href" in each]
    assert [ID[name] for name in ("start-2", "check-2", "ship-1") if f"{ROOT}{element(name)}" not in inside] == []
    assert page.address("Left to right") == f"{address}?layout=horizontal#diagram"
    assert [each["href"] for each in page.attributes("link") if each["rel"] == "stylesheet"] == [
        "/static/states.css",
        "/static/pages/reader.css",
        "/static/elements/diagram.css",
        "/static/elements/diagram_view.css",
    ]
    selected = page_of(client, f"{element('order-2')}?shape={ID['shape-check-2'].upper()}&layout=Horizontal")
    # The diagram comes first, because the address selects a shape.
    assert [text for level, text in selected.headings if level == 2][:2] == ["Diagram", "Details"]
    assert selected.section("Diagram")[0] == "Selected: Check Task Clear the selection"
    assert selected.address("Clear the selection") == f"{address}#diagram"
    assert selected.address("Top to bottom") == f"{address}?shape={ID['shape-check-2']}&layout=vertical#diagram"
    missing = page_of(client, f"{element('order-2')}?shape={ID['order']}")
    assert missing.section("Diagram")[0] == "The shape that the address names is not in this diagram."
    assert missing.address("Left to right") == f"{address}?layout=horizontal#diagram"


def test_an_element_id_leads_to_the_version_that_the_reader_sees(handbook: Storage) -> None:
    assert "Handle order" in page_of(Client(), element("order")).lines
    assert "Handle every order" in page_of(staff(handbook, Role.ANALYZER), element("order")).lines
    page = page_of(Client(), element("order").upper().replace("PROCESSES", "processes"))
    (canonical,) = [each["href"] for each in page.attributes("link") if each["rel"] == "canonical"]
    assert canonical == f"{ROOT}{element('order-2')}"


def test_the_language_switch_keeps_the_place(handbook: Storage) -> None:
    client = Client()
    for path in (
        "/{}/",
        "/{}/processes/",
        f"/{{}}/processes/?open={ID['sales']}",
        "/{}/processes/?as=list&type=task",
        f"/{{}}/processes/{ID['order-2']}?shape={ID['shape-check-2']}&layout=horizontal",
        "/{}/search?q=sh%C3%ADp+%26+%22x%22&facet=it",
    ):
        page = page_of(client, path.format(1033))
        assert page.address("Deutsch") == f"{ROOT}{path.format(1031)}"
        german = page_of(client, path.format(1031))
        assert german.address("English") == f"{ROOT}{path.format(1033)}"
        alternates = [each for each in german.attributes("link") if each["rel"] == "alternate"]
        assert alternates == [{"rel": "alternate", "hreflang": "en-US", "href": f"{ROOT}{path.format(1033)}"}]


def test_a_page_is_in_the_language_of_its_address(handbook: Storage) -> None:
    client = Client(headers={"Accept-Language": "en"})
    response = client.get(f"{ROOT}{element('order-2', 1031)}")
    assert response["Content-Language"] == "de-DE"
    page = read_page(response.content.decode())
    assert page.attributes("html") == [{"lang": "de-DE", "dir": "ltr"}]
    assert "Auftrag / abwickeln" in page.lines
    assert [line for line in page.lines if "20. Februar 2026" in line]
    assert "12.345.678.901.234.567.890,125" in page.lines
    # Texts in another language are marked.
    assert "English From order to invoice." in " ".join(page.lines)
    assert [each["lang"] for each in page.attributes("dd") if "lang" in each] == ["en-US", "en-US"]
    assert ("ERP", f"{ROOT}{element('erp-1', 1031, 'it')}") in page.links
    assert {"href": f"{ROOT}{element('erp-1', 1031, 'it')}", "lang": "en-US"} in page.attributes("a")


@pytest.mark.parametrize(
    ("path", "target"),
    [
        (f"/1033/Processes/{ID['order-2']}?shape=x", f"/1033/processes/{ID['order-2']}?shape=x"),
        (f"/1033/it/{ID['order-2']}", f"/1033/processes/{ID['order-2']}"),
        ("/1033/PROCESSES/?as=list", "/1033/processes/?as=list"),
        ("/1033", "/1033/"),
        ("/1033/processes", "/1033/processes/"),
        (f"/1033/search?q={ID['order']}", f"/1033/processes/{ID['order-2']}"),
    ],
)
def test_other_addresses_lead_to_the_right_ones(handbook: Storage, path: str, target: str) -> None:
    response = Client().get(f"{ROOT}{path}")
    assert (response.status_code, response["Location"]) in [(301, f"{ROOT}{target}"), (302, f"{ROOT}{target}")]


@pytest.mark.parametrize(
    "path",
    [
        "/1036/", "/1036/processes/", f"/1036/processes/{ID['order-2']}", "/0/", "/127/", f"/{'9' * 30}/",
        "/1033/nothing/", f"/1033/nothing/{ID['order-2']}", "/1033/processes/nothing", "/1033/processes/%00",
        "/1033/processes/00000000-0000-4000-8000-ffffffffffff", f"/1033/processes/{ID['order-2']}/more",
        "/1033/processes/?as=list&type=nothing", "/1033/search?q=x&facet=nothing", "/nothing", "/nothing/",
        f"/1033/processes/{ID['shape-check-2']}",
    ],
)  # fmt: skip
def test_wrong_addresses(handbook: Storage, path: str) -> None:
    response = Client().get(f"{ROOT}{path}")
    assert response.status_code == 404
    page = read_page(response.content.decode())
    assert page.headings[0] == (1, "Page not found")
    assert found_in("\n".join(page.lines), ID["order-2"], "Handle order") == []


def test_invalid_query_values_are_ignored(handbook: Storage) -> None:
    client = Client()
    usual = page_of(client, element("order-2")).lines
    for query in (
        "children=0",
        "children=-1",
        "children=x",
        "children=²",
        f"children={'9' * 40}",
        "layout=round",
        "shape=x",
    ):
        found = page_of(client, f"{element('order-2')}?{query}").lines
        assert [line for line in found if line in usual] == usual
    for query in ("open=x", f"open={ID['order-3']}", "after=x", "after=%00", f"after={ID['erp-2']}"):
        assert page_of(client, f"/1033/processes/?{query}").lines == page_of(client, "/1033/processes/").lines


def test_long_lists_come_in_pages(handbook: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    client = staff(handbook, Role.ANALYZER)
    whole = [text for text, _ in page_of(client, "/1033/processes/?as=list").links]
    monkeypatch.setattr("elements.pages.lists.SHORT", 3)
    monkeypatch.setattr("elements.pages.lists.PAGE", 2)
    found, path = [], "/1033/processes/?as=list"
    while path:
        page = page_of(client, path)
        found += [text for text, address in page.links if f"{ROOT}/1033/processes/0" in address]
        following = [address for text, address in page.links if text == "Next page"]
        path = following[0].removeprefix(ROOT) if following else ""
    assert found == sorted(found, key=str.casefold)
    assert set(found) <= set(whole)
    assert len(found) == len(set(found)) == 8
    german = page_of(client, "/1031/processes/?as=list")
    assert [line for line in german.lines if "English" in line]
    begins = page_of(client, "/1033/processes/?as=list&begins=S")
    assert [text for text, address in begins.links if f"{ROOT}/1033/processes/0" in address] == ["Sales", "ship"]


def test_a_tree_with_many_roots_comes_in_pages(handbook: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client()
    monkeypatch.setattr("elements.pages.navigation.ROOTS", 1)
    first = page_of(client, "/1033/processes/")
    assert first.lines[-2:] == ["customer view View", "Next page"]
    second = page_of(client, first.address("Next page").removeprefix(ROOT))
    assert second.lines[-3:] == ["− House Process house", "+ Sales Main process Released", "First page"]
    # Opened at an element whose root is on another page: only that root is shown.
    part = page_of(client, f"/1033/processes/?open={ID['order']}")
    assert part.lines[7:9] == ["Show the whole tree", "− House Process house"]


def test_many_children_come_in_pages_and_a_tree_shows_the_first(
    handbook: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = Client()
    monkeypatch.setattr("elements.pages.element_pages.CHILDREN_SHOWN", 1)
    monkeypatch.setattr("elements.pages.navigation.SIBLINGS", 1)
    first = page_of(client, element("sales-1"))
    assert first.section("Children") == ["ship Sub process In effect", "Next page"]
    second = page_of(client, first.address("Next page").removeprefix(ROOT).partition("#")[0])
    assert second.section("Children") == ["Handle order Sub process Released", "Previous page"]
    tree = page_of(client, f"/1033/processes/?open={ID['sales']}")
    assert tree.lines[-2:] == ["ship Sub process In effect", "Only the first children are shown. Show all"]
    assert ("Only the first children are shown. Show all", f"{ROOT}{element('sales-1')}#children") in tree.links


def test_long_contexts_are_folded(handbook: Storage) -> None:
    from elements.models import Reference

    with tenant_scope(handbook):
        Reference.objects.bulk_create(
            [Reference(version_id=ID["order-2"], context="secondaryAuthors", position=place, target_id=ID["anna"]) for place in range(21)]
        )  # fmt: skip
        page = page_of(Client(), element("order-2"))
    assert "21 elements" in page.lines
    assert {"class": "long"} in page.attributes("details")
