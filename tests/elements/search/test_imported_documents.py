"""Documents and words of imported versions (D560, D620): the same as those of the database."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from hypothesis import given, settings
from hypothesis import strategies as st

from elements.filters.search_documents import DECLARATION, search_document
from elements.models import SearchDocument, SearchPosting, SearchWord
from elements.search.rebuilding import ADD_DOCUMENTS
from elements.transfer.importing import import_elements
from repository_site.core.database.statements import fetch, id_array
from storage.models import Storage
from storage.tenancy.scope import tenant_scope
from tests.elements.transfer_files import guid, line, write
from tests.factories import StorageFactory

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


@pytest.mark.long
@pytest.mark.on_cluster
def test_an_import_posts_words_as_the_database_does(other_storage: Storage, tmp_path: Path) -> None:
    """Python posts the words of the first lines; the database those of the last one, which has rare letters."""
    storage = StorageFactory.create(key="second", template="standard")
    texts = ["Order parts, orders", "Prüfung der Teile", "parts <b>", "Größe 2026", "日本 parts"]
    documents = [
        line(number, attributes={"name": {"1033": f"Element {number}", "1031": text}})
        for number, text in enumerate(texts, 1)
    ]
    import_elements(storage, write(tmp_path / "some.ndjson", *documents))
    with tenant_scope(storage):
        imported = _index()
        assert ("orders", "order") in imported[1]
        for model in (SearchPosting, SearchWord, SearchDocument):
            model.objects.all().delete()
        assert _index() == (set(), set())
        with connection.cursor() as cursor:
            cursor.execute(ADD_DOCUMENTS, [id_array(map(guid, range(1, 6)))])
        assert _index() == imported
    with tenant_scope(other_storage):
        assert _index() == (set(), set())


def _index() -> tuple[set[tuple[str, bool, UUID]], set[tuple[str, str]]]:
    """Return the postings and the vocabulary of the storage, without the rows that share them."""
    postings = SearchPosting.objects.all()
    posted = {(each.word, each.in_name, version) for each in postings for version in each.versions}
    assert len(posted) == sum(each.size for each in postings)
    words = list(SearchWord.objects.values_list("word", "stem"))
    assert len(words) == len(set(words))
    return posted, set(words)
