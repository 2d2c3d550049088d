"""One meaning of a search text in the API, on reader pages and in the back office (D104)."""

from __future__ import annotations

from urllib.parse import quote
from uuid import uuid4

import pytest
from django.test import Client

from elements.models import Element
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.elements.handbook import ID
from tests.elements.office import Office, names_of
from tests.elements.reader_page import read_page

pytestmark = pytest.mark.django_db
ROOT = "/acme/handbook"


@pytest.fixture
def office(handbook: Storage) -> Office:
    return Office(handbook, Role.ANALYZER)


def in_office(office: Office, text: str) -> list[str]:
    return names_of(office.get(f"elements/element/?diagrams=with&q={quote(text)}"))


def on_pages(client: Client, text: str) -> list[str]:
    response = client.get(f"{ROOT}/1033/search?q={quote(text)}")
    assert response.status_code == 200
    links = read_page(response.content.decode()).links
    return [name for name, address in links if any(address.endswith(f"/{each}") for each in ID.values())]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("er", ["ERP next", "Check", "Handle every order"]),
        ("ORDER handle", ["Handle every order"]),
        ("mannSCHAFT", ["Crew", "Anna Berg"]),
        ("prüfen", ["Check"]),
        ("order -handle", []),
        ("-order", []),
        ("%", []),
        ("it's", []),
        ("00000000-0000-4000-8000-000000000000", []),
    ],
)
def test_pages_find_the_same_elements_in_the_same_order(office: Office, text: str, expected: list[str]) -> None:
    assert in_office(office, text) == expected
    assert on_pages(office.client, text) == expected


def test_copies_are_found_by_the_id_of_the_first_one(handbook: Storage, office: Office) -> None:
    gone = uuid4()
    with tenant_scope(handbook):
        Element.objects.filter(id=ID["check-3"]).update(creation_id=gone)
    assert in_office(office, str(gone).upper()) == ["Check again"]
    assert on_pages(office.client, str(gone)) == ["Check again"]
    # The copy belongs to a draft.
    assert on_pages(Client(), str(gone)) == []


def test_a_viewer_finds_no_element_by_an_unpublished_version(handbook: Storage, office: Office) -> None:
    assert in_office(office, ID["order-3"]) == ["Handle every order"]
    assert on_pages(Client(), ID["order-3"]) == []
