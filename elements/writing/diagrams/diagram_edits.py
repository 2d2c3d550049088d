"""Difference between the stored rows of a diagram and the wanted ones: what drawing, erasing and rewiring write.

A row that changes is deleted and inserted again. Positions are unique in a diagram, so rows that swap theirs could not
be updated one after the other; the database checks the keys between the rows when the transaction ends.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from elements.diagrams.geometry import plain_points
from elements.reading.diagrams.drawings import DrawnFlow, DrawnLane, DrawnShape, StoredDiagram
from elements.writing.diagrams import diagram_statements

T = TypeVar("T")


# Identifies rows of one kind.
KEYS: dict[str, Callable[[Any], tuple[str, ...]]] = {
    "shapes": lambda each: (each.shape,),
    "flows": lambda each: (each.shape, each.predecessor),
    "lanes": lambda each: (each.lane,),
}


@dataclass(frozen=True, slots=True)
class DiagramEdit:
    """Rows to delete and rows to insert. A row that changes is among both."""

    old: StoredDiagram
    new: StoredDiagram

    @property
    def is_empty(self) -> bool:
        return not any(getattr(side, name) for side in (self.old, self.new) for name in KEYS)

    def write(self, version: str) -> None:
        write_edits({version: self})


def write_edits(edits: Mapping[str, DiagramEdit]) -> None:
    """Write the edits of several diagrams, by version."""
    diagram_statements.delete_flows([row for each in edits.values() for row in each.old.flows])
    diagram_statements.delete_shapes([row for each in edits.values() for row in each.old.shapes])
    diagram_statements.delete_lanes([row for each in edits.values() for row in each.old.lanes])
    diagram_statements.insert_lanes({version: each.new.lanes for version, each in edits.items()})
    diagram_statements.insert_shapes({version: each.new.shapes for version, each in edits.items()})
    diagram_statements.insert_flows([row for each in edits.values() for row in each.new.flows])


def difference(before: StoredDiagram, after: StoredDiagram) -> DiagramEdit:
    """Return the rows to write."""
    return _compared(before, after, _apart)


def visible_difference(before: StoredDiagram, after: StoredDiagram) -> DiagramEdit:
    """Return what people call a difference: a row that only has another position because something was added or
    removed before it has not changed."""
    return _compared(before, after, _visibly_apart)


def _compared(before: StoredDiagram, after: StoredDiagram, apart: Callable[..., Any]) -> DiagramEdit:
    sides = {name: apart(getattr(before, name), getattr(after, name), key) for name, key in KEYS.items()}
    old, new = ({name: side[number] for name, side in sides.items()} for number in (0, 1))
    return DiagramEdit(StoredDiagram(**old), StoredDiagram(**new))


def _apart(before: Sequence[T], after: Sequence[T], key: Callable[[T], Hashable]) -> tuple[list[T], list[T]]:
    old, new = {key(each): each for each in before}, {key(each): each for each in after}
    return (
        [each for name, each in old.items() if new.get(name) != each],
        [each for name, each in new.items() if old.get(name) != each],
    )


def _visibly_apart(
    before: Sequence[Any], after: Sequence[Any], key: Callable[[Any], tuple[str, ...]]
) -> tuple[list[Any], list[Any]]:
    """Compare rows by their ranks among those that stay, instead of their positions."""
    stays = {key(each) for each in before} & {key(each) for each in after}

    def ranked(rows: Sequence[Any]) -> list[Any]:
        # Flows have positions among the predecessors of their shape.
        ordered = sorted(rows, key=lambda each: (key(each)[:-1], each.position))
        ranks = {name: rank for rank, name in enumerate(name for name in map(key, ordered) if name in stays)}
        return [each._replace(position=ranks.get(key(each), -1)) for each in rows]

    return _apart(ranked(before), ranked(after), key)


def shape_note(shape: DrawnShape) -> dict[str, Any]:
    """Return a shape as the change history shows it. What was not drawn is left out."""
    return {
        "shapeId": shape.shape,
        "element": shape.element,
        **({"bounds": shape.bounds.wire()} if shape.bounds else {}),
        **_set(lane=shape.lane, container=shape.container, attachedTo=shape.host, bpmnId=shape.bpmn_id),
    }


def flow_note(flow: DrawnFlow) -> dict[str, Any]:
    return {
        "shapeId": flow.shape,
        "predecessor": flow.predecessor,
        **_set(label=flow.label, bpmnId=flow.bpmn_id),
        **({"waypoints": plain_points(flow.waypoints)} if flow.waypoints else {}),
    }


def lane_note(lane: DrawnLane) -> dict[str, Any]:
    return {
        "laneId": lane.lane,
        "name": lane.name,
        **_set(element=lane.element, parent=lane.parent, isPool=lane.is_pool, bpmnId=lane.bpmn_id),
        **({"bounds": lane.bounds.wire()} if lane.bounds else {}),
    }


def _set(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value}
