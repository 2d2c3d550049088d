"""Differences between versions, and values in forms."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elements.admin.editing.typed import NoJson, posted_text, read_typed, same_typed, typed_value
from elements.comparing.differences import (
    Drawn,
    Item,
    Mark,
    Piece,
    ShapeDifference,
    compare_diagrams,
    compare_lists,
    compare_texts,
)
from facets.blueprint.data_types import DataType
from repository_site.core.matching import Effort

SAME, ADDED, REMOVED, CHANGED, MOVED = Mark.SAME, Mark.ADDED, Mark.REMOVED, Mark.CHANGED, Mark.MOVED

STEPS = 100_000


def marks(pieces: tuple[Piece, ...]) -> list[tuple[str, Mark]]:
    return [(each.text, each.mark) for each in pieces]


def test_words_that_differ_are_marked() -> None:
    found = compare_texts("Check the order twice.", "Check every order.", Effort(STEPS))
    assert found.mark is CHANGED
    assert marks(found.old) == [
        ("Check ", SAME), ("the", REMOVED), (" order", SAME), (" twice", REMOVED), (".", SAME),
    ]  # fmt: skip
    assert marks(found.new) == [("Check ", SAME), ("every", ADDED), (" order.", SAME)]


def test_a_rewritten_passage_is_one_piece() -> None:
    found = compare_texts("alpha beta gamma", "one two three", Effort(STEPS))
    assert marks(found.old) == [("alpha beta gamma", REMOVED)]
    assert marks(found.new) == [("one two three", ADDED)]


@pytest.mark.parametrize(
    ("old", "new", "mark"),
    [("", "", SAME), ("a", "a", SAME), ("", "a", ADDED), ("a", "", REMOVED), ("a", "b", CHANGED)],
)
def test_marks(old: str, new: str, mark: Mark) -> None:
    assert compare_texts(old, new, Effort(STEPS)).mark is mark


@pytest.mark.long
@given(st.text(max_size=60), st.text(max_size=60))
def test_the_pieces_make_up_the_texts(old: str, new: str) -> None:
    found = compare_texts(old, new, Effort(STEPS))
    assert "".join(each.text for each in found.old) == old
    assert "".join(each.text for each in found.new) == new
    assert found.differs == (old != new)
    assert {each.mark for each in found.old} <= {SAME, REMOVED}
    assert {each.mark for each in found.new} <= {SAME, ADDED}


def test_long_texts_are_compared_by_word() -> None:
    lines = [f"line {number} of a long text" for number in range(600)]
    found = compare_texts("\n".join(lines), "\n".join([*lines[:300], "another", *lines[301:]]), Effort(STEPS))
    assert [(each.text, each.mark) for each in found.old if each.mark is REMOVED] == [
        ("line 300 of a long text", REMOVED)
    ]
    assert [(each.text, each.mark) for each in found.new if each.mark is ADDED] == [("another", ADDED)]


def test_texts_beyond_the_effort_differ_from_the_first_to_the_last_difference() -> None:
    old, new = "Same. One two three four. Same.", "Same. One 2 three 4. Same."
    assert marks(compare_texts(old, new, Effort(STEPS)).new) == [
        ("Same. One ", SAME), ("2", ADDED), (" three ", SAME), ("4", ADDED), (". Same.", SAME),
    ]  # fmt: skip
    effort = Effort(10)
    assert marks(compare_texts(old, new, effort).new) == [
        ("Same. One ", SAME), ("2 three 4", ADDED), (". Same.", SAME),
    ]  # fmt: skip
    assert effort.left == 0


def test_a_page_does_not_compare_more_than_its_effort() -> None:
    """Many different texts share the effort of a page; the last ones are compared as a whole."""
    effort = Effort(1_000)
    texts = [compare_texts("one two three", "one 2 3 three 4 5", effort) for _ in range(100)]
    assert len(texts[0].new) > len(texts[-1].new) == 2


def items(keys: str) -> list[Item]:
    return [Item(each, each.upper()) for each in keys]


@pytest.mark.parametrize(
    ("old", "new", "left", "right", "mark"),
    [
        ("abc", "abc", [SAME] * 3, [SAME] * 3, SAME),
        ("ab", "abc", [SAME, SAME], [SAME, SAME, ADDED], CHANGED),
        ("abc", "ac", [SAME, REMOVED, SAME], [SAME, SAME], CHANGED),
        ("", "a", [], [ADDED], ADDED),
        ("a", "", [REMOVED], [], REMOVED),
        ("abc", "cab", [SAME, SAME, MOVED], [MOVED, SAME, SAME], CHANGED),
    ],
)
def test_lists(old: str, new: str, left: list[Mark], right: list[Mark], mark: Mark) -> None:
    found = compare_lists(items(old), items(new))
    assert [each.mark for each in found.old] == left
    assert [each.mark for each in found.new] == right
    assert found.mark is mark


def test_diagrams_are_compared_by_the_elements_of_their_shapes() -> None:
    start, check, end = (
        Drawn("1", "Start", "event"),
        Drawn("2", "Check", "task", frozenset("1")),
        Drawn("3", "End", "event"),
    )
    renamed = Drawn("2", "Check again", "task", frozenset("14"))
    extra = Drawn("4", "Ask", "task")
    assert compare_diagrams([start, check, end], [start, extra, renamed]) == [
        ShapeDifference(SAME, start, start),
        ShapeDifference(ADDED, None, extra),
        ShapeDifference(CHANGED, check, renamed, is_renamed=True, is_rewired=True),
        ShapeDifference(REMOVED, end, None),
    ]


@pytest.mark.parametrize(
    ("data_type", "value", "typed"),
    [
        (DataType.SINGLE_LINE_TEXT, "  kept  ", "  kept  "),
        (DataType.MULTI_LINE_TEXT, "a\nb", "a\nb"),
        (DataType.HTML, '<?xml version="1.0" encoding="utf-8"?><p>x</p>', "<p>x</p>"),
        (DataType.SELECTION_VALUE, "red", "red"),
        (DataType.MULTI_SELECTION_VALUE, ["red", "blue"], ["red", "blue"]),
        (DataType.BOOLEAN, False, "false"),
        (DataType.INTEGER, 0, "0"),
        (DataType.INTEGER, 2**63 - 1, "9223372036854775807"),
        (DataType.DECIMAL, Decimal("1.250"), "1.250"),
        (DataType.DATE, "2026-12-31", "2026-12-31"),
        (DataType.DATE_TIME, "2026-12-31T00:00:00", "2026-12-31T00:00:00"),
        (DataType.URL, "https://x.example", "https://x.example"),
        (DataType.FILES, [{"address": "ä"}], '[\n  {\n    "address": "ä"\n  }\n]'),
    ],
)
def test_values_survive_a_form(data_type: DataType, value: Any, typed: Any) -> None:
    assert typed_value(data_type, value) == typed
    back = read_typed(data_type, typed)
    assert back == (
        value.removeprefix('<?xml version="1.0" encoding="utf-8"?>') if data_type is DataType.HTML else value
    )
    assert typed_value(data_type, None) == ([] if data_type is DataType.MULTI_SELECTION_VALUE else "")
    assert read_typed(data_type, typed_value(data_type, None)) is None


def test_browsers_write_some_values_differently() -> None:
    assert posted_text(DataType.DATE_TIME, "2026-12-31T10:00") == "2026-12-31T10:00:00"
    assert posted_text(DataType.DATE_TIME, "2026-12-31T10:00:00.500") == "2026-12-31T10:00:00.5"
    assert posted_text(DataType.MULTI_LINE_TEXT, "a\r\nb\rc") == "a\nb\nc"
    assert same_typed(["b", "a"], ["a", "b"])
    assert not same_typed("b", "a")


def test_the_domain_refuses_texts_that_cannot_be_parsed() -> None:
    assert read_typed(DataType.INTEGER, "many") == "many"
    assert read_typed(DataType.DECIMAL, "Infinity") == "Infinity"
    assert read_typed(DataType.INTEGER, str(2**63)) == Decimal(2**63)
    assert read_typed(DataType.BOOLEAN, "perhaps") == "perhaps"
    with pytest.raises(NoJson):
        read_typed(DataType.FILES, "[{")
