"""One meaning of a search text in the API, on reader pages and in the back office (D104)."""

from __future__ import annotations

import re
from urllib.parse import quote
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from elements.models import Element
from elements.reading.rows import Audience
from elements.search.ids import versions_with_id
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.elements.handbook import ID
from tests.elements.office import Office, names_of
from tests.elements.reader_page import read_page
from tests.scale import first_quick

pytestmark = pytest.mark.django_db
ROOT = "/acme/handbook"
FILL = """INSERT INTO elements_element (id, creation_id, type_id, position)
    SELECT gen_random_uuid(), gen_random_uuid(), t.id, 0
    FROM generate_series(1, 5000) AS n, (SELECT f.id FROM facets_elementtype f LIMIT 1) t"""


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
    first_quick(
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
        3,
    ),
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


@pytest.mark.one_node("reads the plan of one PostgreSQL server")
@pytest.mark.parametrize("sees_drafts", [True, False])
def test_an_id_is_looked_up_in_indexes(handbook: Storage, sees_drafts: bool) -> None:
    """Row-level security would keep a condition with several meanings of the id from using them."""
    with tenant_scope(handbook), CaptureQueriesContext(connection) as sent:
        versions_with_id(Audience(sees_drafts, frozenset({ID["token"]})), ID["order"])
    with tenant_scope(handbook), connection.cursor() as cursor:
        # Among few rows, any index would do.
        cursor.execute(FILL)
        cursor.execute("ANALYZE elements_element, elements_elementversion")
        cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off")
        cursor.execute(f"EXPLAIN (COSTS OFF) {sent[-1]['sql']}")
        plan = [row[0].strip() for row in cursor.fetchall()]
    bounds = [line for line in plan if line.startswith("Index Cond")]
    assert not [line for line in plan if "Seq Scan on elements" in line], plan
    assert [line for line in plan if "element_by_creation" in line]
    assert len(bounds) >= 4
    assert [line for line in bounds if not re.search(r"[( ](creation_id|published_id|id) = ", line)] == [], plan


def test_a_viewer_finds_no_element_by_an_unpublished_version(handbook: Storage, office: Office) -> None:
    assert in_office(office, ID["order-3"]) == ["Handle every order"]
    assert on_pages(Client(), ID["order-3"]) == []
