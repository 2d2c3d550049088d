"""Attribute values as form texts, and back. A text that cannot be parsed stays a text, so that the domain reports the
problem. Pure functions."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from elements.reading.assembly.attributes import read_exactly
from elements.values.checking import MAX_INTEGER
from elements.values.html import DECLARATION
from facets.blueprint.data_types import DataType
from repository_site.core.rest.rendering import to_json
from storage.back_office.fields import with_plain_lines

# Data types in which blanks are a value.
TEXTS = (DataType.SINGLE_LINE_TEXT, DataType.MULTI_LINE_TEXT, DataType.HTML)
Typed = str | list[str]
WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,40}")
NUMBER = re.compile(r"[+-]?[0-9]{1,200}(\.[0-9]{1,200})?([eE][+-]?[0-9]{1,3})?")
WITHOUT_SECONDS = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}")


class NoJson(ValueError):
    """The text of a JSON field is not valid JSON."""


def typed_value(data_type: DataType, value: Any) -> Typed:
    """Return the form text of a value; empty if there is no value."""
    if data_type is DataType.MULTI_SELECTION_VALUE:
        return [str(each) for each in value] if isinstance(value, list) else []
    if value is None:
        return ""
    show = _SHOWN.get(data_type)
    return show(value) if show else with_plain_lines(str(value))


def read_typed(data_type: DataType, typed: Typed) -> Any:
    """Parse a typed value; None means that the field is empty."""
    if isinstance(typed, list):
        return typed or None
    if not typed or (not typed.strip() and data_type not in TEXTS):
        return None
    read = _READ.get(data_type)
    return read(typed) if read else typed


def same_typed(one: Typed, other: Typed) -> bool:
    """Compare typed values; the order of checkboxes does not matter."""
    return sorted(one) == sorted(other) if isinstance(one, list) and isinstance(other, list) else one == other


def posted_text(data_type: DataType | None, text: str) -> str:
    """Normalise a text that a browser has sent."""
    return _read_date_time(text) if data_type is DataType.DATE_TIME else with_plain_lines(text)


def _html(value: Any) -> str:
    """Strip the declaration, which is added again on saving."""
    return with_plain_lines(str(value).removeprefix(DECLARATION))


def _truth(value: Any) -> str:
    return {True: "true", False: "false"}.get(value, str(value)) if isinstance(value, bool) else str(value)


def _files(value: Any) -> str:
    return json.dumps(json.loads(to_json(value)), ensure_ascii=False, indent=2)


def _read_truth(text: str) -> Any:
    return {"true": True, "false": False}.get(text, text)


def _read_integer(text: str) -> Any:
    """Parse integers beyond 64 bits as decimals, as the API does."""
    if not WHOLE_NUMBER.fullmatch(text.strip()):
        return text
    number = int(text)
    return number if abs(number) <= MAX_INTEGER else Decimal(number)


def _read_decimal(text: str) -> Any:
    """Accept numbers well beyond the limits of the API; keep any other text."""
    plain = text.strip()
    if not NUMBER.fullmatch(plain):
        return text
    return _read_integer(text) if WHOLE_NUMBER.fullmatch(plain) else Decimal(plain)


def _read_date_time(text: str) -> str:
    """Browsers omit zero seconds and pad fractions."""
    plain = text.strip()
    if WITHOUT_SECONDS.fullmatch(plain):
        return f"{plain}:00"
    return plain.rstrip("0").rstrip(".") if "." in plain else plain


def _read_files(text: str) -> Any:
    try:
        return read_exactly(text)
    except (ValueError, RecursionError) as problem:
        raise NoJson(str(problem)) from problem


_SHOWN: Mapping[DataType, Callable[[Any], str]] = {
    DataType.HTML: _html,
    DataType.BOOLEAN: _truth,
    DataType.FILES: _files,
}
_READ: Mapping[DataType, Callable[[str], Any]] = {
    DataType.BOOLEAN: _read_truth,
    DataType.INTEGER: _read_integer,
    DataType.DECIMAL: _read_decimal,
    DataType.DATE: str.strip,
    DataType.DATE_TIME: _read_date_time,
    DataType.FILES: _read_files,
}
