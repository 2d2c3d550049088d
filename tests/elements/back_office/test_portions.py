"""Pages that test a part of a storage at a time show the same elements as one page that tests all (D650)."""

from __future__ import annotations

import csv
import html
import re
from urllib.parse import urlencode

import pytest
from django.db.models import F

from elements.admin.bulk import pages
from elements.admin.cultures import translations
from elements.admin.listing import filters
from elements.models import BulkRun, Element, ElementVersion
from elements.reading.lists.portions import read_portion
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.elements.handbook import ID
from tests.elements.office import Office, main_text
from tests.scale import first_quick

pytestmark = pytest.mark.django_db
LIST, TRANSLATIONS = "elements/element/", "translations/"
GONE = "ffffffff-0000-4000-8000-000000000000"


@pytest.fixture
def office(handbook: Storage) -> Office:
    with tenant_scope(handbook):
        # The id of the version decides between equal names.
        ElementVersion.objects.filter(element_id__in=[ID["anna"], ID["ben"], ID["invoice"]]).update(sort_name="same")
    return Office(handbook, Role.ANALYZER, Role.ADMINISTRATOR)


def elements_of(page: str) -> list[str]:
    return list(dict.fromkeys(re.findall(r"/elements/element/([0-9a-f-]{36})/change", page)))


def followed(office: Office, path: str) -> tuple[list[str], int]:
    """Return the elements of all pages in their order, and the number of pages."""
    address, found, pages = path, list[str](), 0
    while address:
        response = office.get(address)
        assert response.status_code == 200
        page = response.content.decode()
        text = page[page.index('id="content"') :]
        found += elements_of(text)
        pages += 1
        next_page = re.search(r'<a [^>]*?rel="next" href="([^"]*)"|<a [^>]*?href="([^"]*)">Next page', text)
        target = html.unescape(next_page[1] or next_page[2]) if next_page else ""
        address = target if target.startswith("/") or not target else path.partition("?")[0] + target
        assert pages < 100
    return found, pages


@pytest.mark.parametrize(
    ("path", "query", "pages"),
    first_quick(
        [
            (LIST, {"owner": "none", "o": "-1"}, 8),
            (TRANSLATIONS, {"culture": "1031"}, 8),
            (LIST, {"owner": "none", "diagrams": "with"}, 8),
            (LIST, {"owner": "set", "o": "1"}, 8),
            (LIST, {"untranslated": "1031"}, 8),
            # Few elements are all tested.
            (LIST, {"untranslated": "1031", "facet": "processes"}, 0),
            (TRANSLATIONS, {"culture": "1033", "facet": "users"}, 0),
        ],
        2,
    ),
)
def test_portions_show_what_one_page_shows(
    office: Office, monkeypatch: pytest.MonkeyPatch, path: str, query: dict[str, str], pages: int
) -> None:
    address = f"{path}?{urlencode(query)}"
    whole, one = followed(office, address)
    assert one == 1
    for module, name in ((filters, "MOST_LOOKED_UP"), (filters, "MOST_READ"), (translations, "MOST_READ")):
        monkeypatch.setattr(module, name, 3)
    found, number = followed(office, address)
    assert found == whole
    assert number > pages


def test_full_pages_of_portions(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that is full ends with its last element, and the next one begins there."""
    address = f"{LIST}?untranslated=1031&diagrams=with"
    whole, _pages = followed(office, address)
    monkeypatch.setattr(filters, "MOST_READ", 7)
    monkeypatch.setattr("elements.admin.lists.ElementAdmin.list_per_page", 2)
    assert followed(office, address)[0] == whole


def test_a_page_says_what_it_has_tested(handbook: Storage, office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filters, "MOST_LOOKED_UP", 4)
    page = office.page(f"{LIST}?owner=none")
    assert (
        "This page has tested 4 versions, in the order of their names. There may be more elements. Continue searching"
        in page
    )
    assert "Page 1" not in page
    monkeypatch.setattr(translations, "MOST_READ", 1)
    assert "No element found so far." in office.page(f"{TRANSLATIONS}?culture=1033")
    assert "No element found so far." in office.page(f"{LIST}?validity=ended")
    with tenant_scope(handbook):
        last = ElementVersion.objects.order_by("sort_name", "id").values_list("id", flat=True).last()
    for path in (f"{TRANSLATIONS}?culture=1033", f"{LIST}?validity=ended"):
        assert "No more elements." in office.page(f"{path}&after={last}")
    # An index finds the elements of an owner, and those of a short list are all tested.
    for query in (f"owner={ID['anna']}", "owner=none&facet=users"):
        assert "has tested" not in office.page(f"{LIST}?{query}")
    assert office.page(f"{LIST}?owner=none&after={GONE}") == page


def test_a_long_list_is_sorted_by_indexes_only(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    by_version, by_change, by_name = f"{LIST}?o=4", f"{LIST}?o=7", LIST
    sorted_by_change = followed(office, by_change)
    monkeypatch.setattr("elements.admin.listing.bounded_lists.MOST_SORTED", 5)
    assert followed(office, by_version) == followed(office, by_name)
    assert followed(office, by_change) == sorted_by_change
    note = "This list looks through more than 5 elements, so it is sorted by name."
    assert [note in office.page(each) for each in (by_version, by_change, by_name)] == [True, False, False]
    # Filters make the list short enough.
    short = f"{by_version}&facet=users"
    assert note not in office.page(short)
    monkeypatch.setattr(filters, "MOST_LOOKED_UP", 4)
    page = office.page(f"{by_version}&owner=none")
    assert note.replace("5", "4") in page
    assert "has tested 4 versions" in page


def test_elements_of_a_frequent_target(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    address = f"{LIST}?author={ID['anna']}&diagrams=with"
    found, _pages = followed(office, address)
    assert found
    monkeypatch.setattr(filters, "MOST_REFERENCES", 1)
    assert followed(office, address) == (found, 1)
    monkeypatch.setattr(filters, "MOST_LOOKED_UP", 3)
    assert followed(office, address)[0] == found


def test_lists_have_a_last_page(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("elements.admin.listing.bounded_lists.BoundedList.last_page", 2)
    monkeypatch.setattr("elements.admin.lists.ElementAdmin.list_per_page", 3)
    more = "More entries follow. Use filters or the search to find them."
    first, last, later = (office.get(f"{LIST}?p={page}").content.decode() for page in (1, 2, 3))
    assert [more in page for page in (first, last, later)] == [False, True, True]
    assert ['rel="next"' in page for page in (first, last, later)] == [True, False, False]
    assert elements_of(last) == elements_of(later) != elements_of(first)


def test_the_address_of_a_list_has_no_place(handbook: Storage, office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """Links to all elements of the list, and to the list in another order, do not begin at the portion."""
    monkeypatch.setattr(filters, "MOST_LOOKED_UP", 5)
    with tenant_scope(handbook):
        start = read_portion(5, None).until
    assert start
    page = office.get(f"{LIST}?owner=none&after={start.version}").content.decode()
    [following] = set(re.findall(r'rel="next" href="([^"]*)', page))
    assert set(re.findall(r"""[^"' ]*after=[^"' ]*""", page)) == {following}
    assert 'rel="first" href="?owner=none"' in page
    assert 'name="after"' not in page


def test_changing_all_elements_keeps_the_filter_by_place(office: Office) -> None:
    """Django removes all parameters that begin with p together with the number of the page."""
    page = office.get(f"{LIST}?place=root").content.decode()
    [address] = re.findall(r'href="([^"]*/elements/bulk/[?][^"]*)"', page)
    assert address.endswith("?place=root")
    assert set(re.findall(r'href="([^"]*/table/[^"]*)"', page)) == {
        f"/acme/handbook/admin/elements/element/table/{each}/?place=root" for each in ("csv", "xlsx")
    }


@pytest.mark.parametrize("filters_of_list", ["", "&o=1"])
def test_bulk_changes_and_exports_have_the_hits_of_all_pages(
    office: Office, monkeypatch: pytest.MonkeyPatch, filters_of_list: str
) -> None:
    query = f"q=erp&diagrams=with{filters_of_list}"
    every = elements_of(office.get(f"{LIST}?{query}").content.decode())
    assert len(every) == 3
    monkeypatch.setattr("elements.admin.lists.ElementAdmin.list_per_page", 1)
    assert followed(office, f"{LIST}?{query}") == (every, 3)
    assert "All 3 elements of the list" in office.page(f"elements/bulk/?{query}")
    table = csv.DictReader(
        b"".join(office.get(f"elements/element/table/csv/?{query}")).decode("utf-8-sig").splitlines()
    )
    assert sorted(row["id"] for row in table) == sorted(every)


def test_bulk_changes_do_not_count_what_a_page_would_not_test(
    handbook: Storage, office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page offers the operations of all types that the filters allow. The preview has the elements that match."""
    counted = main_text(office.get("elements/bulk/?owner=none&facet=it"))
    every = followed(office, f"{LIST}?owner=none&facet=it")[0]
    assert f"All {len(every)} elements of the list" in counted
    monkeypatch.setattr(filters, "MOST_LOOKED_UP", 1)
    uncounted = main_text(office.get("elements/bulk/?owner=none&facet=it"))
    assert uncounted == counted.replace(f"All {len(every)} elements", "All elements")
    data = {"scope": "all", "list": "owner=none&facet=it", "what": "clear:owner"}
    report = Office(handbook, Role.ARCHITECT).post("elements/bulk/", data)["Location"]
    with tenant_scope(handbook):
        assert sorted(map(str, BulkRun.objects.get(pk=report.split("/")[-2]).elements)) == sorted(every)


def test_a_list_with_too_many_elements_for_a_bulk_change_keeps_what_was_typed(
    handbook: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    office, refusal = Office(handbook, Role.ARCHITECT), "The list has more than 1 elements, the limit of one change."
    monkeypatch.setattr(pages, "MOST", 1)
    for most_looked_up in (1, filters.MOST_LOOKED_UP):
        monkeypatch.setattr(filters, "MOST_LOOKED_UP", most_looked_up)
        data = {"scope": "all", "list": "owner=none&facet=it", "what": "set:name"}
        asked = main_text(office.post("elements/bulk/", data))
        assert refusal in asked
        assert asked.endswith("Next Cancel")
        both = office.post("elements/bulk/", {**data, "element": [ID["order"]]}).content.decode()
        assert 'value="selected" checked>' in both
        assert 'value="all" disabled>' in both
        typed = office.post("elements/bulk/", {**data, "a-name-1033": "New name", "preview": "1"})
        assert refusal in main_text(typed)
        assert "New name</textarea>" in typed.content.decode()
    with tenant_scope(handbook):
        assert not BulkRun.objects.exists()


@pytest.mark.parametrize(
    "query",
    first_quick(
        [
            "untranslated=1033&validity=now",
            "type=task",
            "untranslated=1031",
            "owner=none&untranslated=1031",
            "untranslated=1031&state=released",
            "validity=now",
            "validity=ended",
            "validity=notYet",
            "owner=none",
            "stage=published",
            "stage=retired&diagrams=only",
            "place=root",
            "place=unfiled&diagrams=with",
            "diagrams=only",
            "type=nonsense",
            "q=order",
            "q=order&type=task",
            "owner=none&type=evStart",
        ],
        2,
    ),
)
def test_the_page_of_a_bulk_change_counts_the_elements_of_the_list(handbook: Storage, query: str) -> None:
    """The same holds after the form was sent, although its address has no filters."""
    office = Office(handbook, Role.ARCHITECT)
    with tenant_scope(handbook):
        # The list tests newest versions, which have fewer translations than the released ones.
        only_english = {"name": {"1033": "Only English"}}
        newest = Element.objects.exclude(published=None).exclude(published=F("newest")).values("newest_id")
        assert ElementVersion.objects.filter(id__in=newest).update(attributes=only_english)
    every = followed(office, f"{LIST}?{query}")[0]
    page = office.get(f"elements/bulk/?{query}")
    form = {"scope": "all", "list": query, "what": "delete"}
    response = office.post("elements/bulk/", form)
    if not every:
        assert (page.status_code, response.status_code) == (404, 404)
        return
    counted = "The only element" if len(every) == 1 else f"All {len(every)} elements"
    assert f"{counted} of the list" in main_text(page)
    with tenant_scope(handbook):
        run = BulkRun.objects.get(pk=response["Location"].split("/")[-2])
    assert sorted(map(str, run.elements)) == sorted(every)


def test_nothing_is_changed_if_no_element_matches(
    handbook: Storage, office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filters, "MOST_LOOKED_UP", 1)
    query = "stage=published&facet=it"
    assert followed(office, f"{LIST}?{query}")[0] == []
    assert "All elements of the list" in main_text(office.get(f"elements/bulk/?{query}"))
    form = {"scope": "all", "list": query, "what": "clear:owner"}
    assert Office(handbook, Role.ARCHITECT).post("elements/bulk/", form).status_code == 404
    with tenant_scope(handbook):
        assert not BulkRun.objects.exists()


def test_a_filter_shows_a_value_that_it_does_not_offer(office: Office) -> None:
    page = office.get(f"{LIST}?type=<gone>").content.decode()
    assert '<option value="&lt;gone&gt;" selected>&lt;gone&gt;</option>' in page
    assert elements_of(page) == []


def test_portions_cover_all_versions_once(handbook: Storage) -> None:
    with tenant_scope(handbook):
        every = list(ElementVersion.objects.order_by("sort_name", "id").values_list("id", flat=True))
        for is_descending in (False, True):
            found, after = list[object](), None
            while True:
                portion = read_portion(4, after, is_descending=is_descending)
                limits = portion.condition("elements_elementversion")
                inside = ElementVersion.objects.extra(where=[limits.sql], params=[*limits.parameters])
                found += inside.order_by("sort_name", "id").values_list("id", flat=True)[:: -1 if is_descending else 1]
                if portion.until is None:
                    break
                assert inside.count() == 4
                after = portion.until.version
            assert found == (every[::-1] if is_descending else every)
        assert Element.objects.count() < len(every)
        assert read_portion(4, GONE) == read_portion(4, None)
