"""A table that was read from a file: its header, its rows, and the bounds of both. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from django.utils.translation import gettext as _

from elements.tables.cells import Cell
from elements.tables.xlsx_writing import column_letters
from repository_site.core.problems import Invalid, Problem, TooLarge, Unreadable

MOST_COLUMNS = 500
MEGABYTE = 1024 * 1024


class TableTooLarge(TooLarge):
    """A table that exceeds the bounds of those who read it. Others may have wider bounds."""


@dataclass(frozen=True, slots=True)
class TableBounds:
    """How much of a file is read. A small file can contain any number of cells: it is compressed."""

    rows: int
    cells: int
    """Cells that are not empty."""
    unpacked: int
    """Bytes of csv, and of all documents of a workbook after unpacking."""

    @property
    def elements(self) -> int:
        """XML elements of a workbook: a cell is up to four of them, and spreadsheets also write empty ones."""
        return 1_000 + 8 * self.cells


LARGEST = TableBounds(100_000, 5_000_000, 300 * MEGABYTE)


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


def read_table(rows: Iterable[tuple[int, CellsByPlace]], bounds: TableBounds = LARGEST) -> ReadTable:
    """Return the table of a file. The first row that is not empty is its header."""
    found = _bounded(((number, cells) for number, cells in rows if cells), bounds)
    header = next(found, None)
    if header is None:
        raise Invalid(_("The table is empty. Its first row needs the names of the columns, such as id and name[1033]."))
    headers = {place: cell.strip() for place, cell in header.cells.items() if isinstance(cell, str) and cell.strip()}
    return ReadTable(headers, tuple(found))


def _bounded(rows: Iterable[tuple[int, CellsByPlace]], bounds: TableBounds) -> Iterator[ReadRow]:
    filled = characters = 0
    # One text of a workbook can be in any number of cells.
    most_characters = 20 * bounds.cells
    for count, (number, cells) in enumerate(rows):
        if count > bounds.rows:
            raise TableTooLarge(_("The table has more than %(most)d rows. Divide it.") % {"most": bounds.rows})
        check_place(max(cells), number)
        filled += len(cells)
        if filled > bounds.cells:
            text = _("The table has more than %(most)d cells. Divide it, or delete columns that you did not edit.")
            raise TableTooLarge(text % {"most": bounds.cells})
        characters += sum(len(cell) for cell in cells.values() if isinstance(cell, str))
        if characters > most_characters:
            text = _("The table has more than %(most)d characters. Divide it.")
            raise TableTooLarge(text % {"most": most_characters})
        yield ReadRow(number, cells)


def check_place(place: int, row: int) -> None:
    """Refuse a cell beyond the last column."""
    if place >= MOST_COLUMNS:
        words = {"cell": address(place, row), "most": MOST_COLUMNS}
        raise Invalid(_("%(cell)s: the table has more than %(most)d columns.") % words)


def check_unpacked(size: int, bounds: TableBounds) -> None:
    if size > bounds.unpacked:
        text = _("The table has more than %(most)d MB when unpacked. Divide it.")
        raise TableTooLarge(text % {"most": bounds.unpacked // MEGABYTE})


def address(place: int, row: int) -> str:
    """Return the name of a cell, such as B7."""
    return f"{column_letters(place)}{row}"


def unreadable(text: str) -> Problem:
    return Unreadable(_("The file cannot be read as a table: %(problem)s.") % {"problem": text})
