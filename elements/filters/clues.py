"""Clues of filters (D406): parts of words that a value has to have, by which the search index finds candidates. Pure.

A clue is a necessary condition and never the test itself. What the index does not know for certain gives no clue.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from unicodedata import category, combining

from elements.filters.words import WORD, fold

# Ways that a condition keeps, clues in one of them, and those for which all words of the storage are compared.
MOST_WAYS, MOST_CLUES, MOST_SCANNED = 4, 8, 2
# The index has words of markup with this sign before them, so that no search finds them (D408): those of at least three
# characters that are not among the common ones.
IN_MARKUP, SHORTEST = "<", 3
COMMON_MARKUP = frozenset(
    {"xml", "version", "encoding", "utf", "div", "span", "strong", "table", "thead", "tbody", "amp", "nbsp", "quot"}
)
# Stands in the index for words that it does not have, such as the end of a long one.
CUT = "…"
# Letters and signs that are folded alike in any surroundings: Latin, Greek and Cyrillic ones, and punctuation. Others
# may not be words by themselves, or have marks, which normalization sorts.
PLAIN = re.compile(r"[\u0001-\u052f\u2000-\u206f\u20a0-\u20cf]*")
# Normalization makes two different letters of the small and the capital form.
LUNATE_SIGMA = "ϲϹ"
# Texts that are dates have no words in the index, except those of names. Their letter T is folded here.
IN_DATE = re.compile(r"[0-9t:.-]*")


@dataclass(frozen=True, slots=True)
class Clue:
    """A part of a word in the texts of each match, or only in its names."""

    part: str
    begins: bool
    """Whether the word begins with the part."""
    ends: bool
    in_name: bool

    @property
    def is_scanned_for(self) -> bool:
        """Whether all words of the storage have to be compared."""
        return not self.begins


# Each match has one of these clues.
Way = frozenset[Clue]


def clues_of(text: str, *, begins: bool, ends: bool, in_name: bool) -> Iterator[Clue]:
    """Return the clues of a text that was folded by `fold_case`. `begins` and `ends` say whether a value has to begin
    or end with it."""
    if not in_name and IN_DATE.fullmatch(text):
        return
    for start, end in _pieces(text):
        folded = fold(text[start:end])
        for found in WORD.finditer(folded):
            part = found[0]
            if len(part) >= SHORTEST and not any(part in word for word in COMMON_MARKUP):
                is_first, is_last = found.start() == 0, found.end() == len(folded)
                yield Clue(
                    part,
                    begins=(begins and start == 0) if is_first else True,
                    ends=(ends and end == len(text)) if is_last else True,
                    in_name=in_name,
                )


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    """Return the places of the parts that are folded alike in any surroundings."""
    start = 0
    for place, letter in enumerate(text):
        if not is_folded_alone(letter):
            if start < place:
                yield start, place
            start = place + 1
    if start < len(text):
        yield start, len(text)


@lru_cache(10_000)
def is_folded_alone(letter: str) -> bool:
    """Return whether a character is folded alike in any surroundings. Python may not know all characters."""
    if letter in LUNATE_SIGMA:
        return False
    folded = fold(letter)
    return category(letter) != "Cn" and bool(PLAIN.fullmatch(folded)) and not any(map(combining, folded))


def best_ways(ways: Iterable[Way]) -> tuple[Way, ...]:
    """Return the most promising of several ways, each of which is enough. Best first."""
    return tuple(sorted(dict.fromkeys(ways), key=_promise)[:MOST_WAYS])


def joint_way(alternatives: Sequence[tuple[Way, ...]]) -> tuple[Way, ...]:
    """Return the way to the matches of all alternatives; none if one of them has no way."""
    if not all(alternatives):
        return ()
    joint = frozenset[Clue]().union(*(ways[0] for ways in alternatives))
    is_short = len(joint) <= MOST_CLUES and sum(each.is_scanned_for for each in joint) <= MOST_SCANNED
    return (joint,) if is_short else ()


def _promise(way: Way) -> tuple[bool, int, list[str]]:
    """Long parts are rare. The parts themselves only make the order certain."""
    parts = sorted(each.part for each in way)
    return any(each.is_scanned_for for each in way), -min(map(len, parts)), parts
