"""Cells of a table (D462): values as a spreadsheet keeps them exactly, and their texts in csv. Pure."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from elements.values.checking import read_date_time
from facets.blueprint.data_types import DataType
from repository_site.core.rest.rendering import to_json

Cell = str | bool | int | Decimal | date | datetime | None
# Rows of a table, in batches with the number of all rows.
RowBatches = Generator[tuple[int, Sequence[Sequence[Cell]]], None, None]
# Spreadsheets compute with doubles, which have 15 exact digits.
MOST_DIGITS = 15
# The first day from which all spreadsheets count days alike.
FIRST_DAY = date(1900, 3, 1)
# Items of a cell are on lines of their own: neither keys nor ids nor names contain line breaks.
SEPARATOR = "\n"
# Spreadsheets take a text with such a beginning for a formula when they open csv, full-width forms included, and some
# skip spaces before it. The apostrophe is the mark itself.
_BEGINNINGS = "=+\\-@\uff1d\uff0b\uff0d\uff20'"
BEGINNING = re.compile(f" *[{_BEGINNINGS}\t\r\n]")
# A spreadsheet whose users write 1,5 separates cells by semicolons, so for it a cell may begin inside a text as well.
INSIDE = re.compile(f"([;\t\r\n])(?= *[{_BEGINNINGS}])")
MARKED_INSIDE = re.compile(f"([;\t\r\n])'(?= *[{_BEGINNINGS}])")
MARK = "'"
DATED = frozenset({DataType.DATE, DataType.DATE_TIME})


def cell_of(data_type: DataType | None, value: Any) -> Cell:
    """Return the cell of a value. A stored value may be of another data type than the configuration says by now."""
    if isinstance(value, str):
        return _dated(data_type, value) if data_type in DATED else value or None
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float | Decimal):
        return number_cell(value if isinstance(value, Decimal) else Decimal(str(value)))
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return items_cell(value)
    return to_json(value).decode()


def number_cell(value: Decimal) -> Cell:
    """Return a number if a spreadsheet keeps all its digits, else their text."""
    if not value.is_finite():
        return str(value)
    digits = len(value.as_tuple().digits)
    if digits > MOST_DIGITS or not -300 < value.adjusted() < MOST_DIGITS:
        return str(value)
    return int(value) if value == value.to_integral_value() else value


def items_cell(items: Iterable[str]) -> Cell:
    return SEPARATOR.join(items) or None


def moment_cell(value: str) -> Cell:
    """Return a time that only the server sets, in whole seconds."""
    return _dated(DataType.DATE_TIME, value.partition(".")[0])


def _dated(data_type: DataType | None, text: str) -> Cell:
    if not text:
        return None
    if data_type is DataType.DATE_TIME:
        moment = read_date_time(text)
        fits = moment is not None and not moment.microsecond and moment.date() >= FIRST_DAY
        return moment if fits else text
    if data_type is DataType.DATE:
        try:
            day = date.fromisoformat(text)
        except ValueError:
            return text
        return day if day >= FIRST_DAY and day.isoformat() == text else text
    return text


def csv_text(cell: Cell) -> str:
    """Return the text of a cell in csv. Where a spreadsheet could see a formula, an apostrophe prevents that; an import
    removes it."""
    if not isinstance(cell, str):
        return plain_text(cell)
    # Most texts have nothing to mark, and a search is faster than a replacement.
    text = INSIDE.sub(rf"\1{MARK}", cell) if INSIDE.search(cell) else cell
    return MARK + text if BEGINNING.match(text) else text


def read_csv_text(text: str) -> str:
    """Return the text that `csv_text` has written."""
    plain = MARKED_INSIDE.sub(r"\1", text) if MARK in text else text
    return plain[1:] if plain.startswith(MARK) and BEGINNING.match(plain, 1) else plain


def plain_text(cell: Cell) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, Decimal):
        return format(cell, "f")
    return cell.isoformat() if isinstance(cell, date) else str(cell)
