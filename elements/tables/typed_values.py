"""Values of cells (D465): whether a cell is as an export writes it, and which value an edited cell has. Pure."""

from __future__ import annotations

from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from typing import Any

from django.utils.translation import gettext as _

from elements.tables.cells import SEPARATOR, Cell, plain_text
from elements.tables.xlsx_writing import MOST_TEXT, shortened, utf16_length
from elements.values.files import stored_files
from facets.blueprint.data_types import DataType
from facets.blueprint.definitions import Attribute
from repository_site.core.problems import Unreadable
from repository_site.core.rest.strict_json import parse_json

# Spreadsheets write truth values in the language of the user.
TRUTHS = {"true": True, "false": False, "wahr": True, "falsch": False}
TEXTS = frozenset({DataType.SINGLE_LINE_TEXT, DataType.MULTI_LINE_TEXT, DataType.HTML, DataType.URL})
MOST_NUMBER = 400
"""Characters of a number."""


class CellProblem(ValueError):
    """A problem of a cell; the text continues a sentence after its address."""


def same_cell(read: Cell, current: Cell) -> bool:
    """Return whether a cell that was read has what an export writes for the current value."""
    if isinstance(current, str):
        text = _lines(plain_text(read))
        return text in (_lines(current), _lines(shortened(current)))
    if isinstance(read, str) and current is not None:
        return _same_text(read.strip(), current)
    if isinstance(read, bool) or isinstance(current, bool):
        return read is current
    if isinstance(read, date) and isinstance(current, date):
        return _moment(read) == _moment(current)
    return (read or None) == current if isinstance(read, str) else read == current


def _same_text(text: str, current: Cell) -> bool:
    if isinstance(current, bool):
        return TRUTHS.get(text.casefold()) is current
    if isinstance(current, int | Decimal):
        return _number(text) == current
    return text == plain_text(current) or text.replace(" ", "T", 1) == plain_text(current)


def _moment(value: date) -> datetime:
    return value if isinstance(value, datetime) else datetime.combine(value, time())


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def same_files(read: Cell, current: Cell) -> bool:
    """Return whether two cells have the same files. Addresses of files of the storage are derived, and differ if the
    service has another address."""
    try:
        new, old = _files(read or "[]"), _files(current or "[]")
    except CellProblem:
        return False
    return isinstance(new, list) and isinstance(old, list) and stored_files(new, old) == stored_files(old, old)


def is_cut(current: Cell) -> bool:
    """Return whether a workbook has only a part of a text."""
    return isinstance(current, str) and utf16_length(current) > MOST_TEXT


def value_of(attribute: Attribute, cell: Cell) -> Any:
    """Return the value of an attribute for a cell in the form of the API, None for an empty cell. The update checks it;
    this raises CellProblem only if there is no such form."""
    if cell is None or cell == "":
        return None
    data_type = attribute.data_type
    if data_type in TEXTS or data_type is DataType.SELECTION_VALUE:
        text = _lines(plain_text(cell))
        return text.strip() if data_type is DataType.SELECTION_VALUE else text
    if data_type is DataType.MULTI_SELECTION_VALUE:
        return _keys(attribute, plain_text(cell))
    return _TYPED[data_type](cell)


def _keys(attribute: Attribute, text: str) -> list[str]:
    """Return keys on lines of their own. Semicolons separate them as well, unless a key contains one."""
    known = {each.key for each in attribute.selectable_values}
    found: list[str] = []
    for line in items(text):
        found += [line] if line in known else [part.strip() for part in line.split(";") if part.strip()]
    return found


def items(text: str) -> list[str]:
    return [each for line in _lines(text).split(SEPARATOR) if (each := line.strip())]


def _truth(cell: Cell) -> bool:
    found = cell if isinstance(cell, bool) else TRUTHS.get(plain_text(cell).strip().casefold())
    if found is None:
        raise CellProblem(_("must be true or false"))
    return found


def _number(text: str) -> Decimal | None:
    try:
        found = Decimal(text) if len(text) <= MOST_NUMBER else Decimal("NaN")
    except InvalidOperation:
        return None
    return found if found.is_finite() and abs(found.adjusted()) <= MOST_NUMBER else None


def _decimal(cell: Cell) -> Decimal | int:
    found = None if isinstance(cell, bool | date) else _number(plain_text(cell).strip())
    if found is None:
        raise CellProblem(_("must be a number"))
    return int(found) if found == found.to_integral_value() and abs(found) < 10**15 else found


def _integer(cell: Cell) -> int:
    found = None if isinstance(cell, bool | date) else _number(plain_text(cell).strip())
    if found is None or found != found.to_integral_value():
        raise CellProblem(_("must be a whole number of up to 64 bits"))
    return int(found)


def _day(cell: Cell) -> str:
    if isinstance(cell, datetime):
        if cell.time() != time():
            raise CellProblem(_("must be a date such as 2026-12-31"))
        return cell.date().isoformat()
    text = plain_text(cell).strip()
    return text.removesuffix("T00:00:00").removesuffix(" 00:00:00")


def _date_time(cell: Cell) -> str:
    if isinstance(cell, date):
        return _moment(cell).isoformat()
    text = plain_text(cell).strip().replace(" ", "T", 1)
    return f"{text}T00:00:00" if len(text) == len("2026-12-31") else text


def _files(cell: Cell) -> Any:
    try:
        return parse_json(plain_text(cell).encode())
    except Unreadable:
        raise CellProblem(_("must be a list of files")) from None


_TYPED = {
    DataType.BOOLEAN: _truth,
    DataType.INTEGER: _integer,
    DataType.DECIMAL: _decimal,
    DataType.DATE: _day,
    DataType.DATE_TIME: _date_time,
    DataType.FILES: _files,
}
