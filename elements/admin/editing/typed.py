"""Values of attributes as they stand in a form, and back: what cannot be read is handed on as it was typed, so that the
domain says what is wrong with it. Pure."""

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

# Where blanks are a value, too.
TEXTS = (DataType.SINGLE_LINE_TEXT, DataType.MULTI_LINE_TEXT, DataType.HTML)
# A text, or the keys that are selected.
Typed = str | list[str]
WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,40}")
NUMBER = re.compile(r"[+-]?[0-9]{1,200}(\.[0-9]{1,200})?([eE][+-]?[0-9]{1,3})?")
WITHOUT_SECONDS = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}")


class NoJson(ValueError):
    """The text of a field that holds JSON is none."""


def typed_value(data_type: DataType, value: Any) -> Typed:
    """As a form shows it; empty when there is none."""
    if data_type is DataType.MULTI_SELECTION_VALUE:
        return [str(each) for each in value] if isinstance(value, list) else []
    if value is None:
        return ""
    show = _SHOWN.get(data_type)
    return show(value) if show else with_plain_lines(str(value))


def read_typed(data_type: DataType, typed: Typed) -> Any:
    """The value that is meant; None when there is to be none."""
    if isinstance(typed, list):
        return typed or None
    if not typed or (not typed.strip() and data_type not in TEXTS):
        return None
    read = _READ.get(data_type)
    return read(typed) if read else typed


def same_typed(one: Typed, other: Typed) -> bool:
    """Boxes are ticked in no order."""
    return sorted(one) == sorted(other) if isinstance(one, list) and isinstance(other, list) else one == other


def posted_text(data_type: DataType | None, text: str) -> str:
    """What a browser sends, as the same value is shown in a form."""
    return _read_date_time(text) if data_type is DataType.DATE_TIME else with_plain_lines(text)


def _html(value: Any) -> str:
    """Without the declaration that every one has, and that is added again."""
    return with_plain_lines(str(value).removeprefix(DECLARATION))


def _truth(value: Any) -> str:
    return {True: "true", False: "false"}.get(value, str(value)) if isinstance(value, bool) else str(value)


def _files(value: Any) -> str:
    return json.dumps(json.loads(to_json(value)), ensure_ascii=False, indent=2)


def _read_truth(text: str) -> Any:
    return {"true": True, "false": False}.get(text, text)


def _read_integer(text: str) -> Any:
    """What has more than 64 bits is no integer to the domain, but a number, as when the API reads it."""
    if not WHOLE_NUMBER.fullmatch(text.strip()):
        return text
    number = int(text)
    return number if abs(number) <= MAX_INTEGER else Decimal(number)


def _read_decimal(text: str) -> Any:
    """Within the bounds that the API has for numbers, by far; anything else is no number."""
    plain = text.strip()
    if not NUMBER.fullmatch(plain):
        return text
    return _read_integer(text) if WHOLE_NUMBER.fullmatch(plain) else Decimal(plain)


def _read_date_time(text: str) -> str:
    """Browsers leave out seconds that are none, and fill up fractions."""
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
