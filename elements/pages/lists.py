"""Elements by name, as many as a page can hold: no list is read or counted as a whole, however long it is.

What is short enough is shown in the order of the reader's language. Longer lists go by the name in the default culture,
which alone has an index, from one element to the next (keyset), so that the last page costs as much as the first.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import NamedTuple

from elements.filters.conditions import Condition
from elements.pages.visits import Visit
from elements.presentation.labels import Named
from elements.reading import selection as selecting
from elements.reading.names import read_version_names
from elements.reading.rows import Audience, VersionRow
from elements.reading.selection import Selection
from repository_site.core.database.statements import fetch
from repository_site.core.wording import GUID

# A list of up to this many is shown whole; one that is longer in pages.
SHORT = 300
PAGE = 100
# Below this, letters over the entries would only be in the way.
FEW = 20
# The index of names goes by these; `e.id` would have every equal name sorted again.
BY_INDEX = "v.sort_name, v.id"
OTHER = "#"


@dataclass(frozen=True, slots=True)
class Group:
    """Elements whose names begin with a letter; without one where the list is not divided."""

    letter: str
    links: Sequence[Named]


@dataclass(frozen=True, slots=True)
class Listing:
    """`next` is the version after which the next page begins, empty on the last one."""

    groups: Sequence[Group]
    is_long: bool = False
    is_later: bool = False
    """Not the first page."""
    next: str = ""


class Place(NamedTuple):
    """Of a version among the names: the key of the index."""

    sort_name: str
    version: str


@dataclass(frozen=True, slots=True)
class NamePage:
    rows: Sequence[VersionRow]
    has_more: bool

    @property
    def next(self) -> str:
        return self.rows[-1].version if self.has_more and self.rows else ""


def read_by_name(selection: Selection, after: Place | None, size: int) -> NamePage:
    by_index = replace(selection, order=BY_INDEX)
    if after is not None:
        by_index = by_index.matching(Condition("(v.sort_name, v.id) > (%s, %s::uuid)", after))
    rows = selecting.read_page(by_index, size + 1, with_attributes=False)
    return NamePage(rows[:size], len(rows) > size)


def place_of(audience: Audience, version: str) -> Place | None:
    """Where a page ended; None when the version is gone, and the list begins anew."""
    if not GUID.fullmatch(version):
        return None
    # Only what the reader sees: where a draft stands among the names would tell its name.
    sql = f"""SELECT v.sort_name, v.id::text FROM elements_elementversion v
        JOIN elements_element e ON e.id = v.element_id WHERE v.id = %s::uuid AND v.id = e.{audience.pointer}"""  # noqa: S608  constants of ours
    return next((Place(*row) for row in fetch(sql, [version])), None)


def begins_with(text: str) -> Condition:
    """By the name in the default culture. `starts_with` is leakproof, so it can go by the index."""
    return Condition("starts_with(v.sort_name, %s)", (text.casefold(),))


def read_listing(visit: Visit, selection: Selection, after: str) -> Listing:
    place = place_of(visit.reader.audience, after)
    found = read_by_name(selection, place, PAGE if place else SHORT)
    is_long = place is not None or found.has_more
    if is_long and place is None:
        found = NamePage(found.rows[:PAGE], has_more=True)
    names = read_version_names([row.version for row in found.rows])
    if is_long:
        return Listing([Group("", visit.links(found.rows, names))], True, place is not None, found.next)
    return Listing(_groups(visit.links(found.rows, names)))


def _groups(links: list[Named]) -> list[Group]:
    ordered = sorted(links, key=lambda link: _sorted_by(link.name.in_one_line))
    if len(ordered) <= FEW:
        return [Group("", ordered)] if ordered else []
    return [Group(letter, list(some)) for letter, some in groupby(ordered, lambda link: _letter(link.name.in_one_line))]


def _sorted_by(name: str) -> tuple[bool, str, str]:
    """As a dictionary does: accents count only between words that are otherwise alike, and signs come first."""
    return _letter(name) != OTHER, _plain(name), name


def _letter(name: str) -> str:
    first = _plain(name)[:1].upper()
    return first if first.isalpha() else OTHER


def _plain(name: str) -> str:
    apart = unicodedata.normalize("NFKD", name.strip().casefold())
    return "".join(character for character in apart if not unicodedata.combining(character))
