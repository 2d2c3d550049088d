"""Diagram in a line of a transfer file: shapes with their flows, lanes, and the BPMN document (D270, D271)."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from django.conf import settings

from elements.diagrams.geometry import NotDrawable, Point, ShapeBounds, read_bounds, read_points
from elements.reading.diagrams.drawings import DrawnFlow, DrawnLane, DrawnShape, Texts
from elements.sizes.limits import FLOWS, LANES, SHAPES
from elements.values.texts import text_problems
from elements.writing.deciding.diagram_structure import structure_problems

GUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
LANE_KEYS = frozenset({"id", "name", "element", "parent", "isPool", "bounds", "bpmnId"})
BPMN_ID_LENGTH = 1_000

T = TypeVar("T")
Report = Callable[[str], None]


class TransferReference(NamedTuple):
    """An element that a line refers to, with the type that the line claims."""

    id: str
    type: str


# Reads a reference at a place.
ReferenceReading = Callable[[dict[str, Any], str, Report], TransferReference | None]


@dataclass(frozen=True, slots=True)
class TransferDiagram:
    """Rows of a diagram, with the element that each shape and lane of it refers to."""

    shapes: tuple[tuple[DrawnShape, TransferReference], ...] = ()
    flows: tuple[DrawnFlow, ...] = ()
    lanes: tuple[tuple[DrawnLane, TransferReference | None], ...] = ()
    source: str = ""


class DiagramReader:
    """Reads `content`, `lanes` and `bpmn` of one line."""

    def __init__(self, reference: ReferenceReading, cultures: Collection[str], report: Report) -> None:
        self.reference = reference
        self.cultures = cultures
        self.report = report

    def read(self, content: Any, lanes: Any, source: Any) -> TransferDiagram:
        flows: list[DrawnFlow] = []
        shapes = tuple(self._shapes(content, flows))
        found = TransferDiagram(shapes, tuple(flows), tuple(self._lanes(lanes)), self._source(source))
        self._check(found)
        return found

    def _shapes(self, content: Any, flows: list[DrawnFlow]) -> Iterator[tuple[DrawnShape, TransferReference]]:
        if not isinstance(content, list):
            self.report("content must be a list")
            return
        for index, item in enumerate(content):
            place = f"content[{index}]"
            properties = item.get("properties") if isinstance(item, dict) else None
            if not isinstance(properties, dict):
                self.report(f"{place}: expected an element with properties")
                continue
            shape = read_guid(properties.get("shapeId"), f"{place}.shapeId", self.report)
            target = self.reference(item, place, self.report)
            before = list(self._flows(shape or "", properties.get("predecessors", []), f"{place}.predecessors"))
            if shape and target:
                flows += before
                yield (
                    DrawnShape(
                        shape,
                        target.id,
                        index,
                        self._bounds(properties, place),
                        self._link(properties, "lane", place),
                        self._link(properties, "container", place),
                        self._link(properties, "attachedTo", place),
                        self._bpmn_id(properties, place),
                    ),
                    target,
                )

    def _flows(self, shape: str, predecessors: Any, place: str) -> Iterator[DrawnFlow]:
        if not isinstance(predecessors, list):
            self.report(f"{place} must be a list")
            return
        for position, each in enumerate(predecessors):
            properties = each.get("properties") if isinstance(each, dict) else None
            if not isinstance(properties, dict):
                self.report(f"{place}: expected shapes with properties")
            elif before := read_guid(properties.get("shapeId"), place, self.report):
                label = self._texts(properties.get("label", {}), f"{place}.label")
                points = self._points(properties.get("waypoints"), f"{place}.waypoints")
                yield DrawnFlow(shape, before, position, label, self._bpmn_id(properties, place), points)

    def _lanes(self, lanes: Any) -> Iterator[tuple[DrawnLane, TransferReference | None]]:
        if not isinstance(lanes, list):
            self.report("lanes must be a list")
            return
        for index, item in enumerate(lanes):
            place = f"lanes[{index}]"
            if not isinstance(item, dict):
                self.report(f"{place}: expected a lane")
                continue
            for key in sorted(item.keys() - LANE_KEYS):
                self.report(f"{place}: unknown key {short(key)}; allowed: {', '.join(sorted(LANE_KEYS))}")
            lane = read_guid(item.get("id"), f"{place}.id", self.report)
            name = self._texts(item.get("name", {}), f"{place}.name")
            given = item.get("element")
            target = self._element(given, f"{place}.element") if given is not None else None
            is_pool = item.get("isPool", False)
            if not isinstance(is_pool, bool):
                self.report(f"{place}.isPool must be true or false")
            if lane:
                parent = self._link(item, "parent", place)
                others = bool(is_pool), self._bounds(item, place), self._bpmn_id(item, place)
                yield DrawnLane(lane, index, name, target.id if target else None, parent, *others), target

    def _element(self, given: Any, place: str) -> TransferReference | None:
        if isinstance(given, dict):
            return self.reference(given, place, self.report)
        self.report(f"{place}: expected a reference")
        return None

    def _source(self, source: Any) -> str:
        if not isinstance(source, str):
            self.report("bpmn must be text")
            return ""
        if len(source.encode()) > settings.BODY_LIMIT:
            self.report(f"bpmn: longer than {settings.BODY_LIMIT} bytes, the limit of the installation")
        return source

    def _bounds(self, document: dict[str, Any], place: str) -> ShapeBounds | None:
        return self._drawn(read_bounds, document.get("bounds"), f"{place}.bounds")

    def _points(self, value: Any, place: str) -> tuple[Point, ...] | None:
        return self._drawn(read_points, value, place)

    def _drawn(self, read: Callable[[Any], T], value: Any, place: str) -> T | None:
        try:
            return None if value is None else read(value)
        except NotDrawable as problem:
            self.report(f"{place}: {problem}")
            return None

    def _texts(self, value: Any, place: str) -> Texts:
        problems = list(text_problems(value, self.cultures))
        for suffix, text in problems:
            self.report(f"{place}{suffix}: {text}")
        return {} if problems else value

    def _link(self, document: dict[str, Any], name: str, place: str) -> str | None:
        value = document.get(name)
        return None if value is None else read_guid(value, f"{place}.{name}", self.report)

    def _bpmn_id(self, document: dict[str, Any], place: str) -> str:
        value = document.get("bpmnId", "")
        if isinstance(value, str) and len(value) <= BPMN_ID_LENGTH:
            return value
        self.report(f"{place}.bpmnId must be text of up to {BPMN_ID_LENGTH} characters")
        return ""

    def _check(self, found: TransferDiagram) -> None:
        report = self.report
        sizes = (SHAPES.problem(len(found.shapes)), FLOWS.problem(len(found.flows)), LANES.problem(len(found.lanes)))
        for problem in sizes:
            if problem:
                report(f"content: {problem}")
        shapes = {shape.shape for shape, _ in found.shapes}
        if len(shapes) != len(found.shapes):
            report("content: two shapes have the same id")
        if len({lane.lane for lane, _ in found.lanes}) != len(found.lanes):
            report("lanes: two lanes have the same id")
        self._check_flows(found, shapes)
        rows = [shape for shape, _ in found.shapes], [lane for lane, _ in found.lanes]
        for id, name, text in structure_problems(*rows):
            report(f"content: {id}: {name}: {text}")

    def _check_flows(self, found: TransferDiagram, shapes: set[str]) -> None:
        seen: set[tuple[str, str]] = set()
        for flow in found.flows:
            if flow.predecessor not in shapes:
                self.report(f"content: the predecessor {flow.predecessor} is not a shape of this diagram")
            if (flow.shape, flow.predecessor) in seen:
                self.report(f"content: the shape {flow.shape} has the same predecessor twice")
            seen.add((flow.shape, flow.predecessor))
            if flow.shape == flow.predecessor:
                self.report(f"content: the shape {flow.shape} precedes itself")


def read_guid(value: Any, place: str, report: Report) -> str | None:
    """Return a GUID in lower case (D1). Ids stay texts: UUID objects would cost more than everything else here."""
    if isinstance(value, str) and GUID.fullmatch(value):
        return value.lower()
    report(f"{place}: is missing" if value is None else f"{place}: {short(value)} is not a GUID")
    return None


def short(value: Any) -> str:
    return repr(value if isinstance(value, str) and len(value) <= 80 else str(value)[:80])
