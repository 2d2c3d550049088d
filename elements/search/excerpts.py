"""Excerpts of texts, with the words that a search has found between <mark> and </mark> (D385). Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from html import escape, unescape
from typing import Any

from elements.filters.words import DROPPED, SEPARATORS, UNSPACED_RUN, words_inside
from elements.naming import NAME
from elements.values.html import XML_DECLARATION

LENGTH, BEFORE = 200, 60
# Longest text that is searched for an excerpt.
LONGEST = 20_000
# Texts from this length on are not words of people; their words are not kept.
MOST_KEPT = 50
# A sign that begins no tag must not make the search look at the rest of the text: that would take quadratic time.
TAG = re.compile(r"<[^<>]*>")
BLANKS = re.compile(r"\s+")
# Letters with the marks on them.
RUN = re.compile(f"(?:[^{SEPARATORS}]|{DROPPED.pattern})+")


@dataclass(frozen=True, slots=True)
class Excerpt:
    attribute: str
    culture: str
    text: str
    file: str = ""
    """Id of the file that has the text."""
    file_name: str = ""


def plain_text(value: str) -> str:
    if XML_DECLARATION.match(value):
        value = unescape(TAG.sub(" ", value))
    return BLANKS.sub(" ", value[:LONGEST]).strip()


def best_excerpt(
    attributes: Mapping[str, Mapping[str, Any]], shown: Iterable[str], matches: Callable[[str], bool], culture: str
) -> Excerpt | None:
    """Return the excerpt with the most different words; then the given culture wins, then texts before names."""
    best, chosen = (0, False, False), None
    for attribute in sorted(shown):
        for given, value in attributes.get(attribute, {}).items():
            if not isinstance(value, str) or not value:
                continue
            text = plain_text(value)
            found = _found(text, matches)
            rank = len({words for _, _, words in found}), given == culture, attribute != NAME
            if found and rank > best:
                best = rank
                chosen = Excerpt(attribute, given, _marked(text, _joined((start, end) for start, end, _ in found)))
    return chosen


def marked_text(text: str, matches: Callable[[str], bool]) -> str:
    """Return the part of a text with the found words."""
    text = plain_text(text)
    places = _joined((start, end) for start, end, _ in _found(text, matches))
    return _marked(text, places) if places else escape(text[:LENGTH])


def _found(text: str, matches: Callable[[str], bool]) -> list[tuple[int, int, tuple[str, ...]]]:
    return [(start, end, words) for start, end, words in _places(text) if any(map(matches, words))]


def _words(text: str) -> tuple[str, ...]:
    return _kept_words(text) if len(text) < MOST_KEPT else tuple(words_inside(text))


@lru_cache(10_000)
def _kept_words(text: str) -> tuple[str, ...]:
    return tuple(words_inside(text))


def _places(text: str) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Return the words of a text with their places. Neighbours in a script without blanks overlap."""
    for run in RUN.finditer(text):
        start, end = run.span()
        for unspaced in () if run[0].isascii() else UNSPACED_RUN.finditer(text, start, end):
            if start < unspaced.start():
                yield start, unspaced.start(), _words(text[start : unspaced.start()])
            start = unspaced.end()
            for place in range(unspaced.start(), max(start - 1, unspaced.start() + 1)):
                yield place, min(place + 2, start), _words(text[place : min(place + 2, start)])
        if start < end:
            yield start, end, _words(text[start:end])


def _joined(places: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return places without overlaps, each not longer than an excerpt."""
    found: list[tuple[int, int]] = []
    for start, end in places:
        if found and start < found[-1][1]:
            start = found.pop()[0]
        found.append((start, min(end, start + LENGTH)))
    return found


def _marked(text: str, places: list[tuple[int, int]]) -> str:
    first, first_end = places[0]
    start, end = max(0, first - BEFORE), len(text)
    # At blanks, if there are any.
    if start and (blank := text.find(" ", start, first)) >= 0:
        start = blank + 1
    if end - start > LENGTH:
        blank = text.rfind(" ", first_end, start + LENGTH)
        end = blank if blank >= 0 else max(start + LENGTH, first_end)
    pieces, position = ["…" if start else ""], start
    for begin, stop in places:
        if begin < position or stop > end:
            continue
        pieces += [escape(text[position:begin]), "<mark>", escape(text[begin:stop]), "</mark>"]
        position = stop
    return "".join([*pieces, escape(text[position:end]), "…" if end < len(text) else ""])
