"""A table that was read from a file: its header, its rows, and the bounds of both. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from django.utils.translation import gettext as _

from elements.tables.cells import Cell
from elements.tables.xlsx_writing import column_letters
from repository_site.core.problems import Invalid, Problem, Unreadable

MOST_ROWS = 100_000
MOST_COLUMNS = 500
# Characters of all cells together: one text of a workbook can be in any number of cells.
MOST_CHARACTERS = 100_000_000


@dataclass(frozen=True, slots=True)
class BadCell:
    """A cell whose value is not known, such as a formula without a result."""

    problem: str


ReadCell = Cell | BadCell
CellsByPlace = Mapping[int, ReadCell]


@dataclass(frozen=True, slots=True)
class ReadRow:
    number: int
    """Number of the row in the spreadsheet; the header is usually row 1."""
    cells: CellsByPlace
    """Cells that are not empty, by the place of their column, which begins with 0."""


@dataclass(frozen=True, slots=True)
class ReadTable:
    headers: Mapping[int, str]
    rows: tuple[ReadRow, ...]


def read_table(rows: Iterable[tuple[int, CellsByPlace]]) -> ReadTable:
    """Return the table of a file. The first row that is not empty is its header."""
    found = _bounded((number, cells) for number, cells in rows if cells)
    header = next(found, None)
    if header is None:
        raise Invalid(_("The table is empty. Its first row needs the names of the columns, such as id and name[1033]."))
    headers = {place: cell.strip() for place, cell in header.cells.items() if isinstance(cell, str) and cell.strip()}
    return ReadTable(headers, tuple(found))


def _bounded(rows: Iterable[tuple[int, CellsByPlace]]) -> Iterator[ReadRow]:
    characters = 0
    for count, (number, cells) in enumerate(rows):
        if count > MOST_ROWS:
            raise Invalid(_("The table has more than %(most)d rows. Divide it.") % {"most": MOST_ROWS})
        if (last := max(cells)) >= MOST_COLUMNS:
            words = {"cell": address(last, number), "most": MOST_COLUMNS}
            raise Invalid(_("%(cell)s: the table has more than %(most)d columns.") % words)
        characters += sum(len(cell) for cell in cells.values() if isinstance(cell, str))
        if characters > MOST_CHARACTERS:
            raise Invalid(_("The table has more than %(most)d characters. Divide it.") % {"most": MOST_CHARACTERS})
        yield ReadRow(number, cells)


def address(place: int, row: int) -> str:
    """Return the name of a cell, such as B7."""
    return f"{column_letters(place)}{row}"


def unreadable(text: str) -> Problem:
    return Unreadable(_("The file cannot be read as a table: %(problem)s.") % {"problem": text})
