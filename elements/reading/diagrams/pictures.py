"""Diagram of a version as a picture, for the API, the reader pages and the back office."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import orjson

from elements.diagrams.drawables import (
    WITH_NOTES,
    DrawableFlow,
    DrawableLane,
    DrawableShape,
    Drawing,
    FigureKind,
    LayoutKey,
    MapGroup,
)
from elements.diagrams.fixed_texts import words_in
from elements.diagrams.svg import DiagramTexts, draw
from elements.diagrams.text import clean
from elements.naming import NAME
from elements.reading import rows
from elements.reading.assembly.assembler import Reader
from elements.reading.bounds import most_text
from elements.reading.diagrams.drawings import (
    DrawnFlow,
    DrawnLane,
    DrawnShape,
    drawn_shapes_of,
    flows_of,
    lanes_of,
    linked,
)
from elements.reading.diagrams.picture_notes import NO_TARGETS, NoteTargets, reading_note_targets, shape_notes
from elements.reading.names import chosen_name
from elements.reading.rows import Identity, VersionRow
from facets.blueprint.definitions import ElementType
from facets.rendering import display_names
from repository_site.core.database.statements import Inquiry, Reading, read
from storage.localisation.cultures import language_of, locale_name

# Larger diagrams are not drawn: they would be unreadable and keep a worker busy.
MAX_SHAPES, MAX_ARROWS = 2_000, 6_000
WITH_LANES = frozenset({LayoutKey.VERTICAL_SWIMLANE, LayoutKey.HORIZONTAL_SWIMLANE, LayoutKey.GRAPHIC})

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
# Attributes that decide about the group of a process in a process map; the first that has a value counts, and else the
# stereotype or the type. Words of their values begin like this (D279).
GROUP_ATTRIBUTES = ("processGroup", "processCategory", "processType", "processKind", "category")
GROUP_WORDS: Mapping[MapGroup, tuple[str, ...]] = {
    MapGroup.CORE: ("core", "kern", "primary", "value"),
    MapGroup.MANAGEMENT: ("management", "führung", "fuehrung", "leadership", "steering", "strateg", "steuer"),
    MapGroup.SUPPORT: ("support", "unterstütz", "unterstuetz", "enabling", "service"),
}


@dataclass(frozen=True, slots=True)
class DrawnShapes:
    """Part of a diagram that a reader sees: shapes in order, flows and lanes."""

    shapes: Sequence[DrawnShape]
    flows: Sequence[DrawnFlow]
    versions: Mapping[str, VersionRow]
    """Versions by element."""
    lanes: Sequence[DrawnLane] = ()
    notes: NoteTargets = field(default=NO_TARGETS)


def read_drawn_shapes(reader: Reader, row: VersionRow, layout: LayoutKey) -> DrawnShapes:
    """Read what a layout shows of a diagram, in a fixed number of statements."""
    return read(reading_drawn_shapes(reader, row, layout))


def reading_drawn_shapes(reader: Reader, row: VersionRow, layout: LayoutKey) -> Reading[DrawnShapes]:
    inquiry = Inquiry()
    asked = inquiry.add(drawn_shapes_of(row.version))
    asked_lanes = inquiry.add(lanes_of(row.version)) if layout in WITH_LANES else list
    yield from inquiry.asking()
    shapes, lanes = asked(), asked_lanes()
    if layout in WITH_LANES:
        shapes, lanes = linked(shapes, lanes)
    elements = {each.element for each in shapes}
    identities, all_flows = yield [
        rows.identities_of(reader.audience, elements),
        flows_of([each.shape for each in shapes]),
    ]
    visible = {each.shape: each for each in shapes if each.element in identities}
    by_shape: dict[str, list[DrawnFlow]] = {}
    for flow in all_flows:
        by_shape.setdefault(flow.shape, []).append(flow)
    flows = [flow for shape in visible for flow in by_shape.get(shape, ()) if flow.predecessor in visible]
    # Do not read more shapes than can be drawn.
    is_too_large = len(visible) > MAX_SHAPES
    wanted = [] if is_too_large else [each.version for each in identities.values()]
    only = (NAME, *GROUP_ATTRIBUTES) if is_map(reader, row) else (NAME,)
    found = yield from rows.reading_versions(wanted, only=only, most=most_text(len(wanted)))
    versions = {each.element: each for each in found.values()}
    notes = NO_TARGETS
    if not is_too_large and (layout in WITH_NOTES or lanes):
        of_lanes = {each.element for each in lanes if each.element}
        notes = yield from reading_note_targets(reader, versions.values() if layout in WITH_NOTES else (), of_lanes)
    return DrawnShapes(list(visible.values()), flows, versions, lanes, notes)


def draw_diagram(
    reader: Reader,
    row: VersionRow,
    drawn: DrawnShapes,
    culture: int,
    layout: LayoutKey,
    *,
    link: Callable[[Identity], str] | None = None,
    selected: str | None = None,
    with_style: bool = True,
) -> str:
    """Return an SVG of the part of a diagram that the reader may see, with names in one culture. Needs no database.

    `link` returns the target address of an element's shape, `selected` is the id of a shape to highlight. Without
    `with_style`, the embedding page must load the style sheet `elements/diagram.css`.
    """
    words = words_in(language_of(culture))
    size = words.size.format(shapes=len(drawn.shapes), arrows=len(drawn.flows))
    is_too_large = len(drawn.shapes) > MAX_SHAPES or len(drawn.flows) > MAX_ARROWS
    texts = DiagramTexts(
        (locale_name(culture) or "").replace("_", "-"),
        name_of(reader, row, culture),
        size,
        f"{words.too_large} {size}" if is_too_large else words.empty,
        words,
    )
    drawing = Drawing(()) if is_too_large else drawing_of(reader, row, drawn, culture, link)
    return draw(texts, drawing, layout, selected=selected, with_style=with_style)


def drawing_of(
    reader: Reader, row: VersionRow, drawn: DrawnShapes, culture: int, link: Callable[[Identity], str] | None = None
) -> Drawing:
    cultures = reader.configuration.cultures
    # Once for each element, however many shapes show it.
    shown = _Elements(reader, drawn, culture, is_map(reader, row))
    return Drawing(
        [_shape(reader, drawn, shown, rank, culture, link) for rank in range(len(drawn.shapes))],
        [
            DrawableFlow(each.predecessor, each.shape, chosen_name(each.label, culture, cultures), each.waypoints or ())
            for each in drawn.flows
        ],
        [
            DrawableLane(each.lane, _lane_name(reader, drawn, each, culture), each.parent or "", each.bounds)
            for each in drawn.lanes
        ],
        is_map(reader, row),
    )


class _Elements:
    """Names, notes and groups by element."""

    def __init__(self, reader: Reader, drawn: DrawnShapes, culture: int, is_map: bool) -> None:
        elements: Collection[str] = {shape.element for shape in drawn.shapes}
        attributes = {each: orjson.loads(drawn.versions[each].attributes) for each in elements}
        self.names = {each: _name(reader, drawn.versions[each], attributes[each], culture) for each in elements}
        self.notes = {
            each: shape_notes(reader, reader.types[row.type], drawn.notes.of(row), drawn.notes, culture)
            for each, row in ((each, drawn.versions[each]) for each in elements)
            if drawn.notes.references
        }
        self.groups = {each: map_group(reader, drawn.versions[each], attributes[each]) for each in elements if is_map}


def _shape(
    reader: Reader,
    drawn: DrawnShapes,
    shown: _Elements,
    rank: int,
    culture: int,
    link: Callable[[Identity], str] | None,
) -> DrawableShape:
    shape = drawn.shapes[rank]
    row = drawn.versions[shape.element]
    type = reader.types[row.type]
    found = DrawableShape(
        shape.shape,
        rank,
        kind_of(type),
        shown.names[shape.element],
        _type_name(reader, type, culture),
        type.color,
        link(row.identity) if link else "",
        shape.bounds,
        shape.lane or "",
        shape.container or "",
        shape.host or "",
    )
    if not shown.notes and not shown.groups:
        return found
    return replace(
        found,
        notes=shown.notes.get(shape.element, found.notes),
        group=shown.groups.get(shape.element, found.group),
    )


def kind_of(type: ElementType) -> FigureKind:
    """Return the figure of elements of a type in diagrams; a type with its own diagram looks like a process."""
    return KINDS.get(type.key) or (FigureKind.PROCESS if type.has_diagram else FigureKind.OTHER)


def is_map(reader: Reader, row: VersionRow) -> bool:
    """Whether the diagram of an element is a process map: its type only accepts types with a diagram of their own."""
    types = reader.configuration.types
    inside = [types[key] for key in reader.types[row.type].insertables if key in types]
    return bool(inside) and all(each.has_diagram and not each.lives_in_diagrams for each in inside)


def map_group(reader: Reader, row: VersionRow, attributes: Mapping[str, Mapping[str, str]]) -> MapGroup:
    """Return the group of a process or category in a process map (D279)."""
    for key in GROUP_ATTRIBUTES:
        found = group_of(attributes.get(key, {}).values())
        if found:
            return found
    found = group_of([row.stereotype]) or group_of([reader.types[row.type].key])
    # A category is named after its group more often than it has a stereotype.
    if found is None and is_map(reader, row):
        found = group_of(attributes.get(NAME, {}).values())
    return found or MapGroup.CORE


def group_of(values: Iterable[object]) -> MapGroup | None:
    texts = [str(value).casefold() for value in values if value]
    return next((group for group, words in GROUP_WORDS.items() if any(text.startswith(words) for text in texts)), None)


def name_of(reader: Reader, row: VersionRow, culture: int) -> str:
    return _name(reader, row, orjson.loads(row.attributes), culture)


def _name(reader: Reader, row: VersionRow, attributes: Mapping[str, Mapping[str, str]], culture: int) -> str:
    name = chosen_name(attributes.get(NAME, {}), culture, reader.configuration.cultures)
    return name if clean(name).strip() else _type_name(reader, reader.types[row.type], culture)


def _lane_name(reader: Reader, drawn: DrawnShapes, lane: DrawnLane, culture: int) -> str:
    """Return the name of a lane, or else that of the element that it represents."""
    own = chosen_name(lane.name, culture, reader.configuration.cultures)
    target = drawn.notes.versions.get(lane.element or "")
    return own if own or target is None else name_of(reader, target, culture)


def _type_name(reader: Reader, type: ElementType, culture: int) -> str:
    return display_names(type.display_names, reader.configuration.cultures, type.key)[culture]
