"""Values of a drawable diagram: shapes, flows, lanes, and the keys of the layouts that can draw them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from elements.diagrams.geometry import ShapeBounds
from elements.diagrams.text import ELLIPSIS, clean

# Many shapes can show the same element, so a picture could repeat a long name many times.
LONGEST_TITLE = 500


class LayoutKey(StrEnum):
    DETAILED = "detailed"
    VERTICAL = "vertical"
    HORIZONTAL = "horizontal"
    VERTICAL_SWIMLANE = "verticalSwimlane"
    HORIZONTAL_SWIMLANE = "horizontalSwimlane"
    GRAPHIC = "graphic"
    PROCESS_MATRIX = "processMatrix"


DEFAULT_LAYOUT = LayoutKey.DETAILED
# Layouts that show roles, systems, inputs or outputs.
WITH_NOTES = frozenset(
    {
        LayoutKey.DETAILED,
        LayoutKey.VERTICAL_SWIMLANE,
        LayoutKey.HORIZONTAL_SWIMLANE,
        LayoutKey.PROCESS_MATRIX,
    }
)


class FigureKind(StrEnum):
    START = "start"
    INTERMEDIATE = "intermediate"
    END = "end"
    AND = "and"
    OR = "or"
    XOR = "xor"
    CONDITION = "condition"
    TASK = "task"
    PROCESS = "process"
    INTERFACE = "interface"
    OTHER = "other"


EVENTS = frozenset({FigureKind.START, FigureKind.INTERMEDIATE, FigureKind.END})
RULES = frozenset({FigureKind.AND, FigureKind.OR, FigureKind.XOR, FigureKind.CONDITION})


class ChangeMark(StrEnum):
    """Mark of a shape or flow in a picture that compares two versions."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


class MapGroup(StrEnum):
    """Group of a process in a process map, from the top down."""

    MANAGEMENT = "management"
    CORE = "core"
    SUPPORT = "support"


@dataclass(frozen=True, slots=True)
class ShapeNotes:
    """Names of related elements that a picture shows beside a shape, in lanes or in a table."""

    roles: tuple[str, ...] = ()
    systems: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()


NO_NOTES = ShapeNotes()


@dataclass(frozen=True, slots=True)
class DrawableShape:
    """A shape with its texts and colour. `rank` is its position in the diagram.

    `lane`, `container` and `host` are keys of a lane, of the shape around this one, and of the shape to whose edge this
    one is attached.
    """

    key: str
    rank: int
    kind: FigureKind
    name: str
    type_name: str
    color: str
    link: str = ""
    bounds: ShapeBounds | None = None
    lane: str = ""
    container: str = ""
    host: str = ""
    notes: ShapeNotes = NO_NOTES
    mark: ChangeMark | None = None
    group: MapGroup = MapGroup.CORE

    @property
    def title(self) -> str:
        """Name and type, for screen readers and for names that were cut in the picture."""
        name = self.name if len(self.name) <= LONGEST_TITLE else f"{self.name[:LONGEST_TITLE]}{ELLIPSIS}"
        return clean(name if self.name == self.type_name else f"{self.type_name}: {name}")

    @property
    def is_step(self) -> bool:
        """Whether the shape is work, in contrast to events and rules."""
        return self.kind not in EVENTS and self.kind not in RULES


@dataclass(frozen=True, slots=True)
class DrawableFlow:
    """An arrow from shape `source` to shape `target`. `waypoints` are the corners as drawn in a modelling tool."""

    source: str
    target: str
    label: str = ""
    waypoints: tuple[tuple[float, float], ...] = ()
    mark: ChangeMark | None = None


@dataclass(frozen=True, slots=True)
class DrawableLane:
    """A lane, or a pool, which has lanes below it. `parent` is the key of the lane around it."""

    key: str
    name: str
    parent: str = ""
    bounds: ShapeBounds | None = None


@dataclass(frozen=True, slots=True)
class Drawing:
    """A diagram to draw. `is_map` is set for diagrams of a type that only contains processes and categories."""

    shapes: Sequence[DrawableShape]
    flows: Sequence[DrawableFlow] = ()
    lanes: Sequence[DrawableLane] = field(default=())
    is_map: bool = False

    @property
    def is_drawn(self) -> bool:
        """Whether every shape has bounds."""
        return bool(self.shapes) and all(shape.bounds for shape in self.shapes)
