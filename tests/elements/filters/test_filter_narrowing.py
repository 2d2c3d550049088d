"""Filters that the search index narrows down find what they find without it (D407)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import given, settings
from hypothesis import strategies as st

from elements.filters.clues import COMMON_MARKUP
from elements.reading.lists import narrowing
from elements.reading.lists.narrowing import CANDIDATES, narrowed
from elements.values.html import DECLARATION
from storage.tenancy.scope import tenant_scope
from tests.elements.filter_world import SELECT, FilteredVersion, FilterWorld, Thing, filter_world, identity, quoted
from tests.scale import scaled

pytestmark = pytest.mark.django_db
LINK = f'{DECLARATION}<p>See <a href="https://example.org/Zeppelin?id=4711">the plan</a>&auml;&#252;<br/> of K&#252;che</p>'
# Each is a text of one element. All of them are tested on all kinds of texts.
TEXTS = [
    "Handle order 4711", "Zeppelin", "zeppelins", "Graf-Zeppelin-Straße 12", "STRAẞE", "Strasse", "İstanbul ISTANBUL",
    "ıstanbul", "ﬁx the ﬂow", "ſtop", "Ärger A\u0308rger", "ΟΔΟΣ ὁδός", "が\u3099か", "a\u05b4\u05b0b\u05b0\u05b4c", "½ Ⅷ ②", "K = 273 K",
    "soft\u00adhyphen zero\u200bwidth", "x" * 39 + "Zeppelin" + "y" * 10, "2026-01-02", "2026-01-02T03:04:05.678", "T2026-01-02",
    "1.0 2.10", "it's <b>bold</b> & <i>more", f"{DECLARATION}plain", LINK, "<?xml  odd?><STRONG class='wide'>Über</STRONG> &amp;nbsp; text",
    f'{DECLARATION}<img src="data:image/png;base64,{"iVBORw0KGgoAAAANSUhEUg" * 120}"/>', "𐐀𐐨 emoji 😀word", "a_b\\c % d", "line\nbreak\r\nZEPPELIN\ttab",
    "w" * 45 + " ok", "Straßenbahnhaltestelle", "…", "", "the version of the table", "Hafenstraße",
]  # fmt: skip


def thing(number: int, text: str) -> Thing:
    by_culture = {"1031": text, "1033": TEXTS[number - 1]}
    attributes: dict[str, dict[str, Any]] = {
        "name": by_culture if number % 2 else {"1033": f"Thing {number}"},
        "SingleLineText": {"127": text},
        "MultiLineText": {"127": f"{text} {number}"},
        "Html": {"127": f"{DECLARATION}<p>{text}</p>" if number % 2 else text},
        "Url": {"127": f"https://example.com/{text}"},
        "MultiSelectionValue": {"127": [text]},
        "Files": {"127": [{"title": text, "address": f"a/{number}.png"}]},
    }
    return Thing(identity(("odd", number)), "box", [FilteredVersion(identity(("own", number)), attributes=attributes)])


@pytest.fixture(scope="module")
def odd_world(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[FilterWorld]:
    things = {str(number): thing(number, text) for number, text in enumerate(TEXTS)}
    with django_db_blocker.unblock(), filter_world("odd", things, tmp_path_factory.mktemp("odd")) as world:
        yield world


def found_narrowly(world: FilterWorld, filter: str) -> list[str] | None:
    """Return the matches of a filter, None if all versions are tested."""
    condition = world.compiled(world.read(filter))
    found = narrowed(condition)
    return None if found is None or found.sql == condition.sql else world.selected(found)


CASES: list[Callable[[str], str]] = [str, str.lower, str.upper, str.swapcase]
OPERANDS = ("name", "name[1031]", "SingleLineText", "MultiLineText", "Html", "Url", "MultiSelectionValue", "Files")


@st.composite
def text_tests(draw: st.DrawFn) -> str:
    """Return a text function with a part of one of the texts, in any letter case."""
    text = draw(st.sampled_from(TEXTS))
    start = draw(st.integers(0, max(0, len(text) - 3)))
    part = text[start : start + draw(st.integers(3, 30))]
    part = draw(st.sampled_from(CASES))(part)
    part = part if draw(st.integers(0, 9)) else part + draw(st.sampled_from(["s", " ", "-x", "\u0301", "ß"]))
    function = draw(st.sampled_from(["Contains", "Contains", "EndsWith", "StartsWith"]))
    return f"{function}({draw(st.sampled_from(OPERANDS))}, {quoted(part)})"


FILTERS = st.one_of(
    text_tests(),
    st.tuples(text_tests(), st.sampled_from(["AND", "OR", "AND NOT", "OR NOT"]), text_tests()).map(" ".join),
    text_tests().map(lambda each: f"type -eq box AND ({each})"),
)


@pytest.mark.long
def test_narrowed_filters_find_the_same(odd_world: FilterWorld) -> None:
    narrow = 0

    @settings(max_examples=scaled(3000), deadline=None, database=None)
    @given(FILTERS)
    def check(filter: str) -> None:
        nonlocal narrow
        condition = odd_world.compiled(odd_world.read(filter))
        fewer = narrowed(condition)
        assert fewer is not None
        assert odd_world.selected(fewer) == odd_world.selected(condition)
        narrow += fewer.sql != condition.sql

    with tenant_scope(odd_world.storage):
        check()
    assert narrow > scaled(800)  # otherwise nothing was tested


@pytest.mark.parametrize(
    ("filter", "texts"),
    [
        ("Contains(SingleLineText, 'zeppelin')", ["Zeppelin", "zeppelins", "Graf-Zeppelin-Straße 12", TEXTS[17], LINK, TEXTS[29]]),
        ("EndsWith(SingleLineText, 'zeppelin')", ["Zeppelin"]),
        ("Contains(SingleLineText, ' ORDER 47')", ["Handle order 4711"]),
        ("Contains(SingleLineText, 'class')", [TEXTS[25]]),
        ("Contains(SingleLineText, 'uHeUgIvBo')", [TEXTS[26]]),
        ("EndsWith(SingleLineText, 'haltestelle') OR Contains(SingleLineText, 'hyphen zero')", [TEXTS[16], TEXTS[31]]),
    ],
)  # fmt: skip
def test_rare_texts_are_narrowed_down(odd_world: FilterWorld, filter: str, texts: list[str]) -> None:
    with tenant_scope(odd_world.storage):
        assert found_narrowly(odd_world, filter) == sorted(str(identity(("own", TEXTS.index(each)))) for each in texts)


@pytest.mark.parametrize(
    "filter",
    [
        "Contains(SingleLineText, 'ze')",
        "Contains(SingleLineText, '2026-01')",
        "Contains(SingleLineText, 'strong')",
        "NOT Contains(SingleLineText, 'zeppelin')",
        "Contains(SingleLineText, 'zeppelin') OR type -eq box",
        "Contains(attributes, 'zeppelin')",
        "Contains(Files, 'zeppelin')",
        "Contains(MultiSelectionValue, 'zeppelin')",
        "Contains(stereotype, 'zeppelin')",
        "StartsWith(name, 'zeppelin')",
        "SingleLineText -eq 'Zeppelin'",
        "IsNull(name)",
    ],
)
def test_other_filters_need_no_further_statement(odd_world: FilterWorld, filter: str) -> None:
    with tenant_scope(odd_world.storage), CaptureQueriesContext(connection) as sent:
        assert found_narrowly(odd_world, filter) is None
    assert len(sent) == 0


@pytest.mark.parametrize("limit", ["MOST_CANDIDATES", "MOST_WORDS", "MOST_ROWS"])
def test_frequent_texts_are_not_narrowed_down(
    odd_world: FilterWorld, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    many, few = (
        "Contains(SingleLineText, 'zeppelin')",
        "Contains(SingleLineText, 'zeppelin') AND Contains(Url, '/graf-')",
    )
    condition, narrower = (odd_world.compiled(odd_world.read(each)) for each in (many, few))
    if limit == "MOST_CANDIDATES":
        monkeypatch.setattr(narrowing, limit, 10)
    else:
        for name in ("FITTING", "WORDS", "COMPARED"):
            monkeypatch.setattr(narrowing, name, getattr(narrowing, name).replace(str(getattr(narrowing, limit)), "3"))
        monkeypatch.setattr(narrowing, limit, 3)
    with tenant_scope(odd_world.storage), CaptureQueriesContext(connection) as sent:
        assert narrowed(condition) is condition
    assert len(sent) == 1
    if limit == "MOST_CANDIDATES":
        with tenant_scope(odd_world.storage):
            assert odd_world.selected(narrowed(narrower) or narrower) == [str(identity(("own", 3)))]


def test_common_markup_is_the_same_in_the_database(odd_world: FilterWorld) -> None:
    known = "".join(f"<{each}>" for each in sorted(COMMON_MARKUP))
    with tenant_scope(odd_world.storage), connection.cursor() as cursor:
        cursor.execute(
            "SELECT (elements_search_texts(jsonb_build_object('x', jsonb_build_object('127', text)))).texts"
            " FROM unnest(%s::text[]) AS text",
            [[f"{DECLARATION}a{known}", f"{DECLARATION}{known}<br/><hrx>&lt;b", f"{DECLARATION}<a b='{'c' * 2000}'>"]],
        )
        assert [row[0] for row in cursor.fetchall()] == ["\n a \n", "\n b \n <hrx \n", "\n  \n … \n"]


@pytest.mark.one_node("reads the plan of one PostgreSQL server")
def test_indexes_find_words_and_candidates_under_row_level_security(odd_world: FilterWorld) -> None:
    condition = odd_world.compiled(odd_world.read("Contains(name, 'graf-zep') OR EndsWith(Url, 'ltestelle')"))
    with tenant_scope(odd_world.storage), connection.cursor() as cursor:
        with CaptureQueriesContext(connection) as sent:
            fewer = narrowed(condition)
        assert fewer is not None
        # Among few words, any index would do. The statistics of versions may be those of an empty table.
        cursor.execute(
            "INSERT INTO elements_searchword (id, word, stem)"
            " SELECT gen_random_uuid(), 'word' || n, 'stem' || n FROM generate_series(1, 2000) n"
        )
        cursor.execute("ANALYZE elements_searchword, elements_elementversion")
        cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off")
        plans = []
        few = f"SELECT v.id FROM elements_elementversion v WHERE {CANDIDATES.format(only='')}"
        for sql, parameters in ((sent[0]["sql"], None), (SELECT + fewer.sql, fewer.parameters), (few, ["{x}"])):
            cursor.execute(f"EXPLAIN (COSTS OFF) {sql}", parameters)
            plans.append("\n".join(row[0] for row in cursor.fetchall()))
    words, tests, candidates = plans
    assert "Seq Scan" not in words + tests + candidates
    assert re.search(r"Index Cond: .*word >= 'zep'", words)
    # Only words of the storage are compared.
    compared = (
        r"Index (Only )?Scan using \w+ on elements_searchword .*\n\s+Index Cond: .*storage_id.*\n\s+Filter: .*~~ '%lte"
    )
    assert re.search(compared, words)
    # The index of names would read them all.
    assert "versionname" not in tests
    assert re.search(r"Index Cond: .*\bid = ANY", candidates)


def test_parts_that_are_frequent_in_other_texts_are_compared_with_the_words_of_names(
    odd_world: FilterWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a filter finds only the names that have the part as a word of its own."""
    monkeypatch.setattr(narrowing, "COMPARED", narrowing.COMPARED.replace(f"<= {narrowing.MOST_CANDIDATES}", "<= 2"))
    monkeypatch.setattr(narrowing, "MOST_CANDIDATES", 12)
    filter = "Contains(name, 'straße')"
    with tenant_scope(odd_world.storage):
        expected = odd_world.selected(odd_world.compiled(odd_world.read(filter)))
        assert found_narrowly(odd_world, filter) == expected
