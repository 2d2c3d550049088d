"""Clues of filters: every value that passes a text function has words that fit them (D406)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elements.filters.clues import MOST_CLUES, MOST_SCANNED, MOST_WAYS, Clue, Way, clues_of, is_folded_alone
from elements.filters.conditions import ALWAYS, NEVER, Condition, all_of, any_of, negation
from elements.filters.syntax import fold_case
from elements.filters.words import LONGEST_WORD, WORD, fold, words_of
from tests.scale import scaled


def shown(text: str, *, begins: bool = False, ends: bool = False, in_name: bool = False) -> list[str]:
    """Return clues as texts, with a bar where the word begins or ends."""
    clues = clues_of(fold_case(text), begins=begins, ends=ends, in_name=in_name)
    return [f"{'|' * each.begins}{each.part}{'|' * each.ends}" for each in clues]


@pytest.mark.parametrize(
    ("text", "clues"),
    [
        ("order", ["order"]),
        ("Handle orders", ["handle|", "|orders"]),
        ("(Handle) an old order.", ["|handle|", "|old|", "|order|"]),
        ("STRAẞE, Ärger", ["strasse|", "|arger"]),
        ("r 42", []),
        ("İstanbul ﬁx", ["istanbul|", "|fix"]),
        # Nobody knows how the mark is sorted among its neighbours.
        ("abc\u06dfdef", ["abc", "def"]),
        ("abc\u05b0def", ["abcdef"]),
        # Words of some scripts have no blanks between them.
        ("iso製造工程 abc", ["iso", "|abc"]),
        # Markup that is not in the index.
        ("<strong>Stop</strong>", ["|stop|"]),
        ("ersion", []),
        # This may be part of a date.
        ("2026-01", []),
        ("1234567", []),
        ("4711 x", ["4711|"]),
        ("", []),
        (" … ", []),
        ("x" * 60, ["x" * 60]),
    ],
)
def test_parts_of_words(text: str, clues: list[str]) -> None:
    assert shown(text) == clues


def test_ends_of_values_are_ends_of_words() -> None:
    assert shown("order", begins=True) == ["|order"]
    assert shown("order", ends=True) == ["order|"]
    assert shown("old order ", begins=True) == ["|old|", "|order|"]
    assert shown("\u06dforder\u06df", begins=True) == ["order"]
    assert shown("\u06dforder\u06df", ends=True) == ["order"]
    assert shown("\u05b0order\u05b0", begins=True) == ["|order"]
    assert shown("\u05b0order\u05b0", ends=True) == ["order|"]


def test_names_have_dates_in_the_index() -> None:
    assert shown("1234567", in_name=True) == ["1234567"]


@pytest.mark.long
def test_letters_are_folded_alike_in_any_letter_case() -> None:
    for letter in map(chr, [*range(1, 0xD800), *range(0xE000, 0x20000)]):
        low = fold_case(letter)
        if is_folded_alone(low):
            assert is_folded_alone(letter), letter
            assert fold(letter) == fold(low), letter


LETTERS = st.sampled_from([*"aàÄßẞiIİıſKkKﬁ12 -._<>&;\u0301\u05b0\u05b4\u0483が\u3099½…\u200b\u00ad𐐀x"])
VALUES = st.lists(LETTERS | st.characters(codec="utf-8"), max_size=60).map("".join)


def fits(clue: Clue, word: str) -> bool:
    part = clue.part
    if clue.begins:
        return word == part if clue.ends else word.startswith(part)
    return word.endswith(part) if clue.ends else part in word


@pytest.mark.long
@settings(max_examples=scaled(3000), deadline=None, database=None)
@given(VALUES, st.integers(0, 60), st.integers(3, 60))
def test_a_value_has_the_clues_of_its_parts(value: str, start: int, length: int) -> None:
    text, is_cut = (
        fold_case(value)[start : start + length],
        any(len(each) > LONGEST_WORD for each in WORD.findall(fold(value))),
    )
    begins, ends = not start, start + length >= len(value)
    for clue in clues_of(text, begins=begins, ends=ends, in_name=True):
        assert is_cut or any(fits(clue, word) for word in words_of(value))


def way(*parts: str) -> Way:
    return frozenset(Clue(each.strip("|"), each.startswith("|"), each.endswith("|"), in_name=False) for each in parts)


def reached(*ways: Way) -> Condition:
    return Condition(f"{len(ways)}", (), ways)


def test_one_of_several_conditions_is_enough_to_narrow_down() -> None:
    plain = Condition("plain", ())
    assert all_of([reached(way("order")), plain]).ways == (way("order"),)
    # Long parts first; those that need all words of the storage last.
    both = all_of([reached(way("something")), reached(way("|bill"), way("|orders|"))])
    assert both.ways == (way("|orders|"), way("|bill"), way("something"))
    assert len(all_of(reached(way(f"|word{number}")) for number in range(9)).ways) == MOST_WAYS
    assert negation(reached(way("order"))).ways == ()


def test_all_alternatives_have_to_be_narrowed_down() -> None:
    plain = Condition("plain", ())
    assert any_of([reached(way("order")), plain]).ways == ()
    assert any_of([reached(way("order")), NEVER]).ways == (way("order"),)
    assert any_of([reached(way("order")), reached(way("|bill"), way("x"))]).ways == (way("order", "|bill"),)
    assert any_of([reached(way("order")), ALWAYS]) == ALWAYS
    assert any_of(reached(way(f"|word{number}")) for number in range(MOST_CLUES + 1)).ways == ()
    assert any_of(reached(way(f"word{number}")) for number in range(MOST_SCANNED + 1)).ways == ()
    assert NEVER.reached((way("order"),)) == NEVER
