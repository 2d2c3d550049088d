"""Diagram of a version as a picture, for the API, the reader pages and the back office."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import orjson

from elements.diagrams.figures import DrawableShape, FigureKind
from elements.diagrams.layout import Direction
from elements.diagrams.svg import DiagramTexts, draw
from elements.diagrams.text import clean
from elements.naming import NAME
from elements.reading import rows
from elements.reading.assembly.assembler import Reader
from elements.reading.bounds import most_text
from elements.reading.names import chosen_name
from elements.reading.rows import Identity, ShapeRow, VersionRow
from facets.blueprint.definitions import ElementType
from facets.rendering import display_names
from storage.localisation.cultures import language_of, locale_name

# Larger diagrams are not drawn: they would be unreadable and keep a worker busy.
MAX_SHAPES, MAX_ARROWS = 2_000, 6_000

KINDS: Mapping[str, FigureKind] = {
    "evStart": FigureKind.START,
    "evIntermediate": FigureKind.INTERMEDIATE,
    "evEnd": FigureKind.END,
    "ruleAnd": FigureKind.AND,
    "ruleOr": FigureKind.OR,
    "ruleXor": FigureKind.XOR,
    "condition": FigureKind.CONDITION,
    "task": FigureKind.TASK,
    "processInterfacePlaceholder": FigureKind.INTERFACE,
}


@dataclass(frozen=True, slots=True)
class _Words:
    """Texts of a picture. They are content, in the language of the data culture instead of the interface."""

    empty: str
    too_large: str
    size: str


_WORDS = {
    "de": _Words(
        "In diesem Diagramm ist nichts.",
        "Dieses Diagramm ist zu groß für ein Bild.",
        "Formen: {shapes}, Pfeile: {arrows}.",
    ),
    "en": _Words(
        "There is nothing in this diagram.",
        "This diagram is too large for a picture.",
        "Shapes: {shapes}, arrows: {arrows}.",
    ),
}


def draw_diagram(
    reader: Reader,
    row: VersionRow,
    drawn: DrawnShapes,
    culture: int,
    direction: Direction,
    *,
    link: Callable[[Identity], str] | None = None,
    selected: str | None = None,
    with_style: bool = True,
) -> str:
    """Return an SVG of the part of a diagram that the reader may see, with names in one culture. Needs no database.

    `link` returns the target address of an element's shape, `selected` is the id of a shape to highlight. Without
    `with_style`, the embedding page must load the style sheet `elements/diagram.css`.
    """
    words = _WORDS.get(language_of(culture), _WORDS["en"])
    size = words.size.format(shapes=len(drawn.shapes), arrows=len(drawn.flows))
    is_too_large = len(drawn.shapes) > MAX_SHAPES or len(drawn.flows) > MAX_ARROWS
    texts = DiagramTexts(
        (locale_name(culture) or "").replace("_", "-"),
        _name(reader, row, culture),
        size,
        f"{words.too_large} {size}" if is_too_large else words.empty,
    )
    shown = [] if is_too_large else drawn.shapes
    # Once for each element, however many shapes show it.
    names = {each: _name(reader, drawn.versions[each], culture) for each in {shape.element for shape in shown}}
    shapes = [_shape(reader, drawn, rank, names, culture, link) for rank in range(len(shown))]
    return draw(texts, shapes, drawn.flows, direction, selected=selected, with_style=with_style)


@dataclass(frozen=True, slots=True)
class DrawnShapes:
    """Part of a diagram that a reader sees: shapes in order, and pairs of predecessor and successor."""

    shapes: Sequence[ShapeRow]
    flows: Sequence[tuple[str, str]]
    versions: Mapping[str, VersionRow]
    """Versions by element."""


def read_drawn_shapes(reader: Reader, row: VersionRow) -> DrawnShapes:
    shapes = rows.read_shapes([row.version]).get(row.version, [])
    identities = rows.read_identities(reader.audience, {each.element for each in shapes})
    visible = {each.shape: each for each in shapes if each.element in identities}
    before = rows.read_predecessors(list(visible))
    flows = [(one, shape) for shape in visible for one in before.get(shape, ()) if one in visible]
    # Do not read more shapes than can be drawn.
    wanted = [] if len(visible) > MAX_SHAPES else [each.version for each in identities.values()]
    found = rows.read_versions(wanted, only=(NAME,), most=most_text(len(wanted)))
    versions = {each.element: each for each in found.values()}
    return DrawnShapes(list(visible.values()), flows, versions)


def _shape(
    reader: Reader,
    drawn: DrawnShapes,
    rank: int,
    names: Mapping[str, str],
    culture: int,
    link: Callable[[Identity], str] | None,
) -> DrawableShape:
    shape = drawn.shapes[rank]
    row = drawn.versions[shape.element]
    type = reader.types[row.type]
    return DrawableShape(
        shape.shape,
        rank,
        kind_of(type),
        names[shape.element],
        _type_name(reader, type, culture),
        type.color,
        link(row.identity) if link else "",
    )


def kind_of(type: ElementType) -> FigureKind:
    """Return the figure of elements of a type in diagrams; a type with its own diagram looks like a process."""
    return KINDS.get(type.key) or (FigureKind.PROCESS if type.has_diagram else FigureKind.OTHER)


def _name(reader: Reader, row: VersionRow, culture: int) -> str:
    names = orjson.loads(row.attributes).get(NAME, {})
    name = chosen_name(names, culture, reader.configuration.cultures)
    return name if clean(name).strip() else _type_name(reader, reader.types[row.type], culture)


def _type_name(reader: Reader, type: ElementType, culture: int) -> str:
    return display_names(type.display_names, reader.configuration.cultures, type.key)[culture]
