"""A diagram as BPMN sees it: the form between documents and stored diagrams, in which both are compared. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

Names = Mapping[str, str]
"""Texts by culture."""
Waypoint = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Area:
    """Bounds of a shape as drawn."""

    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> Waypoint:
        return self.x + self.width / 2, self.y + self.height / 2


@dataclass(frozen=True, slots=True)
class BpmnNode:
    """A flow node. `container` is the sub-process around it, `host` the activity of a boundary event."""

    id: str
    type: str
    names: Names
    description: str = ""
    """Markup from the documentation, in the culture of the document."""
    called: str = ""
    """Process that a call activity calls."""
    lane: str | None = None
    container: str | None = None
    host: str | None = None
    area: Area | None = None


@dataclass(frozen=True, slots=True)
class BpmnFlow:
    """A sequence flow. A diagram has at most one between the same two nodes."""

    id: str
    source: str
    target: str
    names: Names = field(default_factory=dict)
    waypoints: tuple[Waypoint, ...] | None = None


@dataclass(frozen=True, slots=True)
class BpmnLane:
    """A lane, or a pool that has a process."""

    id: str
    names: Names
    parent: str | None = None
    is_pool: bool = False
    area: Area | None = None


@dataclass(frozen=True, slots=True)
class BpmnModel:
    nodes: Sequence[BpmnNode] = ()
    flows: Sequence[BpmnFlow] = ()
    lanes: Sequence[BpmnLane] = ()

    @property
    def areas(self) -> dict[str, Area]:
        """Areas of all nodes and lanes that have one, by id."""
        parts: list[BpmnNode | BpmnLane] = [*self.nodes, *self.lanes]
        return {each.id: each.area for each in parts if each.area}


@dataclass(frozen=True, slots=True)
class SourceItem:
    """A part of a document that a diagram cannot represent, with the place where it was found."""

    kind: str
    id: str
    name: str
    text: str
