"""Narrows down a list by the words of its filter (D407), so that rare texts are found without reading every element.

The search index has the versions of each word (D380). One statement finds the words that fit the clues of a filter, and
how many versions have them. If they are few, only these are tested. The filter itself decides as before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from elements.filters.clues import CUT, IN_MARKUP, Clue, Way
from elements.filters.conditions import Condition, all_of
from repository_site.core.database.statements import engine, fetch, text_array

# Words of a clue, rows of postings that are counted for a word, and versions that are tested.
MOST_WORDS, MOST_ROWS, MOST_CANDIDATES = 100, 500, 2_000
COUNTED = f"SELECT p.size, p.in_name FROM elements_searchposting p WHERE p.word = {{word}} LIMIT {MOST_ROWS}"  # noqa: S608  constants
# The search for words ends when there are too many.
FITTING = f"""UNION ALL (SELECT {{place}}, x.word FROM elements_searchword x WHERE {{condition}}
    LIMIT {MOST_WORDS})"""  # noqa: S608  constants
BEGINNING = "starts_with(x.word, %s::text)"
# Words of files (D447) are not texts of elements. If the part is a frequent word by itself, there is no need to compare
# it with all others. A clue of names counts only names: the part may be frequent in other texts and rare in names
# (D428).
COMPARED = f"""x.word LIKE %s::text AND left(x.word, 1) <> '@' AND (SELECT count(*) < {MOST_ROWS}
        AND coalesce(sum(c.size) {{only}}, 0) <= {MOST_CANDIDATES}
    FROM ({COUNTED.format(word="%s::text")}) c)"""  # noqa: S608  constants
NAMED = "FILTER (WHERE c.in_name)"
WORDS = f"""WITH words AS MATERIALIZED (SELECT DISTINCT f.place, f.word, count(*) OVER (PARTITION BY f.place) AS fitting
        FROM (SELECT g.place, g.word FROM unnest(%s::int[], %s::text[]) AS g(place, word) {{found}}) f)
    SELECT w.place, w.fitting, w.word, n.size, n.named FROM words w CROSS JOIN LATERAL (
        SELECT CASE WHEN count(*) < {MOST_ROWS} THEN coalesce(sum(c.size), 0) END::bigint AS size,
            coalesce(sum(c.size) {NAMED}, 0)::bigint AS named
        FROM ({COUNTED.format(word="w.word")}) c) n"""  # noqa: S608  constants
CANDIDATES = """v.id = ANY(ARRAY(SELECT u.version FROM elements_searchposting p
    CROSS JOIN LATERAL unnest(p.versions) AS u(version) WHERE p.word = ANY(%s::text[]){only}))"""
# Markup and cut words of a name are not posted as words of a name.
IN_NAMES = " AND (p.in_name OR p.word = %s::text OR starts_with(p.word, %s::text))"


@dataclass(slots=True)
class FittingWords:
    """Words that fit a clue. None for a size means too many."""

    words: list[str] = field(default_factory=list)
    size: int | None = 0
    named: int | None = 0
    """The size, with words of names only."""

    def add(self, word: str, fitting: int, size: int | None, named: int) -> None:
        self.words.append(word)
        is_known = size is not None and fitting < MOST_WORDS and self.size is not None
        is_of_name = word != CUT and not word.startswith(IN_MARKUP)
        self.named = (self.named or 0) + (named if is_of_name else size or 0) if is_known else None
        self.size = (self.size or 0) + (size or 0) if is_known else None


def narrowed(condition: Condition | None) -> Condition | None:
    """Return a condition with the same matches that tests fewer versions, if there is one.

    Runs in the scope of the storage, with at most one statement.
    """
    # The index has the words of today only.
    if condition is None or not condition.ways or engine().as_of:
        return condition
    ways = _quick_ways(condition.ways)
    found = _fitting_words(sorted({each for way in ways for each in way}, key=repr))
    sizes = {way: _size(way, found) for way in ways}
    best = min(ways, key=lambda way: sizes[way])
    return (
        condition
        if sizes[best] > MOST_CANDIDATES
        else all_of([_candidates(best, found), condition.of_few or condition])
    )


def _quick_ways(ways: Sequence[Way]) -> Sequence[Way]:
    """Return the ways that need not compare all words of the storage, or else the best one, which is the first."""
    return [way for way in ways if not any(each.is_scanned_for for each in way)] or ways[:1]


def _fitting_words(clues: Sequence[Clue]) -> Mapping[Clue, FittingWords]:
    places, words, parts, values = list[int](), list[str](), list[str](), list[Any]()
    for place, clue in enumerate(clues):
        own = [clue.part, IN_MARKUP + clue.part]
        places += [place] * 3
        words += [*own, CUT]
        if not clue.begins:
            condition = COMPARED.format(only=NAMED if clue.in_name else "")
            parts.append(FITTING.format(place=place, condition=condition))
            values += [f"%{clue.part}" if clue.ends else f"%{clue.part}%", clue.part]
        elif not clue.ends:
            parts += [FITTING.format(place=place, condition=BEGINNING) for _ in own]
            values += own
    found = {clue: FittingWords() for clue in clues}
    for place, *row in fetch(WORDS.format(found=" ".join(parts)), [places, text_array(words), *values]):
        fitting, word, size, named = row
        found[clues[place]].add(word, fitting, size, named)
    return found


def _is_of_names(way: Way) -> bool:
    return all(each.in_name for each in way)


def _size(way: Way, found: Mapping[Clue, FittingWords]) -> int:
    sizes = [found[each].named if _is_of_names(way) else found[each].size for each in way]
    return sum(MOST_CANDIDATES + 1 if each is None else each for each in sizes)


def _candidates(way: Way, found: Mapping[Clue, FittingWords]) -> Condition:
    words = text_array(sorted({word for each in way for word in found[each].words}))
    if _is_of_names(way):
        return Condition(CANDIDATES.format(only=IN_NAMES), (words, CUT, IN_MARKUP))
    return Condition(CANDIDATES.format(only=""), (words,))
