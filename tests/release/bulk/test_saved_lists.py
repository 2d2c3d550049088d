"""Saved lists and chosen columns of the element list (D475)."""

from __future__ import annotations

import pytest
from django.db import connection
from django.http import QueryDict
from django.test.utils import CaptureQueriesContext
from django.urls import set_urlconf

from elements.admin import saved_lists
from elements.admin.lists import ElementAdmin
from elements.models import SavedList
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.elements.office import Office, main_text, names_of
from tests.release.house import ID, HouseClient, Wire, user

pytestmark = pytest.mark.django_db
LIST = "elements/element/"


@pytest.fixture
def office(house: Storage) -> Office:
    return Office(house, Role.EDITOR)


def test_a_list_is_saved_opened_and_deleted(office: Office, house: Storage, rival: Storage) -> None:
    query = "facet=processes&state=inProcess&o=-2"
    saved = office.post("elements/lists/save/", {"name": " My drafts ", "list": f"{query}&p=3"})
    assert saved["Location"].endswith(f"?{query}")
    page = office.get(LIST)
    assert f"?{query}".replace("&", "&amp;") in page.content.decode()
    assert "My drafts" in main_text(page)
    assert names_of(office.get(f"{LIST}?{query}")) == ["inProcess-1"]
    assert "My drafts" not in main_text(Office(house, Role.EDITOR).get(LIST)), "lists are private"
    with tenant_scope(house):
        found = SavedList.objects.get()
    Office(house, Role.EDITOR).post(f"elements/lists/{found.id}/delete/")
    assert "My drafts" in main_text(office.get(LIST))
    office.post(f"elements/lists/{found.id}/delete/")
    assert "My drafts" not in main_text(office.get(LIST))


def test_the_same_name_replaces_a_list(office: Office, house: Storage) -> None:
    for query in ("state=inProcess", "state=released"):
        office.post("elements/lists/save/", {"name": "Mine", "list": query})
    with tenant_scope(house):
        assert [each.query for each in SavedList.objects.all()] == ["state=released"]


def test_saved_lists_are_bounded(office: Office, house: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saved_lists, "MOST_LISTS", 1)
    assert office.post("elements/lists/save/", {"name": "One", "list": ""}).status_code == 302
    assert office.post("elements/lists/save/", {"name": "Two", "list": ""}).status_code == 422
    assert office.post("elements/lists/save/", {"name": "One", "list": "q=" + "x" * 5000}).status_code == 422
    # A list must not be cut, even if it is short enough without its page.
    long = "p=12345678&q=" + "x" * (saved_lists.LONGEST_QUERY - 5)
    assert office.post("elements/lists/save/", {"name": "One", "list": long}).status_code == 422
    office.post("elements/lists/save/", {"name": " ", "list": ""})
    assert office.get("elements/lists/save/").status_code == 405
    with tenant_scope(house):
        assert [each.name for each in SavedList.objects.all()] == ["One"]


def test_columns_are_chosen(office: Office) -> None:
    page = office.get(
        "elements/lists/columns/?list=facet%3Dprocesses%26o%3D2&column=type&column=owner&column=element_id"
    )
    assert page["Location"].endswith("?facet=processes&columns=type%2Cowner%2Celement_id")
    shown = office.get(page["Location"])
    text = shown.content.decode()
    assert [each for each in ("column-type", "column-owner", "column-state", "column-version") if each in text] == [
        "column-type",
        "column-owner",
    ]
    assert f"Ben {ID['released']}" in main_text(shown)
    assert names_of(office.get(f"{LIST}?columns=nonsense&facet=processes")) == names_of(shown)


@pytest.fixture
def drafts(caller: HouseClient) -> None:
    """Drafts whose purposes have different letters and cultures, with and without an owner."""
    made: list[Wire] = [
        {"attributes": {"name": {"1033": "Zoo"}, "purp": {"1033": "zebra"}}, "related": {"owner": [user("cora")]}},
        {"attributes": {"name": {"1033": "Anger"}, "purp": {"1031": "Ärger", "1033": " "}}},
        {"attributes": {"name": {"1033": "Empty"}}, "related": {"owner": [user("anna")]}},
    ]
    assert caller.update(*({"type": "subProcess", **each} for each in made)).status_code == 200


DRAFTS = f"{LIST}?facet=processes&state=inProcess"


def test_attributes_are_columns(office: Office, house: Storage, drafts: None) -> None:
    options = office.get(f"{LIST}?facet=processes").content.decode()
    assert 'name="column" value="a.purp"' in options
    assert 'value="a.roleEditor"' not in options
    page = office.get(f"{DRAFTS}&columns=a.purp,a.nonsense,a.name,a.description")
    assert "Anger Sub process Ärger" in main_text(page)
    assert "inProcess-1 Sub process Purpose" in main_text(page)
    assert 'value="a.purp" checked' in page.content.decode()
    assert page.content.decode().count("column-attribute-") == 1


def test_private_attributes_are_columns_for_administrators_only(office: Office, house: Storage) -> None:
    query = f"{LIST}?type=user&columns=a.roleEditor"
    assert b"column-attribute-roleEditor" not in office.get(query).content
    assert b"column-attribute-roleEditor" in Office(house, Role.ADMINISTRATOR).get(query).content


@pytest.mark.parametrize(
    ("columns", "ascending", "descending"),
    [
        ("a.purp", ["Anger", "inProcess-1", "Zoo", "Empty"], ["Zoo", "inProcess-1", "Anger", "Empty"]),
        ("owner", ["Empty", "inProcess-1", "Zoo", "Anger"], ["Zoo", "inProcess-1", "Empty", "Anger"]),
    ],
)
def test_missing_values_come_last_in_both_directions(
    office: Office, drafts: None, columns: str, ascending: list[str], descending: list[str]
) -> None:
    assert names_of(office.get(f"{DRAFTS}&columns={columns}&o=2")) == ascending
    assert names_of(office.get(f"{DRAFTS}&columns={columns}&o=-2")) == descending


def test_selected_values_are_sorted_by_their_labels(house: Storage, caller: HouseClient) -> None:
    """German labels have another order than English ones, and than the keys (D458)."""
    maturities = ("implemented", "trained", "isLived", "defined")
    made = [
        {"type": "subProcess", "attributes": {"name": {"1033": each}, "processMaturity": {"127": each}}}
        for each in maturities
    ]
    assert caller.update(*made, {"type": "subProcess", "attributes": {"name": {"1033": "none"}}}).status_code == 200
    expected = {
        "en": ["defined", "implemented", "isLived", "trained"],
        "de": ["defined", "isLived", "trained", "implemented"],
    }
    for language, names in expected.items():
        office = Office(house, Role.EDITOR, language=language)
        for sign, ordered in (("", names), ("-", names[::-1])):
            found = names_of(office.get(f"{DRAFTS}&columns=a.processMaturity&o={sign}2"))
            assert [each for each in found if each in maturities] == ordered
            assert found[-1] not in maturities, "without a value"


@pytest.mark.long
def test_every_shown_column_has_an_order(office: Office, house: Storage) -> None:
    chosen = ",".join([*ElementAdmin.known_columns, "a.purp", "a.scope"])
    listed = office.get(f"{LIST}?columns={chosen}")
    found, request = listed.context_data["cl"], listed.wsgi_request
    columns = [each for each in found.list_display if each != "action_checkbox"]
    assert len(columns) == len(ElementAdmin.known_columns) + 2
    assert all(found.get_ordering_field(each) for each in columns)

    def rows(order: str) -> list[str]:
        """Return the sorted rows of the list without rendering its page."""
        request.GET = QueryDict(f"columns={chosen}&o={order}")
        return sorted(str(each.pk) for each in found.model_admin.get_changelist_instance(request).result_list)

    set_urlconf(request.urlconf)
    with tenant_scope(house):
        everything = rows("1")
        for number in range(1, len(columns) + 1):
            assert rows(f"{number}") == rows(f"-{number}") == everything != []
    last = names_of(office.get(f"{LIST}?columns={chosen}&o=-{len(columns)}"))
    assert len(last) == len(everything)


def test_columns_need_one_statement_for_any_number_of_rows(office: Office, drafts: None) -> None:
    counts = []
    for query in ("state=inReview", "state=inProcess"):
        with CaptureQueriesContext(connection) as statements:
            office.get(f"{LIST}?facet=processes&{query}&columns=a.purp,a.scope,owner")
        counts.append(len(statements))
    assert counts[0] == counts[1]
