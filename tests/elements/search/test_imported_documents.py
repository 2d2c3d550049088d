"""Documents of imported versions (D560): the same as those of the database."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elements.filters.search_documents import DECLARATION, search_document
from repository_site.core.database.statements import fetch

pytestmark = pytest.mark.django_db
SAMPLES = (
    ["Order", "parts ", " ", "  ", "\n", "\r\n", "\t", ", ", ". ", ": ", "-", "x2", "Prüfung", "GROẞ", "Größe", "café",
     "ÉTÉ", "naïve", "…", "&", "&amp;", "&#252;", "<", ">", "<p>", "</p>", "<b>", "<li>", "</li>", '<a href="x">', "<i>" * 700, DECLARATION, "<?xml ", "%",
     "2026-01-31", "2026-01-31T10:00:00", "a" * 40, "b" * 41, "日本", "\\", "\x7f", "\x01"]
)  # fmt: skip
TEXTS = st.lists(st.sampled_from(SAMPLES), max_size=6).map("".join)
VALUES = st.one_of(
    TEXTS, TEXTS.map(lambda text: DECLARATION + text), st.integers(), st.booleans(), st.none(),
    st.lists(st.one_of(TEXTS, st.fixed_dictionaries({"title": TEXTS})), max_size=2),
)  # fmt: skip
KEYS = st.sampled_from(["name", "purp", "description", "z", "aa", "Name"])
ATTRIBUTES = st.dictionaries(KEYS, st.dictionaries(st.sampled_from(["127", "1031", "1033"]), VALUES, max_size=3))
USUAL: Any = {
    "purp": {"1033": f"{DECLARATION}<p>Check, deliver: <b>all</b> parts.\n</p>", "1031": "Prüfen & liefern"},
    "name": {"1033": "Order parts", "1031": "Teile bestellen"},
    "due": {"127": "2026-01-31T10:00:00"},
    "number": {"127": 3},
    "choices": {"127": ["a", "b"]},
}


def assert_read_alike(given: list[Any]) -> None:
    """Fail if Python reads other texts than the database. It may leave some to the database."""
    sql = """SELECT g.place, t.names, t.texts FROM jsonb_array_elements(%s::jsonb) WITH ORDINALITY AS g(attributes, place)
        CROSS JOIN LATERAL elements_search_texts(g.attributes) t ORDER BY g.place"""
    for place, names, texts in fetch(sql, [json.dumps(given)]):
        found = search_document(given[place - 1])
        assert found in (None, (names, texts))


@pytest.mark.long
@settings(max_examples=20)
@given(st.lists(ATTRIBUTES, min_size=20, max_size=60))
def test_python_reads_values_as_the_database_does(given: list[Any]) -> None:
    assert_read_alike(given)


def test_python_reads_each_piece_as_the_database_does() -> None:
    """Alone, between words and after the declaration of markup."""
    texts = [text for each in SAMPLES for text in (each, f"Order{each}parts", f"{DECLARATION}<p>a{each}b")]
    assert_read_alike([USUAL, {}, *({"purp": {"1033": text}, "name": {"127": text}} for text in texts)])


def test_usual_values_are_read_in_python() -> None:
    assert search_document(USUAL) == (
        "\n teile bestellen \n order parts \n",
        "\n prufen liefern \n check deliver all parts \n",
    )
    assert search_document({}) == ("", "")
