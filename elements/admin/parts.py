"""Tabs of an element's page: attributes by culture, references in both directions, children and the diagram."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.utils.translation import gettext_lazy as _

from elements.admin.panels import ElementPage, Panel
from elements.diagrams.drawables import LayoutKey
from elements.naming import NAME
from elements.presentation.diagrams import picture_of, read_layout
from elements.presentation.labels import Named
from elements.presentation.uses import Uses, reading_uses
from elements.presentation.values import Value, show_value
from elements.reading.assembly.projection import DERIVED
from elements.reading.diagrams.pictures import DrawnShapes, reading_drawn_shapes
from elements.reading.lists.selection import children_of, page_of
from elements.reading.names import version_names_of
from elements.values.checking import is_empty
from elements.writing.inputs import SERVER_CONTEXTS
from facets.blueprint.definitions import Property
from repository_site.core.database.statements import Reading, ask_for
from storage.localisation.cultures import INVARIANT_CULTURE
from storage.pages import Fragment

FOLDER = "back_office/elements"
# The list of elements shows more than this many.
MANY = 200


@dataclass(frozen=True, slots=True)
class AttributeCell:
    value: Value | None
    culture: str = ""
    is_missing: bool = False
    """The mandatory culture has no value, but another culture has one."""


@dataclass(frozen=True, slots=True)
class AttributeRow:
    label: str
    cells: tuple[AttributeCell, ...]
    is_invariant: bool

    @property
    def is_empty(self) -> bool:
        return all(each.value is None for each in self.cells)


def attributes_panel(page: ElementPage) -> Fragment:
    values = page.attributes

    @cache
    def rows() -> list[AttributeRow]:
        found = (_attribute_row(page, each, values.get(each.key, {})) for each in page.type.properties)
        return [each for each in found if each is not None]

    context = {"page": page, "rows": rows, "cultures": page.labels.cultures}
    return Fragment(f"{FOLDER}/attributes.html", context, page.request)


def _attribute_row(page: ElementPage, property: Property, values: Mapping[str, Any]) -> AttributeRow | None:
    attribute = property.attribute
    if attribute is None or property.key in DERIVED:
        return None

    def shown(lcid: int) -> Value | None:
        value = values.get(str(lcid))
        return None if is_empty(value) else show_value(page.labels, attribute, value)

    label = page.labels.property(property)
    if attribute.is_invariant_culture:
        return AttributeRow(label, (AttributeCell(shown(INVARIANT_CULTURE)),), is_invariant=True)
    must_be_there = property.key == NAME or any(not is_empty(value) for value in values.values())
    cells = tuple(
        AttributeCell(
            shown(each.lcid),
            each.name,
            is_missing=each.is_mandatory and must_be_there and is_empty(values.get(str(each.lcid))),
        )
        for each in page.labels.cultures
    )
    return AttributeRow(label, cells, is_invariant=False)


@dataclass(frozen=True, slots=True)
class ContextRow:
    label: str
    targets: tuple[Named, ...]


def related_panel(page: ElementPage) -> Fragment:
    contexts = [
        ContextRow(
            page.labels.property(each),
            tuple(page.named[target] for target in page.related.get(each.key, ()) if target in page.named),
        )
        for each in page.type.properties
        if each.related and each.key not in SERVER_CONTEXTS
    ]
    context = {"contexts": contexts, "uses": page.prepared, "all_uses": f"{page.reader_address}/uses"}
    return Fragment(f"{FOLDER}/related.html", context, page.request)


def _reading_uses(page: ElementPage) -> Reading[Uses]:
    return reading_uses(page.labels, page.row, page.name, MANY)


def _reading_children(page: ElementPage) -> Reading[tuple[list[Named], bool]]:
    types = page.labels.reader.types
    shown = [row_id for row_id, type in types.items() if page.type.key in type.parents and not type.lives_in_diagrams]
    selection = children_of(page.labels.reader.audience, page.row.element, shown)
    rows = yield from ask_for(page_of(selection, MANY + 1))
    names = yield from ask_for(version_names_of([row.version for row in rows[:MANY]]))
    return page.labels.links(rows[:MANY], names), len(rows) > MANY


def children_panel(page: ElementPage) -> Fragment:
    children, has_more = page.prepared
    context = {
        "page": page,
        "children": children,
        "has_more": has_more,
        "many": MANY,
    }
    return Fragment(f"{FOLDER}/children.html", context, page.request)


def _layout(page: ElementPage) -> LayoutKey:
    return read_layout(page.request.GET.get("layout", ""))


def _reading_diagram(page: ElementPage) -> Reading[DrawnShapes]:
    return reading_drawn_shapes(page.labels.reader, page.row, _layout(page))


def diagram_panel(page: ElementPage) -> Fragment:
    asked = page.request.GET
    picture = picture_of(
        page.labels,
        page.row,
        page.prepared,
        _layout(page),
        asked.get("shape"),
        lambda layout: page.address(tab="diagram", layout=layout.value),
    )
    context = {
        "picture": picture,
        "export": page.address_of("elements_bpmn_export"),
        "import": page.address_of("elements_bpmn_import") if page.can_draw else None,
    }
    return Fragment(f"{FOLDER}/diagram.html", context, page.request)


def can_have_children(page: ElementPage) -> bool:
    types = page.labels.reader.types.values()
    return any(page.type.key in each.parents and not each.lives_in_diagrams for each in types)


PANELS = (
    Panel("attributes", _("Attributes"), attributes_panel, order=10),
    Panel("related", _("Related"), related_panel, order=20, reading=_reading_uses),
    Panel("children", _("Children"), children_panel, can_have_children, order=30, reading=_reading_children),
    Panel(
        "diagram", _("Diagram"), diagram_panel, lambda page: page.type.has_diagram, order=40, reading=_reading_diagram
    ),
)
