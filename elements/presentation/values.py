"""Attribute values by data type, with the words, dates and numbers of a culture (D16)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any
from urllib.parse import quote

from babel.dates import format_date, format_datetime
from babel.numbers import format_decimal
from django.urls import get_script_prefix
from django.utils.translation import gettext as _

from elements.presentation.labels import Labels
from elements.reading.names import choose
from elements.values.files import is_stored_file
from elements.values.markup import FILE_SCHEMES, LINKED_SCHEMES, is_followed, shown_markup
from elements.values.markup_text import markup_text
from elements.writing.writers import NO_END
from facets.blueprint.data_types import DataType
from facets.blueprint.definitions import Attribute, Property
from storage.files import FILES_PATH
from storage.files.media_types import PICTURES
from storage.localisation.culture_names import language_names, language_tag, writing
from storage.localisation.cultures import INVARIANT_CULTURE

# Bytes of a picture of the storage up to which pages show it at once: browsers make the thumbnails.
SMALL_PICTURE = 2 * 1024 * 1024


class Form(StrEnum):
    """The forms that `presentation/value.html` can write."""

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
    """`address` is empty if a browser must not follow it; then only the title is shown."""

    title: str
    address: str
    type: str
    is_picture: bool
    is_small: bool = False
    """Whether the picture is shown at once."""


@dataclass(frozen=True, slots=True)
class ShownAttribute:
    """`language` and its tag `lang` are set if the value is not in the language of the page."""

    label: str
    help: str
    value: Value
    lang: str = ""
    language: str = ""


def show_attribute(labels: Labels, property: Property, values: Mapping[str, Any]) -> ShownAttribute | None:
    """Return None if the attribute has no value in any culture."""
    chosen = choose(values, labels.lcid, labels.configuration.cultures)
    if chosen is None or property.attribute is None:
        return None
    is_foreign = chosen.lcid not in (labels.lcid, INVARIANT_CULTURE)
    return ShownAttribute(
        labels.property(property),
        labels.help(property),
        show_value(labels, property.attribute, chosen.value),
        language_tag(chosen.lcid) if is_foreign else "",
        language_names(labels.configuration.cultures.data).get(chosen.lcid, "") if is_foreign else "",
    )


def show_value(labels: Labels, attribute: Attribute, value: Any) -> Value:
    """A value that does not fit its data type, because the type has changed since, is shown as plain text."""
    try:
        return _shown(labels, attribute, value)
    except (ValueError, TypeError, AttributeError, ArithmeticError):
        return Value(Form.TEXT, str(value))


def plain_value(labels: Labels, attribute: Attribute, value: Any) -> str:
    """Return the value as people read it, as one text, for comparisons; empty if there is none (D420)."""
    if value is None:
        return ""
    if attribute.data_type is DataType.HTML:
        return markup_text(str(value))
    shown = show_value(labels, attribute, value)
    if shown.form is Form.ITEMS:
        return ", ".join(shown.content)
    if shown.form is Form.FILES:
        return "\n".join(_file_text(each) for each in shown.content)
    return str(shown.content)


def show_day(lcid: int, day: date) -> str:
    return format_date(day, "long", locale=writing(lcid))


def show_moment(lcid: int, moment: datetime) -> str:
    """Format to the minute; seconds matter in logs only."""
    return format_datetime(moment.replace(tzinfo=None), _pattern(lcid), locale=writing(lcid))


def is_no_end(moment: datetime | None) -> bool:
    """The last day of the calendar means that a version has no end."""
    return moment is None or moment.year >= NO_END.year


def _pattern(lcid: int) -> str:
    formats = writing(lcid)
    day, time = formats.date_formats["long"].pattern, formats.time_formats["short"].pattern
    return str(formats.datetime_formats["long"]).replace("{1}", str(day)).replace("{0}", str(time))


def _shown(labels: Labels, attribute: Attribute, value: Any) -> Value:
    match attribute.data_type:
        case DataType.MULTI_LINE_TEXT:
            return Value(Form.LINES, str(value))
        case DataType.HTML:
            return Value(Form.MARKUP, shown_markup(str(value), _("Table, can be scrolled")))
        case DataType.SELECTION_VALUE:
            return Value(Form.TEXT, _selected(labels, attribute, value))
        case DataType.MULTI_SELECTION_VALUE:
            return Value(Form.ITEMS, _all_selected(labels, attribute, value))
        case DataType.BOOLEAN:
            return Value(Form.TEXT, _truth(value))
        case DataType.INTEGER | DataType.DECIMAL:
            exact = Decimal(str(value))
            return Value(Form.TEXT, format_decimal(exact, locale=writing(labels.lcid), decimal_quantization=False))
        case DataType.DATE | DataType.DATE_TIME:
            moment = datetime.fromisoformat(value)
            if is_no_end(moment):
                return Value(Form.TEXT, _("no end"))
            is_day = attribute.data_type is DataType.DATE
            return Value(Form.TEXT, show_day(labels.lcid, moment) if is_day else show_moment(labels.lcid, moment))
        case DataType.URL:
            return Value(Form.ADDRESS if is_followed(value, LINKED_SCHEMES) else Form.TEXT, value.strip())
        case DataType.FILES:
            return Value(Form.FILES, [_file(each) for each in value])
    return Value(Form.TEXT, str(value))


def _all_selected(labels: Labels, attribute: Attribute, value: Any) -> list[str]:
    known = {each.key: each.display_names for each in attribute.selectable_values}
    keys = map(str, value if isinstance(value, list) else [value])
    return [labels.text(known[key], key) if key in known else key for key in keys]


def _selected(labels: Labels, attribute: Attribute, key: Any) -> str:
    return _all_selected(labels, attribute, [key])[0]


def _truth(value: Any) -> str:
    return (_("Yes") if value else _("No")) if isinstance(value, bool) else str(value)


def _file(given: Mapping[str, Any]) -> File:
    if is_stored_file(given):
        type = str(given.get("mimeType") or "")
        address = f"{get_script_prefix()}{FILES_PATH}{quote(str(given.get('address')))}"
        is_small = int(given.get("size") or 0) <= SMALL_PICTURE
        return File(str(given.get("title") or given.get("address")), address, type, type in PICTURES, is_small)
    address = str(given.get("fullAddress") or "").strip()
    type = str(given.get("mimeType") or "")
    title = str(given.get("title") or "") or address or str(given.get("address") or "")
    is_open = is_followed(address, FILE_SCHEMES)
    return File(title, address if is_open else "", type, is_open and type.lower().startswith("image/"))


def _file_text(file: File) -> str:
    return f"{file.title} ({file.address})" if file.address and file.address != file.title else file.title
