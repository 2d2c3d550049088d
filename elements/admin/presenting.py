"""Values of attributes in the back office: for reading, and as the plain text that differences are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from django.utils.html import format_html, format_html_join, linebreaks
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from elements.admin.labels import Labels
from elements.values.html import XML_DECLARATION
from elements.values.markup import FILE_SCHEMES, LINKED_SCHEMES, is_followed, shown_markup
from facets.blueprint.data_types import DataType
from facets.blueprint.definitions import Attribute
from repository_site.core.rest.rendering import to_json


def show_value(labels: Labels, attribute: Attribute, value: Any) -> SafeString:
    """What does not have the form of its data type, since that has changed meanwhile, is shown as the text it is."""
    try:
        if attribute.data_type is DataType.HTML:
            return format_html('<div class="el-markup">{}</div>', shown_markup(value, _("Table, can be scrolled")))
        if attribute.data_type is DataType.URL and is_followed(value, LINKED_SCHEMES):
            return format_html('<a class="el-link" href="{0}" rel="noopener noreferrer">{0}</a>', value)
        if attribute.data_type is DataType.FILES:
            return format_html_join("", "<div>{}</div>", ((_file(each),) for each in value))
    except (ValueError, TypeError, AttributeError):
        return format_html("{}", str(value))
    return SafeString(linebreaks(plain_value(labels, attribute, value), autoescape=True))


def _file(file: Mapping[str, Any]) -> SafeString:
    address = str(file.get("fullAddress") or "")
    title = str(file.get("title") or "") or address or str(file.get("address") or "")
    if not is_followed(address, FILE_SCHEMES):
        return format_html("{}", title)
    return format_html('<a class="el-link" href="{}" rel="noopener noreferrer">{}</a>', address, title)


def plain_value(labels: Labels, attribute: Attribute, value: Any) -> str:
    """One text for a value; empty when there is none."""
    if value is None:
        return ""
    make = PLAIN.get(attribute.data_type)
    return make(labels, attribute, value) if make else str(value)


def _selected(labels: Labels, attribute: Attribute, key: Any) -> str:
    found = next((each for each in attribute.selectable_values if each.key == key), None)
    return labels.text(found.display_names, str(key)) if found else str(key)


def _selections(labels: Labels, attribute: Attribute, value: Any) -> str:
    keys: Iterable[Any] = value if isinstance(value, list) else [value]
    return ", ".join(_selected(labels, attribute, key) for key in keys)


def _truth(labels: Labels, attribute: Attribute, value: Any) -> str:
    return (_("Yes") if value else _("No")) if isinstance(value, bool) else str(value)


def _html(labels: Labels, attribute: Attribute, value: Any) -> str:
    """Its source: what looks the same may still differ."""
    text = str(value)
    declaration = XML_DECLARATION.match(text)
    return text[declaration.end() :] if declaration else text


def _date_time(labels: Labels, attribute: Attribute, value: Any) -> str:
    return str(value).replace("T", " ")


def _files(labels: Labels, attribute: Attribute, value: Any) -> str:
    return "\n".join(to_json(each).decode() for each in value) if isinstance(value, list) else str(value)


PLAIN: Mapping[DataType, Callable[[Labels, Attribute, Any], str]] = {
    DataType.HTML: _html,
    DataType.SELECTION_VALUE: _selected,
    DataType.MULTI_SELECTION_VALUE: _selections,
    DataType.BOOLEAN: _truth,
    DataType.DATE_TIME: _date_time,
    DataType.FILES: _files,
}
