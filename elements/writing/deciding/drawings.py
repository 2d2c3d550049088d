"""Decisions about drawing: which shapes, flows and new elements a diagram gets (D17), and how it is rewired (D273)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from uuid import uuid4

from elements.reading.diagrams.drawings import DrawnFlow, DrawnShape, StoredDiagram
from elements.values.texts import text_problems
from elements.writing.deciding.diagram_structure import structure_problems
from elements.writing.deciding.drawn_elements import DiagramState, DrawnElements, diagram_refusals
from elements.writing.diagrams.drawing_inputs import ItemInput, ShapeName
from elements.writing.diagrams.wanted_diagrams import Unmentioned
from elements.writing.findings import Findings, Refusal, invalid
from elements.writing.planned_changes import PlannedChange
from elements.writing.stored import ReferenceTarget
from elements.writing.writers import Writer
from facets.configuration import CompiledView


@dataclass(frozen=True, slots=True)
class DrawingPlan:
    changes: Sequence[PlannedChange]
    """New elements."""
    after: StoredDiagram
    named: Sequence[tuple[str, str]]
    """Shapes, each with a predecessor, as the request names them."""
    shapes: Sequence[str]
    """The shape of each item of the request, in its order."""


def decide_drawing(
    writer: Writer,
    view: CompiledView,
    diagram: DiagramState,
    targets: Mapping[str, ReferenceTarget],
    items: Sequence[ItemInput],
    findings: Findings,
) -> DrawingPlan:
    """Return the plan of a drawing. It is complete only if there are no findings."""
    for refusal in diagram_refusals(writer, diagram):
        findings.note(refusal)
    elements = DrawnElements(writer, view, diagram, targets, findings)
    drawn = [findings.attempt(elements.element, each.element) if each.element else None for each in items]
    for problem in index_problems(items, {each.shape for each in diagram.drawn.shapes}):
        findings.note(problem)
    types = writer.configuration.types_by_id
    for each in diagram.drawn.shapes:
        if each.element in targets:
            elements.types[each.element] = types[targets[each.element].type]
    decision = _DrawingDecision(diagram, items, findings, {str(lcid) for lcid in writer.configuration.cultures.data})
    after = decision.after(drawn)
    decision.check_structure(after, elements)
    return DrawingPlan(elements.changes, after, decision.named(), [decision.ids[item.index] for item in items])


def index_problems(items: Sequence[ItemInput], shapes: set[str]) -> Iterator[Refusal]:
    """Return the problems of the indexes, shape ids and predecessors of a request; `shapes` are in the diagram."""
    known: dict[ShapeName, ItemInput] = {}
    for item in items:
        place = f"{item.place}: shapeInfo"
        if item.index in known:
            yield invalid(f"{place}.index", f"two items have the index {item.index}; number the items differently")
        if item.index is not None:
            known[item.index] = item
        if item.shape is not None and item.shape not in shapes:
            yield invalid(f"{place}.id", f"the diagram has no shape {item.shape}")
        if item.shape is not None and item.element is not None:
            yield invalid(item.place, "an existing shape keeps its element; leave out one of the two")
        if item.shape is None and item.element is None:
            yield invalid(item.place, "expected an element to draw, or the id of an existing shape")
    for item in items:
        for name, before in item.named_shapes():
            place = f"{item.place}: shapeInfo.{name}"
            if isinstance(before, str):
                other = before
                if before not in shapes:
                    yield invalid(place, f"the diagram has no shape {before}")
            elif before not in known:
                yield invalid(place, f"no item of the request has the index {before}")
                continue
            else:
                other = known[before].shape or ""
            if name == "predecessors" and (before == item.index or (item.shape and item.shape == other)):
                yield invalid(place, "a shape cannot precede itself")


class _DrawingDecision:
    """Computes the rows of the diagram with the items of a request."""

    def __init__(
        self, diagram: DiagramState, items: Sequence[ItemInput], findings: Findings, cultures: set[str]
    ) -> None:
        self.drawn, self.items, self.findings, self.cultures = diagram.drawn, items, findings, cultures
        self.ids: dict[ShapeName | None, str] = {each.index: each.shape or str(uuid4()) for each in items}
        self.places = {self.ids[each.index]: f"{each.place}: shapeInfo" for each in items}

    def named(self) -> list[tuple[str, str]]:
        return [
            (self.ids[item.index], before)
            for item in self.items
            for before in dict.fromkeys(map(self._id, item.predecessors))
            if before is not None
        ]

    def after(self, elements: Sequence[str | None]) -> StoredDiagram:
        shapes = {each.shape: each for each in self.drawn.shapes}
        position = max((each.position + 1 for each in self.drawn.shapes), default=0)
        for item, element in zip(self.items, elements, strict=True):
            id = self.ids[item.index]
            if element is not None:
                shapes[id] = self._with_drawing(DrawnShape(id, element, position), item)
                position += 1
            elif id in shapes:
                shapes[id] = self._with_drawing(shapes[id], item)
        moved = {each.shape for each in self.drawn.shapes if shapes[each.shape].bounds != each.bounds}
        return StoredDiagram(list(shapes.values()), self._flows(moved), self.drawn.lanes)

    def _with_drawing(self, shape: DrawnShape, item: ItemInput) -> DrawnShape:
        return shape._replace(
            bounds=shape.bounds if isinstance(item.bounds, Unmentioned) else item.bounds,
            lane=shape.lane if isinstance(item.lane, Unmentioned) else self._lane(item.lane),
            container=shape.container if isinstance(item.container, Unmentioned) else self._id(item.container),
            host=shape.host if isinstance(item.host, Unmentioned) else self._id(item.host),
        )

    def _lane(self, lane: ShapeName | None) -> str | None:
        # Only a request that replaces the diagram has lanes with an index.
        return None if lane is None else str(lane)

    def _flows(self, moved: set[str]) -> list[DrawnFlow]:
        flows = {
            (each.shape, each.predecessor): each._replace(waypoints=None)
            if {each.shape, each.predecessor} & moved
            else each
            for each in self.drawn.flows
        }
        last = {each.shape: each.position for each in self.drawn.flows}
        for item in self.items:
            shape = self.ids[item.index]
            named = [each for each in dict.fromkeys(map(self._id, item.predecessors)) if each is not None]
            gone = {self._id(each) for each in item.removed_predecessors}
            for key in [key for key in flows if key[0] == shape]:
                if key[1] in gone or (item.replaces_predecessors and key[1] not in named):
                    del flows[key]
            for before in named:
                if (shape, before) not in flows:
                    last[shape] = last.get(shape, -1) + 1
                    flows[shape, before] = DrawnFlow(shape, before, last[shape])
            self._label(item, shape, flows)
        return list(flows.values())

    def _label(self, item: ItemInput, shape: str, flows: dict[tuple[str, str], DrawnFlow]) -> None:
        for name, texts in item.labels.items():
            place = f"{self.places[shape]}.labels[{name}]"
            key = shape, self._id(name) or ""
            for suffix, text in text_problems(texts, self.cultures):
                self.findings.note(invalid(f"{place}{suffix}", text))
            if key in flows:
                flows[key] = flows[key]._replace(label=texts)
            else:
                self.findings.note(invalid(place, "the shape has no such predecessor; name it in predecessors, too"))

    def _id(self, name: ShapeName | None) -> str | None:
        """Return the shape that an index or an id names."""
        return name if isinstance(name, str) else self.ids.get(name) if name is not None else None

    def check_structure(self, after: StoredDiagram, elements: DrawnElements) -> None:
        for id, name, text in structure_problems(after.shapes, after.lanes):
            self.findings.note(invalid(f"{self.places.get(id, id)}.{name}", text))
        shown = {each.shape: each.element for each in after.shapes}
        for item in self.items:
            host = None if isinstance(item.host, Unmentioned) else self._id(item.host)
            if host is not None and host != self.ids[item.index]:
                elements.check_host(shown.get(host), f"{item.place}: shapeInfo.attachedTo")
