"""Saved lists and chosen columns of the element list (D475)."""

from __future__ import annotations

import pytest

from elements.admin import saved_lists
from elements.models import SavedList
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.elements.office import Office, main_text, names_of
from tests.release.house import ID

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
