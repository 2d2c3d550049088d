"""Pages of elements by name. No list is read or counted as a whole, however long it is.

Short lists are shown in the order of the reader's language. Longer lists are ordered by the name in the default
culture, the only one with an index, with keyset pagination, so that the last page costs as much as the first.
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
from elements.reading.lists import selection as selecting
from elements.reading.lists.selection import Selection
from elements.reading.names import read_version_names
from elements.reading.rows import VERSION_AND_ELEMENT, Audience, VersionRow
from repository_site.core.database.statements import Question, fetch
from repository_site.core.wording import GUID

# A list of up to this many elements is shown as a whole, a longer one in pages.
SHORT = 300
PAGE = 100
# A shorter list is not divided by letters.
FEW = 20
# The columns of the index; with `e.id`, PostgreSQL would sort equal names again.
BY_INDEX = "v.sort_name, v.id"
OTHER = "#"


@dataclass(frozen=True, slots=True)
class Group:
    """Elements whose names begin with a letter; the letter is empty if the list is not divided."""

    letter: str
    links: Sequence[Named]


@dataclass(frozen=True, slots=True)
class Listing:
    """`next` is the version after which the next page begins; empty on the last page."""

    groups: Sequence[Group]
    is_long: bool = False
    is_later: bool = False
    """Not the first page."""
    next: str = ""


class NameCursor(NamedTuple):
    sort_name: str
    version: str


@dataclass(frozen=True, slots=True)
class NamePage:
    rows: Sequence[VersionRow]
    has_more: bool

    @property
    def next(self) -> str:
        return self.rows[-1].version if self.has_more and self.rows else ""


def read_by_name(selection: Selection, after: NameCursor | None, size: int) -> NamePage:
    by_index = replace(selection, order=BY_INDEX)
    if after is not None:
        by_index = by_index.matching(Condition("(v.sort_name, v.id) > (%s, %s::uuid)", after))
    rows = selecting.read_page(by_index, size + 1)
    return NamePage(rows[:size], len(rows) > size)


def first_by_name(selection: Selection, size: int) -> Question[list[VersionRow]]:
    """Return the first elements. The text contains every value that affects the plan."""
    return selecting.page_of(replace(selection, order=BY_INDEX), size)


def cursor_of(audience: Audience, version: str) -> NameCursor | None:
    """Return the cursor at the end of a page; None, for the first page, if the version no longer exists."""
    if not GUID.fullmatch(version):
        return None
    # Only versions that the reader can see: the cursor of another version would reveal its name.
    can_open = audience.opens("e")
    sql = f"""SELECT v.sort_name, v.id::text FROM {VERSION_AND_ELEMENT}
        WHERE v.id = %s::uuid AND v.id = e.{audience.pointer} AND {can_open.sql}"""  # noqa: S608  constants of ours
    return next((NameCursor(*row) for row in fetch(sql, [version, *can_open.parameters])), None)


def read_listing(visit: Visit, selection: Selection, after: str) -> Listing:
    cursor = cursor_of(visit.reader.audience, after)
    found = read_by_name(selection, cursor, PAGE if cursor else SHORT)
    is_long = cursor is not None or found.has_more
    if is_long and cursor is None:
        found = NamePage(found.rows[:PAGE], has_more=True)
    names = read_version_names([row.version for row in found.rows])
    if is_long:
        return Listing([Group("", visit.links(found.rows, names))], True, cursor is not None, found.next)
    return Listing(_groups(visit.links(found.rows, names)))


def _groups(links: list[Named]) -> list[Group]:
    ordered = sorted(links, key=lambda link: _sorted_by(link.name.in_one_line))
    if len(ordered) <= FEW:
        return [Group("", ordered)] if ordered else []
    return [Group(letter, list(some)) for letter, some in groupby(ordered, lambda link: _letter(link.name.in_one_line))]


def _sorted_by(name: str) -> tuple[bool, str, str]:
    """Sort as a dictionary does: accents matter only between otherwise equal words, and signs come first."""
    return _letter(name) != OTHER, _plain(name), name


def _letter(name: str) -> str:
    first = _plain(name)[:1].upper()
    return first if first.isalpha() else OTHER


def _plain(name: str) -> str:
    apart = unicodedata.normalize("NFKD", name.strip().casefold())
    return "".join(character for character in apart if not unicodedata.combining(character))
