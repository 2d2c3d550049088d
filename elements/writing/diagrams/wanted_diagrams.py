"""A diagram as somebody wants it (D272): the input of `replace_diagram` from the API, the editor and BPMN.

Shapes and lanes have keys, by which others refer to them; they can also be named by the id of a stored one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from elements.diagrams.geometry import Point, ShapeBounds
from elements.reading.diagrams.drawings import Texts
from elements.writing.inputs import ReferenceInput


class Unmentioned(Enum):
    """Marks a value that the request does not mention: a stored shape, flow or lane keeps it."""

    VALUE = "kept"


KEPT = Unmentioned.VALUE


@dataclass(frozen=True, slots=True)
class WantedFlow:
    """A flow from `predecessor`, the key or the id of a shape. The flow between two stored shapes keeps its label, its
    BPMN id and, while both shapes keep their bounds, its line."""

    predecessor: str
    label: Texts | Unmentioned = KEPT
    bpmn_id: str | Unmentioned = KEPT
    waypoints: tuple[Point, ...] | Unmentioned | None = KEPT


@dataclass(frozen=True, slots=True)
class WantedShape:
    """A shape of the diagram.

    `shape` is the id of a stored shape that stays. `element` describes a new element, names an existing one, or has
    values to change in the element that the stored shape shows; None leaves that as it is.
    """

    key: str
    place: str
    """Place in the request, for problems."""
    shape: str | None = None
    element: ReferenceInput | None = None
    predecessors: Sequence[WantedFlow] = ()
    bounds: ShapeBounds | Unmentioned | None = KEPT
    lane: str | Unmentioned | None = KEPT
    """Key or id of a lane."""
    container: str | Unmentioned | None = KEPT
    """Key or id of a shape, as is `host`."""
    host: str | Unmentioned | None = KEPT
    bpmn_id: str | Unmentioned = KEPT


@dataclass(frozen=True, slots=True)
class WantedLane:
    key: str
    place: str
    lane: str | None = None
    """Id of a stored lane that stays."""
    name: Texts | Unmentioned = KEPT
    element: ReferenceInput | Unmentioned | None = KEPT
    """Names an existing element."""
    parent: str | Unmentioned | None = KEPT
    is_pool: bool | Unmentioned = KEPT
    bounds: ShapeBounds | Unmentioned | None = KEPT
    bpmn_id: str | Unmentioned = KEPT


@dataclass(frozen=True, slots=True)
class WantedSource:
    """A BPMN document to store, with the ids of its processes and of those that it calls."""

    document: str
    processes: Sequence[str]
    calls: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class WantedDiagram:
    """All shapes in their order. Without `lanes`, the stored lanes stay; without `source`, the BPMN document does."""

    shapes: Sequence[WantedShape]
    lanes: Sequence[WantedLane] | None = None
    source: WantedSource | None = None
