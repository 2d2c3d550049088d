"""Diagram of a document as a wanted diagram, and a stored diagram as one of a document (D283). Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from elements.bpmn.document.model import Area, BpmnFlow, BpmnLane, BpmnModel, BpmnNode, Names
from elements.bpmn.document.vocabulary import PLACEHOLDER
from elements.diagrams.geometry import ShapeBounds
from elements.naming import NAME
from elements.reading.diagrams.drawings import DrawnFlow, DrawnLane, DrawnShape, StoredDiagram
from elements.values.checking import LINE_BREAK
from elements.writing.diagrams.wanted_diagrams import (
    KEPT,
    WantedDiagram,
    WantedFlow,
    WantedLane,
    WantedShape,
    WantedSource,
)
from elements.writing.inputs import ReferenceInput
from facets.blueprint.data_types import DataType
from facets.blueprint.definitions import ElementType
from storage.localisation.cultures import INVARIANT_CULTURE

DESCRIPTION = "description"
INVARIANT = str(INVARIANT_CULTURE)


def process_id(element: str) -> str:
    """Return the BPMN id of the process of an element; a call activity names it."""
    return f"Process_{element}"


PROCESS = re.compile(re.escape(process_id("")) + r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")


def shape_id(shape: DrawnShape) -> str:
    return shape.bpmn_id or f"Shape_{shape.shape}"


def lane_id(lane: DrawnLane) -> str:
    return lane.bpmn_id or f"Lane_{lane.lane}"


def flow_id(flow: DrawnFlow) -> str:
    return flow.bpmn_id or f"Flow_{flow.predecessor}_{flow.shape}"


@dataclass(frozen=True, slots=True)
class ShownElement:
    """An element that a shape shows."""

    type: ElementType
    attributes: Mapping[str, Mapping[str, Any]]


def model_of(
    stored: StoredDiagram,
    elements: Mapping[str, ShownElement],
    culture: str,
    names: Mapping[str, Sequence[str]] | None = None,
) -> BpmnModel:
    """Return a stored diagram in the form of BPMN, as far as its elements are given. `names` are those of processes, by
    element; a call activity gets the first one."""
    shown = {each.shape: each for each in stored.shapes if each.element in elements}
    ids = {each.shape: shape_id(each) for each in shown.values()}
    lanes = {each.lane: each for each in stored.lanes}
    lane_ids = {id: lane_id(each) for id, each in lanes.items()}
    around = {each.shape: each.container for each in stored.shapes}

    def host(shape: DrawnShape) -> str | None:
        """Return the activity that an event is attached to, unless that activity contains the event."""
        outer = shape.container
        while outer is not None and outer != shape.host:
            outer = around.get(outer)
        return ids.get(shape.host or "") if outer is None else None

    # Flows follow the order of the shapes to which they lead, so that equal diagrams give equal documents.
    ranks = {each: rank for rank, each in enumerate(shown)}

    def node(shape: DrawnShape) -> BpmnNode:
        element = elements[shape.element]
        container = ids.get(shape.container or "")
        # Only nodes outside of sub-processes belong to a pool itself.
        is_in_pool = shape.lane is not None and lanes[shape.lane].is_pool
        return BpmnNode(
            ids[shape.shape],
            element.type.key,
            _texts(element.attributes.get(NAME, {}), culture),
            str(element.attributes.get(DESCRIPTION, {}).get(culture) or ""),
            "" if element.type.lives_in_diagrams else (names or {}).get(shape.element, [process_id(shape.element)])[0],
            None if container and is_in_pool else lane_ids.get(shape.lane or ""),
            container,
            host(shape),
            _area(shape.bounds),
        )

    return BpmnModel(
        [node(each) for each in shown.values()],
        [
            BpmnFlow(flow_id(each), ids[each.predecessor], ids[each.shape], each.label, each.waypoints)
            for each in sorted(stored.flows, key=lambda flow: ranks.get(flow.shape, 0))
            if each.shape in ids and each.predecessor in ids
        ],
        [
            BpmnLane(lane_id(each), each.name, lane_ids.get(each.parent or ""), each.is_pool, _area(each.bounds))
            for each in stored.lanes
        ],
    )


def _texts(values: Mapping[str, Any], culture: str) -> Names:
    """Return texts by culture; an invariant text is that of the document."""
    found = {culture if lcid == INVARIANT else lcid: text for lcid, text in values.items()}
    return {lcid: text for lcid, text in found.items() if isinstance(text, str) and text.strip()}


def _area(bounds: ShapeBounds | None) -> Area | None:
    return Area(*bounds) if bounds else None


@dataclass(frozen=True)
class DiagramMapping:
    """The diagram that a document becomes.

    `types` are the types of the elements that stored shapes show, `called` the elements that call activities name.
    """

    stored: StoredDiagram
    types: Mapping[str, ElementType]
    called: Mapping[str, str]
    known_types: Mapping[str, ElementType]
    culture: str
    cultures: Collection[str]

    def wanted(self, model: BpmnModel, source: WantedSource) -> WantedDiagram:
        """Return the diagram of a document. Stored shapes keep their ids and their order; new ones follow."""
        shapes = {shape_id(each): each for each in self.stored.shapes}
        lanes = {lane_id(each): each for each in self.stored.lanes}
        places = {id: number for number, id in enumerate([*shapes, *lanes])}
        flows: dict[str, list[BpmnFlow]] = {}
        for flow in model.flows:
            flows.setdefault(flow.target, []).append(flow)
        stored: dict[str, dict[str, DrawnFlow]] = {}
        for known in self.stored.flows:
            stored.setdefault(known.shape, {})[known.predecessor] = known

        def before(node: BpmnNode) -> list[WantedFlow]:
            own = shapes.get(node.id)
            return self._flows(flows.get(node.id, []), shapes, stored.get(own.shape, {}) if own else {})

        def order(each: BpmnNode | BpmnLane) -> int:
            return places.get(each.id, len(places))

        return WantedDiagram(
            [self._shape(each, shapes.get(each.id), before(each)) for each in sorted(model.nodes, key=order)],
            [self._lane(each, lanes.get(each.id)) for each in sorted(model.lanes, key=order)],
            source,
        )

    def _shape(self, node: BpmnNode, old: DrawnShape | None, before: list[WantedFlow]) -> WantedShape:
        place = f"{node.type} {node.id}"
        return WantedShape(
            node.id,
            place,
            old.shape if old else None,
            self._element(node, old, place),
            before,
            ShapeBounds(*_sides(node.area)) if node.area else None,
            node.lane,
            node.container,
            node.host,
            KEPT if old else node.id,
        )

    def _element(self, node: BpmnNode, old: DrawnShape | None, place: str) -> ReferenceInput | None:
        shown = self.types.get(old.element) if old else None
        target = self.called.get(node.called)
        if node.type == PLACEHOLDER and target is not None:
            return None if old and old.element == target else ReferenceInput(place, id=target)
        if node.type == PLACEHOLDER and shown and not shown.lives_in_diagrams:
            return None
        attributes = self._attributes(node)
        return ReferenceInput(place, type=node.type, attributes=attributes, has_attributes=True)

    def _attributes(self, node: BpmnNode) -> dict[str, dict[str, Any]]:
        """Return the values of a node. A text that the document does not have is removed in its culture."""
        type = self.known_types.get(node.type)
        known = {each.key: each.attribute for each in type.properties if each.attribute} if type else {}
        found: dict[str, dict[str, Any]] = {}
        name = known.get(NAME)
        if name is not None:
            names = {lcid: text for lcid, text in node.names.items() if lcid in self.cultures}
            if name.data_type is DataType.SINGLE_LINE_TEXT:
                names = {lcid: one_line(text) for lcid, text in names.items()}
            own = names.pop(self.culture, None)
            found[NAME] = {INVARIANT: own} if name.is_invariant_culture else {self.culture: own, **names}
        description = known.get(DESCRIPTION)
        if description is not None and description.data_type is DataType.HTML:
            culture = INVARIANT if description.is_invariant_culture else self.culture
            found[DESCRIPTION] = {culture: node.description or None}
        return found

    def _flows(
        self, flows: list[BpmnFlow], shapes: Mapping[str, DrawnShape], old: Mapping[str, DrawnFlow]
    ) -> list[WantedFlow]:
        """Return the flows to a node: stored ones in their order, then new ones. `old` has them by predecessor."""
        places = {id: number for number, id in enumerate(old)}

        def predecessor(flow: BpmnFlow) -> str:
            before = shapes.get(flow.source)
            return before.shape if before else ""

        ordered = sorted(flows, key=lambda flow: places.get(predecessor(flow), len(places)))
        return [self._flow(each, old.get(predecessor(each))) for each in ordered]

    def _flow(self, flow: BpmnFlow, old: DrawnFlow | None) -> WantedFlow:
        is_own = old is not None and flow.id == flow_id(old)
        label = self._merged(old.label if old else {}, flow.names)
        return WantedFlow(flow.source, label, KEPT if is_own else flow.id, flow.waypoints)

    def _lane(self, lane: BpmnLane, old: DrawnLane | None) -> WantedLane:
        return WantedLane(
            lane.id,
            f"lane {lane.id}",
            old.lane if old else None,
            self._merged(old.name if old else {}, lane.names),
            KEPT,
            lane.parent,
            lane.is_pool,
            ShapeBounds(*_sides(lane.area)) if lane.area else None,
            KEPT if old else lane.id,
        )

    def _merged(self, old: Names, new: Names) -> dict[str, str]:
        """Return texts of a document with those of cultures that it does not mention."""
        given = {lcid: text for lcid, text in new.items() if lcid in self.cultures}
        return {lcid: text for lcid, text in old.items() if lcid != self.culture} | given


def one_line(text: str) -> str:
    return " ".join(text.split()) if LINE_BREAK.search(text) else text


def _sides(area: Area) -> tuple[float, float, float, float]:
    return float(area.x), float(area.y), float(area.width), float(area.height)
