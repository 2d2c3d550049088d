"""Attribute values for people: by data type, in the words, dates and numbers of a culture (D16)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any

from babel.dates import format_date, format_datetime
from babel.numbers import format_decimal
from django.utils.translation import gettext as _

from elements.pages.visits import Visit
from elements.reading.names import choose
from elements.values.markup import FILE_SCHEMES, LINKED_SCHEMES, is_followed, shown_markup
from elements.writing.updating import NO_END
from facets.blueprint.data_types import DataType
from facets.blueprint.definitions import Attribute, Property
from facets.rendering import other_texts
from storage.localisation.culture_names import language_names, language_tag, writing
from storage.localisation.cultures import INVARIANT_CULTURE


class Form(StrEnum):
    """How the template writes a value."""

    TEXT = "text"
    LINES = "lines"
    MARKUP = "markup"
    ITEMS = "items"
    ADDRESS = "address"
    FILES = "files"


@dataclass(frozen=True, slots=True)
class Value:
    form: Form
    content: Any


@dataclass(frozen=True, slots=True)
class File:
    """Without an address that a browser may follow, only the title is shown."""

    title: str
    address: str
    type: str
    is_picture: bool


@dataclass(frozen=True, slots=True)
class ShownAttribute:
    """`language` names the language of a value that is not there in the language of the page; `lang` is its tag."""

    label: str
    help: str
    value: Value
    lang: str = ""
    language: str = ""


def show_attribute(visit: Visit, property: Property, values: Mapping[str, Any]) -> ShownAttribute | None:
    """None where there is no value in any culture."""
    chosen = choose(values, visit.lcid, visit.configuration.cultures)
    if chosen is None or property.attribute is None:
        return None
    is_foreign = chosen.lcid not in (visit.lcid, INVARIANT_CULTURE)
    return ShownAttribute(
        visit.word(property.display_names, property.key),
        help_of(visit, property),
        show_value(visit, property.attribute, chosen.value),
        language_tag(chosen.lcid) if is_foreign else "",
        language_names(visit.configuration.cultures.data).get(chosen.lcid, "") if is_foreign else "",
    )


def help_of(visit: Visit, property: Property) -> str:
    cultures = visit.configuration.cultures
    return (
        other_texts(property.tooltips, cultures)[visit.lcid] or other_texts(property.descriptions, cultures)[visit.lcid]
    )


def show_value(visit: Visit, attribute: Attribute, value: Any) -> Value:
    """What does not have the form of its data type is shown as the text it is."""
    try:
        return PRESENTERS[attribute.data_type](visit, attribute, value)
    except (ValueError, TypeError, AttributeError, ArithmeticError):
        return Value(Form.TEXT, str(value))


def show_day(lcid: int, day: date) -> str:
    return format_date(day, "long", locale=writing(lcid))


def show_moment(lcid: int, moment: datetime) -> str:
    """To the minute: the seconds of a change are for logs."""
    return format_datetime(moment.replace(tzinfo=None), _pattern(lcid), locale=writing(lcid))


def is_no_end(moment: datetime | None) -> bool:
    """The last day of the calendar stands for none."""
    return moment is None or moment.year >= NO_END.year


def _pattern(lcid: int) -> str:
    formats = writing(lcid)
    day, time = formats.date_formats["long"].pattern, formats.time_formats["short"].pattern
    return str(formats.datetime_formats["long"]).replace("{1}", str(day)).replace("{0}", str(time))


def _text(visit: Visit, attribute: Attribute, value: Any) -> Value:
    return Value(Form.TEXT, str(value))


def _lines(visit: Visit, attribute: Attribute, value: Any) -> Value:
    return Value(Form.LINES, str(value))


def _markup(visit: Visit, attribute: Attribute, value: Any) -> Value:
    return Value(Form.MARKUP, shown_markup(str(value), _("Table, can be scrolled")))


def _selection(visit: Visit, attribute: Attribute, value: Any) -> Value:
    return Value(Form.TEXT, _selected(visit, attribute, value))


def _selections(visit: Visit, attribute: Attribute, value: Any) -> Value:
    keys = value if isinstance(value, list) else [value]
    return Value(Form.ITEMS, [_selected(visit, attribute, key) for key in keys])


def _selected(visit: Visit, attribute: Attribute, key: Any) -> str:
    found = next((each for each in attribute.selectable_values if each.key == key), None)
    return visit.word(found.display_names, str(key)) if found else str(key)


def _truth(visit: Visit, attribute: Attribute, value: Any) -> Value:
    return Value(Form.TEXT, (_("Yes") if value else _("No")) if isinstance(value, bool) else str(value))


def _number(visit: Visit, attribute: Attribute, value: Any) -> Value:
    exact = Decimal(str(value))
    return Value(Form.TEXT, format_decimal(exact, locale=writing(visit.lcid), decimal_quantization=False))


def _day(visit: Visit, attribute: Attribute, value: Any) -> Value:
    return Value(Form.TEXT, show_day(visit.lcid, datetime.fromisoformat(value).date()))


def _moment(visit: Visit, attribute: Attribute, value: Any) -> Value:
    return Value(Form.TEXT, show_moment(visit.lcid, datetime.fromisoformat(value)))


def _address(visit: Visit, attribute: Attribute, value: Any) -> Value:
    return Value(Form.ADDRESS if is_followed(value, LINKED_SCHEMES) else Form.TEXT, value.strip())


def _files(visit: Visit, attribute: Attribute, value: Any) -> Value:
    return Value(Form.FILES, [_file(each) for each in value])


def _file(given: Mapping[str, Any]) -> File:
    address = str(given.get("fullAddress") or "").strip()
    type = str(given.get("mimeType") or "")
    title = str(given.get("title") or "") or address or str(given.get("address") or "")
    is_open = is_followed(address, FILE_SCHEMES)
    return File(title, address if is_open else "", type, is_open and type.lower().startswith("image/"))


PRESENTERS: Mapping[DataType, Callable[[Visit, Attribute, Any], Value]] = {
    DataType.SINGLE_LINE_TEXT: _text,
    DataType.MULTI_LINE_TEXT: _lines,
    DataType.HTML: _markup,
    DataType.SELECTION_VALUE: _selection,
    DataType.MULTI_SELECTION_VALUE: _selections,
    DataType.BOOLEAN: _truth,
    DataType.INTEGER: _number,
    DataType.DECIMAL: _number,
    DataType.DATE: _day,
    DataType.DATE_TIME: _moment,
    DataType.URL: _address,
    DataType.FILES: _files,
}
