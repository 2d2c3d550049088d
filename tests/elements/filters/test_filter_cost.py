"""The cost of filters (D202): conditions, text functions and searched attributes count."""

from __future__ import annotations

import re
from urllib.parse import quote

import pytest
from pytest_django import Settings as ChangedSettings

from elements.filters import read_filter
from elements.filters.binding import Vocabulary
from elements.filters.cost import check_cost, cost_of
from elements.filters.parsing import parse_filter
from repository_site.core.problems import Invalid, Unreadable
from storage.models import Storage
from tests.api_client import ApiClient
from tests.elements.filter_vocabulary import CULTURES, VOCABULARY

ATTRIBUTES = len(VOCABULARY.attributes)


@pytest.mark.parametrize(
    ("text", "cost"),
    [
        ("name -eq 'a'", 1),
        ("name -in ('a', 'b', 'c')", 1),
        ("NOT IsNull(name)", 1),
        ("Contains(name, 'a')", 4),
        ("StartsWith(name, 'a') OR EndsWith(name[1033], 'b')", 8),
        ("name -eq 'a' AND (name -eq 'b' OR NOT Contains(name, 'c'))", 6),
        ("attributes -eq 'a'", ATTRIBUTES),
        ("IsNull(attributes)", ATTRIBUTES),
        ("Contains(attributes, 'a') AND Contains(attributes, 'b')", 8 * ATTRIBUTES),
    ],
)
def test_cost(text: str, cost: int) -> None:
    assert cost_of(parse_filter(text), VOCABULARY) == cost


def test_a_vocabulary_without_attributes() -> None:
    nothing = Vocabulary({}, {}, CULTURES)
    assert cost_of(parse_filter("Contains(attributes, 'a')"), nothing) == 4


def test_filters_above_the_limit_say_what_to_change() -> None:
    expression = parse_filter("Contains(attributes, 'a') OR Contains(name, 'b') OR name -eq 'c'")
    cost = 4 * ATTRIBUTES + 5
    check_cost(expression, VOCABULARY, cost)
    with pytest.raises(Invalid) as caught:
        check_cost(expression, VOCABULARY, cost - 1)
    assert caught.value.message == (
        f"The filter costs {cost}; at most {cost - 1} is allowed. It has 3 conditions, 2 of them with Contains,"
        f" StartsWith or EndsWith. 1 of them search attributes, which is {ATTRIBUTES} attributes here: name the"
        " attribute, such as Contains(name, 'text'), or use fewer conditions."
    )
    with pytest.raises(Invalid) as caught:
        check_cost(parse_filter("Contains(name, 'a') OR Contains(name, 'b')"), VOCABULARY, 7)
    assert caught.value.message == (
        "The filter costs 8; at most 7 is allowed. It has 2 conditions, 2 of them with Contains, StartsWith or EndsWith."
        " Use fewer conditions, or split the filter into several requests."
    )


def test_mistakes_are_reported_before_the_cost(settings: ChangedSettings) -> None:
    settings.MAX_FILTER_COST = 1
    with pytest.raises(Unreadable, match="there is no property nmae here"):
        read_filter("Contains(name, 'a') AND nmae -eq 'b'", VOCABULARY)
    with pytest.raises(Invalid, match="The filter costs 5; at most 1 is allowed"):
        read_filter("Contains(name, 'a') AND name -eq 'b'", VOCABULARY)


def test_a_hundred_conditions_on_names_are_allowed() -> None:
    read_filter(" OR ".join(["Contains(name, 'a')"] * 100), VOCABULARY)


@pytest.mark.django_db
@pytest.mark.parametrize("facet", ["processes", "it"])
def test_an_expensive_filter_gets_422(handbook: Storage, api: ApiClient, facet: str) -> None:
    text = " OR ".join(f"Contains(attributes,'x{number}')" for number in range(95))
    address = f"/acme/handbook/_api/rest/facets/{facet}/views/detail/elements"
    refused = api.get(f"{address}?$filter={quote(text)}")
    [attributes] = re.findall(r"which is (\d+) attributes", refused.json()["message"])
    cost = 95 * 4 * int(attributes)
    message = (
        f"The filter costs {cost:,}; at most 1,000 is allowed. It has 95 conditions, 95 of them with Contains,"
        f" StartsWith or EndsWith. 95 of them search attributes, which is {attributes} attributes here: name the"
        " attribute, such as Contains(name, 'text'), or use fewer conditions."
    )
    assert refused.status_code == 422
    assert refused.json() == {"message": message, "output": "inline", "type": "error", "data": [{"error": message}]}
    assert api.get(f"{address}?$filter={quote(text[: text.index(' OR ')])}").status_code == 200
