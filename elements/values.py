"""Whether a value fits its attribute (D16). Pure: the answer is what is wrong, in words, or None."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from xml.parsers import expat

from facets.blueprint import Attribute
from facets.data_types import DataType

LOCAL_DATE_TIME = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,7})?")
LINE_BREAK = re.compile(r"[\r\n\x0b\x0c\x85\u2028\u2029]")
XML_DECLARATION = re.compile(r"\s*<\?xml\b[^>]*\?>")
MAX_INTEGER = 2**63 - 1
FILE_FIELDS = ("address", "fullAddress", "mimeType", "protocol", "title")


def value_problem(attribute: Attribute, value: Any) -> str | None:
    return _CHECKS[attribute.data_type](attribute, value)


def read_date_time(text: Any) -> datetime | None:
    """A local date-time as the API writes it; a seventh digit is dropped. None when it is none."""
    if not isinstance(text, str) or not LOCAL_DATE_TIME.fullmatch(text):
        return None
    try:
        return datetime.fromisoformat(text[:26])
    except ValueError:
        return None


def html_problem(text: str) -> str | None:
    """Well-formed markup after an XML declaration. Inside an element a document type, whose entities could unfold for
    ever, is no markup."""
    declaration = XML_DECLARATION.match(text)
    if declaration is None:
        return "must start with an XML declaration"
    try:
        expat.ParserCreate().Parse(f"<root>{text[declaration.end() :]}</root>", True)
    except (expat.ExpatError, ValueError) as problem:
        return f"is not well-formed: {problem}"
    return None


def _text(attribute: Attribute, value: Any) -> str | None:
    if not isinstance(value, str):
        return "must be a text"
    return "holds a NUL character" if "\x00" in value else None


def _single_line(attribute: Attribute, value: Any) -> str | None:
    problem = _text(attribute, value)
    return problem or ("must be a single line" if LINE_BREAK.search(value) else None)


def _html(attribute: Attribute, value: Any) -> str | None:
    return _text(attribute, value) or html_problem(value)


def _selection(attribute: Attribute, value: Any) -> str | None:
    keys = [each.key for each in attribute.selectable_values if each.key is not None]
    return None if value in keys else f"must be one of {', '.join(keys)}"


def _selections(attribute: Attribute, value: Any) -> str | None:
    if not isinstance(value, list) or len(set(map(str, value))) != len(value):
        return "must be a list of keys, each once"
    return next((problem for item in value if (problem := _selection(attribute, item))), None)


def _boolean(attribute: Attribute, value: Any) -> str | None:
    return None if isinstance(value, bool) else "must be true or false"


def _integer(attribute: Attribute, value: Any) -> str | None:
    good = isinstance(value, int) and not isinstance(value, bool) and -MAX_INTEGER - 1 <= value <= MAX_INTEGER
    return None if good else "must be a whole number of up to 64 bits"


def _decimal(attribute: Attribute, value: Any) -> str | None:
    return None if isinstance(value, int | Decimal) and not isinstance(value, bool) else "must be a number"


def _date(attribute: Attribute, value: Any) -> str | None:
    try:
        good = isinstance(value, str) and date.fromisoformat(value).isoformat() == value
    except ValueError:
        good = False
    return None if good else "must be a date such as 2026-12-31"


def _date_time(attribute: Attribute, value: Any) -> str | None:
    return None if read_date_time(value) is not None else "must be a date-time such as 2026-12-31T13:45:00"


def _url(attribute: Attribute, value: Any) -> str | None:
    problem = _single_line(attribute, value)
    if problem is None and re.match(r"\s*(javascript|data|vbscript)\s*:", value, re.IGNORECASE):
        return "must not be an address that runs code"
    return problem


def _files(attribute: Attribute, value: Any) -> str | None:
    if not isinstance(value, list):
        return "must be a list of files"
    for item in value:
        if not isinstance(item, dict) or set(item) - set(FILE_FIELDS):
            return f"must hold objects with {', '.join(FILE_FIELDS)}"
        if not all(isinstance(text, str) for text in item.values()) or "address" not in item:
            return "must hold files with an address and texts only"
    return None


_CHECKS: dict[DataType, Callable[[Attribute, Any], str | None]] = {
    DataType.SINGLE_LINE_TEXT: _single_line,
    DataType.MULTI_LINE_TEXT: _text,
    DataType.HTML: _html,
    DataType.SELECTION_VALUE: _selection,
    DataType.MULTI_SELECTION_VALUE: _selections,
    DataType.BOOLEAN: _boolean,
    DataType.INTEGER: _integer,
    DataType.DECIMAL: _decimal,
    DataType.DATE: _date,
    DataType.DATE_TIME: _date_time,
    DataType.URL: _url,
    DataType.FILES: _files,
}
