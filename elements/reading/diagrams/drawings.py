"""Diagram of a version with everything that was drawn: bounds, lanes, containers, labels and lines (D270).

Lists and pictures read shapes and predecessors alone (`elements/reading/rows.py`); this is for what needs the rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import orjson

from elements.diagrams.geometry import Point, ShapeBounds
from elements.reading.bounds import at_most, most_written_rows
from repository_site.core.database.prepared import Row
from repository_site.core.database.statements import Inquiry, Question, ask, id_array, look_up

T = TypeVar("T")
Texts = Mapping[str, str]


class DrawnShape(NamedTuple):
    """A shape. `container` is the shape of the sub-process around it, `host` the activity that it is attached to."""

    shape: str
    element: str
    position: int
    bounds: ShapeBounds | None = None
    lane: str | None = None
    container: str | None = None
    host: str | None = None
    bpmn_id: str = ""


class DrawnFlow(NamedTuple):
    """A flow from `predecessor` to `shape`."""

    shape: str
    predecessor: str
    position: int
    label: Texts = {}
    bpmn_id: str = ""
    waypoints: tuple[Point, ...] | None = None


class DrawnLane(NamedTuple):
    lane: str
    position: int
    name: Texts = {}
    element: str | None = None
    parent: str | None = None
    is_pool: bool = False
    bounds: ShapeBounds | None = None
    bpmn_id: str = ""


@dataclass(frozen=True, slots=True)
class StoredDiagram:
    """Shapes and lanes in their order; flows in the order of their shapes, then of the predecessors."""

    shapes: Sequence[DrawnShape] = ()
    flows: Sequence[DrawnFlow] = ()
    lanes: Sequence[DrawnLane] = ()


def read_diagram(version: str) -> StoredDiagram:
    return read_diagrams([version])[version]


def read_diagrams(versions: Sequence[str]) -> dict[str, StoredDiagram]:
    """Return the diagram of each version, in two trips to the database."""
    inquiry = Inquiry()
    shapes, lanes = inquiry.add(_shapes_of(versions)), inquiry.add(_lanes_of(versions))
    inquiry.ask()
    found, laned = shapes(), lanes()
    flows: dict[str, list[DrawnFlow]] = {}
    for flow in read_flows([each.shape for drawn in found.values() for each in drawn]):
        flows.setdefault(flow.shape, []).append(flow)
    diagrams = {}
    for version in versions:
        drawn, framed = linked(found.get(version, []), laned.get(version, []))
        diagrams[version] = StoredDiagram(drawn, [flow for each in drawn for flow in flows.get(each.shape, ())], framed)
    return diagrams


def linked(shapes: Sequence[DrawnShape], lanes: Sequence[DrawnLane]) -> tuple[list[DrawnShape], list[DrawnLane]]:
    """Return shapes and lanes without links to others that permission sets hide (D491)."""
    known = {None, *(each.shape for each in shapes), *(each.lane for each in lanes)}
    named = {one for each in shapes for one in (each.lane, each.container, each.host)}
    if named | {each.parent for each in lanes} <= known:
        return list(shapes), list(lanes)

    def link(to: str | None) -> str | None:
        return to if to in known else None

    return (
        [each._replace(lane=link(each.lane), container=link(each.container), host=link(each.host)) for each in shapes],
        [each._replace(parent=link(each.parent)) for each in lanes],
    )


def drawn_shapes_of(version: str) -> Question[list[DrawnShape]]:
    return _of_one(_shapes_of([version]), version)


def lanes_of(version: str) -> Question[list[DrawnLane]]:
    return _of_one(_lanes_of([version]), version)


def _of_one(question: Question[dict[str, list[T]]], version: str) -> Question[list[T]]:
    return Question(question.sql, question.parameters, lambda rows: question.understand(rows).get(version, []))


def _shapes_of(versions: Sequence[str]) -> Question[dict[str, list[DrawnShape]]]:
    most = most_written_rows()
    sql = f"""SELECT s.version_id::text, s.id::text, s.element_id::text, s.position, s.bounds::text, s.lane_id::text,
            s.container_id::text, s.host_id::text, s.bpmn_id
        FROM elements_shape s WHERE s.version_id = ANY(%s::uuid[]) ORDER BY s.position LIMIT {most + 1:d}"""  # noqa: S608  constants

    def understand(rows: list[Row]) -> dict[str, list[DrawnShape]]:
        found: dict[str, list[DrawnShape]] = {}
        for version, shape, element, position, bounds, *others in at_most(rows, most):
            found.setdefault(version, []).append(DrawnShape(shape, element, position, _bounds(bounds), *others))
        return found

    return Question(sql if versions else "", [id_array(versions)], understand)


def _lanes_of(versions: Sequence[str]) -> Question[dict[str, list[DrawnLane]]]:
    most = most_written_rows()
    sql = f"""SELECT l.version_id::text, l.id::text, l.position, l.name::text, l.element_id::text, l.parent_id::text,
            l.is_pool, l.bounds::text, l.bpmn_id
        FROM elements_lane l WHERE l.version_id = ANY(%s::uuid[]) ORDER BY l.position LIMIT {most + 1:d}"""  # noqa: S608  constants

    def understand(rows: list[Row]) -> dict[str, list[DrawnLane]]:
        found: dict[str, list[DrawnLane]] = {}
        for version, lane, position, name, element, parent, is_pool, bounds, bpmn_id in at_most(rows, most):
            drawn = DrawnLane(lane, position, orjson.loads(name), element, parent, is_pool, _bounds(bounds), bpmn_id)
            found.setdefault(version, []).append(drawn)
        return found

    return Question(sql if versions else "", [id_array(versions)], understand)


def read_flows(shapes: Sequence[str]) -> list[DrawnFlow]:
    return ask(flows_of(shapes))


def flows_of(shapes: Sequence[str]) -> Question[list[DrawnFlow]]:
    most = most_written_rows()
    sql = f"""SELECT f.shape_id::text, f.predecessor_id::text, f.position, f.label::text, f.bpmn_id, f.waypoints::text
        FROM elements_shapeflow f WHERE f.shape_id = ANY(%s::uuid[]) ORDER BY f.shape_id, f.position
        LIMIT {most + 1:d}"""  # noqa: S608  constants

    def understand(rows: list[Row]) -> list[DrawnFlow]:
        return [
            DrawnFlow(shape, predecessor, position, orjson.loads(label), bpmn_id, _points(waypoints))
            for shape, predecessor, position, label, bpmn_id, waypoints in at_most(rows, most)
        ]

    return Question(sql if shapes else "", [id_array(shapes)], understand)


def read_source(version: str) -> str | None:
    """Return the BPMN document that was imported into a version (D271)."""
    rows = look_up("SELECT b.document FROM elements_bpmnsource b WHERE b.version_id = %s::uuid", [version])
    return rows[0][0] if rows else None


def _bounds(text: str | None) -> ShapeBounds | None:
    if text is None:
        return None
    found: dict[str, Any] = orjson.loads(text)
    return ShapeBounds(*(float(found[name]) for name in ShapeBounds._fields))


def _points(text: str | None) -> tuple[Point, ...] | None:
    return None if text is None else tuple((float(x), float(y)) for x, y in orjson.loads(text))
