"""Rows in the form of their owner, as dictionaries and HTML, which templates show fastest (D654)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.forms import BoundField
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

Line = dict[str, Any]
Cell = dict[str, Any]
TABLE_CELL = '<td class="parts-{name}{kind}" data-label="{label}">{input}{errors}</td>'
ERRORS = '<div class="config-error">{}</div>'


def cell_of(field: BoundField) -> Cell:
    errors = field.errors
    return {
        "name": field.name,
        "place": field.auto_id,
        "id": field.id_for_label,
        "kind": " errors" if errors else "",
        "label": field.label,
        "help": field.help_text,
        "value": field.value(),
        "errors": format_html(ERRORS, errors) if errors else "",
        "input": field.as_widget(),
    }


def table_cells(cells: Iterable[Cell]) -> SafeString:
    shown = ("name", "kind", "label", "input", "errors")
    return format_html_join("", TABLE_CELL, ({name: cell[name] for name in shown} for cell in cells))


def joined(fields: Iterable[BoundField]) -> SafeString:
    return mark_safe("".join(field.as_widget() for field in fields))  # noqa: S308  # widgets escape their values
