"""The list of elements in the back office: rows, filters and statement counts."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from elements.admin.listing import filters
from elements.admin.lists import ElementAdmin
from elements.admin.searching import find
from elements.demo.sample import sample_lines
from elements.models import Element, ElementVersion
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.conftest import StorageMaker
from tests.elements.handbook import ID
from tests.elements.office import Office, main_text, names_of
from tests.scale import IS_FULL

pytestmark = [pytest.mark.django_db, pytest.mark.long]
LIST = "elements/element/"
EVERYTHING = [
    "Anna Berg", "Ben Cole", "Crew", "CRM", "customer view", "English", "ERP next", "German", "Handle every order", "House",
    "Invoice", "Loose end", "Old system", "Retired", "Sales", "ship",
]  # fmt: skip


@pytest.fixture
def office(handbook: Storage) -> Office:
    return Office(handbook, Role.ANALYZER)


def rows(office: Office, query: str = "") -> list[str]:
    response = office.get(f"{LIST}?{query}")
    assert response.status_code == 200
    return names_of(response)


def test_every_element_is_listed_once_without_diagram_elements(office: Office) -> None:
    assert rows(office) == EVERYTHING


def test_a_row_shows_type_state_and_authors(office: Office) -> None:
    text = main_text(office.get(f"{LIST}?q=every"))
    assert "Handle every order Sub process Processes In process 2.1 Anna Berg" in text


def test_boxes_are_labelled_in_the_language_of_the_page(handbook: Storage) -> None:
    """The text of a box is rendered once for each language."""
    pages = {each: Office(handbook, Role.ARCHITECT, language=each).get(LIST).content.decode() for each in ("de", "en")}
    labelled = r'name="_selected_action"[^>]*aria-label="([^"]+)"'
    labels = {each: set(re.findall(labelled, page)) for each, page in pages.items()}
    assert labels == {"de": {"Eintrag auswählen"}, "en": {"Select record"}}


def test_names_are_in_the_language_of_the_page(handbook: Storage) -> None:
    german = Office(handbook, Role.ANALYZER, language="de")
    assert {"Haus", "Mannschaft", "Deutsch"} <= set(rows(german))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("facet=it", ["CRM", "ERP next", "Old system"]),
        ("facet=users", ["Anna Berg", "Ben Cole", "Crew"]),
        ("facet=none", []),
        ("type=user", ["Anna Berg", "Ben Cole"]),
        ("type=task", ["Check", "Check again"]),
        ("facet=it&type=user", []),
        ("state=inProcess", ["CRM", "ERP next", "Handle every order", "Invoice"]),
        ("state=requestToExpire", ["Loose end"]),
        ("stage=published", ["Loose end", "Sales", "ship"]),
        ("stage=retired", ["Old system", "Retired"]),
        ("stage=static&facet=processes", ["customer view", "House"]),
        (f"author={ID['anna']}", ["Handle every order"]),
        (f"author={ID['ben']}", []),
        ("author=nobody", []),
        ("owner=none&stage=draft", ["CRM", "Handle every order", "Invoice"]),
        ("owner=set&stage=draft", ["ERP next"]),
        ("owner=none&type=user", []),
        ("validity=now&facet=it", ["ERP next"]),
        ("validity=ended", ["Old system", "Retired"]),
        ("validity=ending", []),
        ("validity=nonsense", []),
        ("place=root&facet=processes", ["customer view", "House"]),
        ("place=unfiled", ["Loose end", "Retired"]),
        (f"place={ID['sales']}", ["Handle every order", "Invoice", "ship"]),
        ("diagrams=only", ["Check", "Check again", "Start", "Start"]),
        ("diagrams=with&facet=processes&stage=static", ["Check", "Check again", "customer view", "House", "Start", "Start"]),
    ],
)  # fmt: skip
def test_filters(office: Office, query: str, expected: list[str]) -> None:
    assert rows(office, query) == expected


def test_the_filter_me_finds_elements_of_the_own_user(handbook: Storage) -> None:
    anna = Office(handbook, Role.ANALYZER, Role.EDITOR, user_id=ID["anna"])
    with tenant_scope(handbook):
        version = ElementVersion.objects.get(id=ID["anna"])
        version.attributes = {**version.attributes, "roleEditor": {"127": True}}
        version.save()
    assert rows(anna, "author=me") == ["Handle every order"]


def test_validity_is_that_of_the_released_version(office: Office, handbook: Storage) -> None:
    with tenant_scope(handbook):
        ElementVersion.objects.filter(id=ID["order-2"]).update(valid_until="2999-01-01T00:00Z")
        ElementVersion.objects.filter(id=ID["erp-1"]).update(valid_from="2998-01-01T00:00Z")
    assert rows(office, "validity=notYet") == ["ERP next"]
    assert "2999-01-01" in main_text(office.get(f"{LIST}?q=every"))


def test_active_filters_can_be_removed(office: Office) -> None:
    page = office.get(f"{LIST}?facet=processes&state=inProcess").content.decode()
    assert re.findall(r'<li><span>([^<]*)<strong>([^<]*)</strong></span><a href="([^"]*)"', page) == [
        ("Facet: ", "Processes", "?state=inProcess"),
        ("State: ", "In process", "?facet=processes"),
    ]


def test_filters_and_columns_work_on_what_a_text_finds(office: Office) -> None:
    assert rows(office, "q=erp") == ["ERP next", "Handle every order"]
    assert rows(office, "q=erp&diagrams=with") == ["ERP next", "Check", "Handle every order"]
    assert rows(office, "q=erp&facet=processes") == ["Handle every order"]
    assert rows(office, "q=erp&owner=none") == ["Handle every order"]
    assert rows(office, "q=erp&diagrams=with&o=0") == ["Check", "ERP next", "Handle every order"]
    assert rows(office, "q=erp&state=nothing") == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (ID["order"], ["Handle every order"]),
        (ID["order-1"].upper(), ["Handle every order"]),
        # An element of a diagram.
        (ID["start-2"], []),
        ("nirgends", []),
        # Not an id, but the number of a culture.
        ("1031", ["German"]),
    ],
)
def test_an_id_is_a_search_text(office: Office, text: str, expected: list[str]) -> None:
    assert rows(office, f"q={text}") == expected


def test_the_list_tells_why_it_is_empty(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    page = office.get(f"{LIST}?q=everry&facet=processes&p=2").content.decode()
    assert 'Did you mean <a class="el-link" href="?facet=processes&amp;q=every">every</a>?' in page
    assert "Search for at most ten words" in office.page(f"{LIST}?q=-order")
    assert "These words are so frequent" not in office.page(f"{LIST}?q=order")
    monkeypatch.setattr("elements.search.finding.MOST_CANDIDATES", 0)
    assert "These words are so frequent" in office.page(f"{LIST}?q=order")


def test_pages_continue_in_the_order_of_a_search(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    narrowed = ("q=erp&diagrams=with", "q=erp&diagrams=with&owner=none", "q=anna&facet=processes", "q=erp&type=task")
    expected = [rows(office, each) for each in narrowed]
    monkeypatch.setattr(ElementAdmin, "list_per_page", 2)
    whole, searched = rows_of_pages(office, ""), rows_of_pages(office, "q=anna")
    assert whole == EVERYTHING
    assert searched == ["Anna Berg", "ERP next", "Handle every order", "House"]
    assert [rows_of_pages(office, each) for each in narrowed] == expected


def test_a_search_that_types_narrow_reads_the_hits_of_the_page(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []

    def noted(*arguments: Any, **more: Any) -> Any:
        found = find(*arguments, **more)
        read.append(len(found.found.versions) if found else 0)
        return found

    monkeypatch.setattr("elements.admin.searching.find", noted)
    monkeypatch.setattr(ElementAdmin, "list_per_page", 1)
    for query in ("", "&facet=processes", "&diagrams=with", "&type=subProcess", "&diagrams=with&p=2", "&owner=none"):
        office.get(f"{LIST}?q=erp{query}")
    assert read == [2, 1, 2, 1, 3, 3]


def rows_of_pages(office: Office, query: str) -> list[str]:
    found: list[str] = []
    for page in range(1, 20):
        response = office.get(f"{LIST}?p={page}&{query}")
        found += names_of(response)
        if 'rel="next"' not in response.content.decode():
            return found
    raise AssertionError("the pages never end")


def test_the_other_tenant_with_the_same_ids_has_its_own_list(handbook: Storage, office: Office) -> None:
    rival = Storage.objects.get(collection__key="rival", key="handbook")
    assert rows(Office(rival, Role.ANALYZER)) == sorted((f"Rival {name}" for name in EVERYTHING), key=str.casefold)
    assert Office(rival, Role.ANALYZER).get(f"/acme/handbook/admin/{LIST}").status_code == 404


def test_adding_is_offered_only_with_permission(handbook: Storage, office: Office) -> None:
    add = "/acme/handbook/admin/elements/element/add/"
    assert add not in office.get(LIST).content.decode()
    assert add in Office(handbook, Role.EDITOR).get(LIST).content.decode()


@pytest.fixture(scope="module")
def sample(filled_storage: StorageMaker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Storage]:
    """demo/sample with 1,400 elements."""
    path = tmp_path_factory.mktemp("sample") / "lines.ndjson"
    path.write_bytes(b"".join(sample_lines(1_000)))
    with filled_storage(path, collection="demo", key="sample", template="standard") as storage:
        yield storage


def statements(office: Office, path: str) -> list[str]:
    with CaptureQueriesContext(connection) as captured:
        response = office.get(path)
    assert response.status_code == 200
    return [each["sql"] for each in captured.captured_queries]


@pytest.mark.parametrize(
    ("query", "most"),
    [
        ("", 1000 if IS_FULL else 200),
        ("facet=processes&state=released", 100),
        ("q=order", 100),
        (f"author={ID['anna']}", 100),
        ("owner=none", 100),
    ],
)
def test_a_page_costs_the_same_with_ten_rows_and_with_many(
    sample: Storage, monkeypatch: pytest.MonkeyPatch, query: str, most: int
) -> None:
    office = Office(sample, Role.ADMINISTRATOR)
    office.get("elements/tree/")
    costs = []
    for size in (10, most):
        monkeypatch.setattr(ElementAdmin, "list_per_page", size)
        costs.append(statements(office, f"{LIST}?{query}"))
    assert len(costs[0]) == len(costs[1])
    # A search counts its hits, and a filter the elements among which it looks (D650): both numbers are bounded.
    parts = [part for found in costs for sql in found for part in sql.split("SELECT ROW(part.*)")]
    counting = [sql for sql in parts if re.search(r"count\s*\(", sql, re.IGNORECASE)]
    unbounded = [sql for sql in counting if not re.search(r"elements_searchdocument|LIMIT [0-9]+\) subquery$", sql)]
    assert [sql for sql in unbounded if "elements_element" in sql] == []


def explained(storage: Storage, office: Office, path: str) -> str:
    """Return the plan of the statement that finds the page."""
    sql = next(each for each in statements(office, path) if 'ORDER BY "elements_elementversion"."sort_name"' in each)
    with tenant_scope(storage), connection.cursor() as cursor:
        cursor.execute("ANALYZE elements_element, elements_elementversion")
        # So few rows would be sorted; the test asks whether the index can be used.
        cursor.execute("SET LOCAL enable_sort = off")
        cursor.execute(f"EXPLAIN {sql}")
        return "\n".join(row[0] for row in cursor.fetchall())


def test_a_page_is_found_by_the_index_of_names(sample: Storage) -> None:
    plan = explained(sample, Office(sample, Role.ADMINISTRATOR), LIST)
    assert "version_by_name" in plan, plan
    assert "Seq Scan" not in plan, plan


def test_a_portion_is_found_by_the_index_of_names(sample: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    """PostgreSQL must estimate its bounds, or it reads the whole table (D650)."""
    monkeypatch.setattr(filters, "MOST_LOOKED_UP", 20)
    office = Office(sample, Role.ADMINISTRATOR)
    page = office.get(f"{LIST}?owner=none").content.decode()
    [following] = set(re.findall(r'rel="next" href="([^"]*)', page))
    plan = explained(sample, office, LIST + html.unescape(following))
    assert "version_by_name" in plan, plan
    assert "Seq Scan" not in plan, plan
    [rows_expected] = re.findall(r"version_by_name .*rows=([0-9]+)", plan)
    assert int(rows_expected) < 100, plan


def test_choices_are_searched_among_allowed_types(office: Office) -> None:
    def choices(query: str) -> Any:
        return office.get(f"elements/choices/?{query}").json()

    assert choices("types=user")["results"] == [
        {"id": ID["anna"], "text": "Anna Berg", "type": "User", "color": "#007ACC", "state": ""},
        {"id": ID["ben"], "text": "Ben Cole", "type": "User", "color": "#007ACC", "state": ""},
    ]
    assert [each["text"] for each in choices("type=subProcess&context=systems&term=e")["results"]] == ["ERP next"]
    assert [each["text"] for each in choices("types=subProcess,system&term=erp")["results"]] == [
        "ERP next", "Handle every order",
    ]  # fmt: skip
    assert choices("types=user&term=-anna") == {"results": [], "pagination": {"more": False}}
    assert [each["text"] for each in choices("parent=subProcess&term=sa")["results"]] == ["Sales"]
    assert choices("types=user&page=2") == {"results": [], "pagination": {"more": False}}
    assert office.get("elements/choices/?types=nothing").status_code == 404
    assert office.get("elements/choices/?type=subProcess&context=nothing").status_code == 404


def test_the_filter_by_owner_also_offers_to_have_none(handbook: Storage, office: Office) -> None:
    """The select shows nothing but what the address of its choices returns."""
    anna = Office(handbook, Role.ANALYZER, Role.EDITOR, user_id=ID["anna"])
    with tenant_scope(handbook):
        version = ElementVersion.objects.get(id=ID["anna"])
        version.attributes = {**version.attributes, "roleEditor": {"127": True}}
        version.save()
    for visitor, fixed in ((office, ["none", "set"]), (anna, ["none", "set", "me"])):
        page = html.unescape(visitor.get(LIST).content.decode())
        [address] = re.findall(r'data-ajax--url="([^"]*fixed=none[^"]*)"', page)
        found = [each["id"] for each in visitor.get(address).json()["results"]]
        assert found[: len(fixed)] == fixed
        assert ID["anna"] in found
        assert [each["text"] for each in visitor.get(f"{address}&term=anna").json()["results"]] == ["Anna Berg"]
    assert "none" not in [each["id"] for each in office.get("elements/choices/?types=user&fixed=x").json()["results"]]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (f"owner={ID['anna']}", None),
        ("owner=nobody", []),
        ("untranslated=1036", []),
    ],
)
def test_filters_by_owner_and_missing_translation(office: Office, query: str, expected: list[str] | None) -> None:
    found = rows(office, query)
    if expected is None:
        assert set(found) <= set(rows(office, "owner=set"))
    else:
        assert found == expected


def test_untranslated_elements_have_a_text_without_this_culture(office: Office, handbook: Storage) -> None:
    with tenant_scope(handbook):
        newest = ElementVersion.objects.filter(id__in=Element.objects.values("newest_id"))
        texts = {
            str(each.element_id): [
                values for name, values in each.attributes.items() if name in ("name", "description", "scope")
            ]
            for each in newest
        }
        # A blank text in the only culture is not translated into others (D484).
        [sample] = newest.filter(element_id=ID["invoice"])
        sample.attributes |= {"scope": {"1033": " "}, "name": {"1031": "Rechnung", "1033": "Invoice"}}
        sample.save()
    texts[ID["invoice"]] = [values for name, values in sample.attributes.items() if name == "description"]
    missing = {id for id, values in texts.items() if any(each and not each.get("1031") for each in values)}
    assert missing < texts.keys()
    found = office.get(f"{LIST}?untranslated=1031&diagrams=with").content.decode()
    shown = set(re.findall(r'name="_selected_action" value="([^"]+)"', found)) or set(
        re.findall(r"/elements/element/([0-9a-f-]{36})/change", found)
    )
    assert shown == missing - {ID["token"]}, "only administrators can open tokens"


@pytest.mark.parametrize("column", range(1, 9))
def test_every_column_can_be_sorted_by(office: Office, column: int) -> None:
    up, down = (set(rows(office, f"o={sign}{column}")) for sign in ("", "-"))
    assert up == down == set(EVERYTHING)


def test_versions_are_sorted_by_their_numbers(handbook: Storage, office: Office) -> None:
    columns = ElementAdmin.list_display
    place = columns.index("version") + 1
    texts = [
        re.search(r"\b(\d+)\.(\d+)\b", each) for each in _texts(office, f"facet=processes&stage=published&o={place}")
    ]
    numbers = [(int(each[1]), int(each[2])) for each in texts if each]
    assert numbers == sorted(numbers)


def _texts(office: Office, query: str) -> list[str]:
    page = office.get(f"{LIST}?{query}").content.decode()
    return [re.sub(r"<[^>]+>", " ", each) for each in re.findall(r"<tr[^>]*>(.*?)</tr>", page, re.DOTALL)]


def test_cells_are_those_of_the_theme(handbook: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    office = Office(handbook, Role.ANALYZER)
    pages = []
    for is_plain in (True, False):
        monkeypatch.setattr(ElementAdmin, "has_plain_cells", is_plain)
        for query in ("", "columns=state,owner,element_id&owner=set", "columns=a.description&o=-2&_popup=1"):
            page = office.get(f"{LIST}?{query}").content.decode()
            pages.append(re.findall(r"<t[hd] class.*?</t[hd]>", page, re.DOTALL))
    assert pages[:3] == pages[3:]
    assert min(len(page) for page in pages) > 5


def test_the_column_of_types(office: Office) -> None:
    """Its name is that of a field, which the list does not read."""
    assert "Anna Berg User User Ben Cole" in main_text(office.get(f"{LIST}?columns=type"))
    up, down = (rows(office, f"columns=type&o={sign}1") for sign in ("", "-"))
    assert up != down
    assert sorted(up) == sorted(down) == sorted(EVERYTHING)
