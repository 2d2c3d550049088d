"""Patterns of names agree with Python about letters that differ only in case."""

from __future__ import annotations

import re
from itertools import product

import pytest
from jsonschema_rs import Draft202012Validator

from elements.schemas.letter_case import _forms, pattern_of

NAMES = ["part", "Strasse", "Straße", "offline", "box ~ crate", "a.b-c[d]{e}(f)|g$^*+", "İx", "ΐός", "𐐀b", "ŉ", "1"]


def spellings(name: str) -> set[str]:
    """Return some spellings of a name that differ in case: as it is, in capitals, and with each letter replaced."""
    folded = name.casefold()
    found = {name, name.upper(), name.lower(), name.swapcase(), folded}
    for start, length in product(range(len(folded)), (1, 2, 3)):
        for letter in _forms().get(folded[start : start + length], ()):
            found.add(folded[:start] + letter + folded[start + length :])
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_pattern_matches_exactly_the_spellings_of_a_name(name: str) -> None:
    pattern = pattern_of([name])
    validator = Draft202012Validator({"type": "string", "pattern": pattern})
    others = {f"{name}\n", f" {name}", f"{name}x", name[1:], f"{name[:-1]}ﬀ", "", *NAMES}
    for text in spellings(name) | others:
        is_same = text.casefold() == name.casefold()
        assert (re.search(pattern, text) is not None) == is_same, text
        assert validator.is_valid(text) == is_same, text


def test_patterns_of_ordinary_names_are_readable() -> None:
    assert pattern_of(["part", "box"]) == r"^(?:[pP][aA][rR][tT]|[bB][oO][xX])(?![\s\S])"
    assert pattern_of(["ss"]) == r"^(?:(?:[sSſ][sSſ]|[ßẞ]))(?![\s\S])"


@pytest.mark.long
def test_a_pattern_of_a_repeated_letter_stays_small() -> None:
    pattern = pattern_of(["s" * 100])
    assert len(pattern) < 50_000
    assert re.search(pattern, "ß" * 49 + "sS")
