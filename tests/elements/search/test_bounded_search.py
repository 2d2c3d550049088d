"""A search takes a limited time and a limited memory, whatever the texts of the hits are (D188, D383, D433)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import Settings

from elements.search.excerpts import plain_text
from elements.search.spelling import distance
from elements.values.html import DECLARATION
from storage.models import Storage
from tests.api_client import ApiClient
from tests.elements.limited_desk import SYSTEMS, LimitedDesk, system

SEARCH = "/acme/limited/_api/rest/search"


@pytest.fixture
def desk(api: ApiClient, db: None, limited: Storage) -> LimitedDesk:
    return LimitedDesk(limited, api)


def hits(desk: LimitedDesk, address: str = SEARCH) -> list[tuple[Any, str]]:
    """Return the name of each hit, and the attribute of its excerpt."""
    response = desk.api.get(f"{address}?q=order", token=desk.token)
    assert response.status_code == 200, response.content
    return [
        (each.get("attributes", {}).get("name", {}).get("1033"), each.get("excerpt", {}).get("attribute", ""))
        for each in response.json()["values"]
    ]


def test_texts_of_hits_that_take_too_much_memory_are_left_out(desk: LimitedDesk, settings: Settings) -> None:
    names = [f"Order {number}" for number in range(4)]
    description = {"description": {"1033": f"{DECLARATION}order {'x ' * 300}"}}
    desk.make(SYSTEMS, *({"type": "system", "attributes": {"name": {"1033": each}, **description}} for each in names))
    assert hits(desk) == [(each, "description") for each in names]
    settings.RESPONSE_BYTES = 8_000
    assert hits(desk) == [(names[0], "description"), *((each, "name") for each in names[1:])]


def test_long_names_are_left_out(desk: LimitedDesk, settings: Settings) -> None:
    names = [f"Order {number} {'x' * 400}" for number in range(4)]
    desk.make(SYSTEMS, *map(system, names))
    settings.RESPONSE_BYTES = 6_000
    assert hits(desk) == [(each, "name") for each in names[:2]] + [(None, "")] * 2
    assert hits(desk, f"{SEARCH}/suggestions") == [(None, "")] * 4
    settings.RESPONSE_BYTES = 20_000
    assert hits(desk, f"{SEARCH}/suggestions") == [(each, "") for each in names]


def test_signs_that_begin_no_tag_stay_in_a_text() -> None:
    assert plain_text(f"{DECLARATION}<p>1 <b>order</b></p> << 2 <i/") == "1 order << 2 <i/"


@pytest.mark.long
@pytest.mark.on_cluster
@given(st.text("ab", max_size=9), st.text("ab", max_size=9), st.integers(1, 3))
def test_errors_are_counted_up_to_a_limit(one: str, other: str, most: int) -> None:
    assert distance(one, other, most) == min(distance(one, other, 20), most + 1)
