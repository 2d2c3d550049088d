"""Diagram interchange of a document: a shape for every node and lane, an edge for every flow (D286). Pure.

Drawings that nobody made carry their computed place in an attribute of our own. As long as both agree, an import reads
them as not drawn.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from django.utils.functional import cached_property
from lxml import etree

from elements.bpmn.document.index import DocumentIndex, computed_mark, local
from elements.bpmn.document.model import Area, BpmnFlow, BpmnLane, BpmnModel, BpmnNode, Waypoint
from elements.bpmn.document.vocabulary import DC, DD, EDGES, SUB_PROCESSES, bpmn, di, own
from elements.bpmn.generating.placing import connect, place

COMPUTED = own("computed")
CONVERSATIONS = frozenset({"conversation", "subConversation", "callConversation"})
# Parts of a document without a place in a diagram that are drawn, and how many of them: a drawing takes much memory.
OTHERS = CONVERSATIONS | {"participant", "textAnnotation", "dataObjectReference", "dataStoreReference", "group"}
MOST_OTHERS = 5_000
NO_NAME = re.compile(r"[^\w.-]", re.ASCII)


def draw(root: etree._Element, before: BpmnModel, after: BpmnModel) -> None:
    """Bring the drawings of a document in line with a diagram."""
    _Interchange(root, before, after).draw()


class _Interchange:
    def __init__(self, root: etree._Element, before: BpmnModel, after: BpmnModel) -> None:
        self.root = root
        self.index = DocumentIndex(root)
        self.had_drawings = bool(self.index.shapes)
        self.before, self.after = before, after
        self.old_areas = before.areas
        self.members: dict[str | None, list[str | None]] = {}
        """Nodes of each lane."""
        for node in after.nodes:
            self.members.setdefault(node.lane, []).append(node.id)
        # A drawing whose bounds the repository does not have stays as the document has it.
        nodes = [replace(each, area=each.area or self._drawn(each.id)) for each in after.nodes]
        lanes = [replace(each, area=each.area or self._drawn(each.id)) for each in after.lanes]
        shown = BpmnModel(nodes, after.flows, lanes)
        self.planes = {self.index.known(each.get("bpmnElement")): each for each in reversed(self.index.planes)}
        """First plane of each element that has one."""
        self.placement = place(shown)
        self.known = shown.areas
        self.areas: dict[str, Area] = self.placement.areas | self.known

    def _drawn(self, id: str) -> Area | None:
        return self.index.area(id)

    def draw(self) -> None:
        inner = {each.container for each in self.after.nodes}
        parts: list[BpmnNode | BpmnLane] = [*self.after.lanes, *self.after.nodes]
        for each in parts:
            self._draw_shape(each, has_contents=each.id in inner)
        moved = {id for id, area in self.after.areas.items() if self.old_areas.get(id, area) != area}
        old = {each.id: each for each in self.before.flows}
        for flow in self.after.flows:
            self._draw_edge(flow, old.get(flow.id), moved)
        self._draw_generated_pools()
        self._draw_others()

    def _draw_shape(self, each: BpmnNode | BpmnLane, *, has_contents: bool) -> None:
        area = self.areas.get(each.id) or Area(0, 0, 100, 80)
        shape = self.index.shapes.get(each.id)
        if shape is None:
            shape = self._new_shape(each.id, self._plane(each))
            if isinstance(each, BpmnLane):
                shape.set("isHorizontal", "true")
            if has_contents:
                shape.set("isExpanded", "true")
        elif each.id in self.known and self.index.area(each.id) == area:
            return
        if has_contents and shape.get("isExpanded") == "false" and each.id not in self.planes:
            shape.set("isExpanded", "true")
        set_bounds(shape, area, is_computed=each.id not in self.known)

    def _new_shape(self, id: str, plane: etree._Element) -> etree._Element:
        shape = etree.SubElement(plane, di("BPMNShape"), id=self._free_id(f"{id}_di"), bpmnElement=id)
        element = self.index.elements[id]
        if local(element) == "exclusiveGateway":
            shape.set("isMarkerVisible", "true")
        self.index.shapes[id] = shape
        return shape

    def _free_id(self, id: str) -> str:
        # Some tools use ids that XML or bpmn-js does not allow, such as numbers.
        id = NO_NAME.sub("_", id) if id[:1].isalpha() else f"_{NO_NAME.sub('_', id)}"
        while id in self._taken:
            # Counts on: thousands of ids may differ only in signs.
            number = self._taken[id] = self._taken[id] + 1
            id += "_" if number == 1 else f"_{number}"
        self._taken[id] = 0
        return id

    @cached_property
    def _taken(self) -> dict[str, int]:
        """Ids of the document, and how often something else wanted to have them."""
        return dict.fromkeys(map(str, self.root.xpath("//@id")), 0)

    def _draw_edge(self, flow: BpmnFlow, old: BpmnFlow | None, moved: set[str]) -> None:
        edge = self.index.edges.get(flow.id)
        is_same = old is not None and (old.source, old.target) == (flow.source, flow.target)
        is_stale = flow.source in moved or flow.target in moved or not is_same
        points = flow.waypoints
        if is_stale and old is not None and points == old.waypoints:
            points = None
        if points is None and not is_stale:
            # The document can have more points than the repository keeps.
            points = self.index.line(flow.id) or None
        if edge is not None and points is not None and self.index.line(flow.id) == points:
            return
        line = points or self.placement.lines.get(flow.id) or ((0, 0), (0, 0))
        if edge is None:
            plane = self._plane_around(flow.source)
            edge = etree.SubElement(plane, di("BPMNEdge"), id=self._free_id(f"{flow.id}_di"), bpmnElement=flow.id)
            self.index.edges[flow.id] = edge
        set_waypoints(edge, line, is_computed=points is None)

    def _plane_around(self, id: str) -> etree._Element:
        shape = self.index.shapes.get(id)
        plane = None if shape is None else shape.getparent()
        return self._first_plane if plane is None else plane

    def _plane(self, each: BpmnNode | BpmnLane) -> etree._Element:
        """Return the plane for a new shape: that of its sub-process, or the one that shows what is around it."""
        if isinstance(each, BpmnNode) and each.container:
            own = self.planes.get(each.container)
            return self._plane_around(each.container) if own is None else own
        siblings = self.members.get(each.id, []) if isinstance(each, BpmnLane) else [each.lane]
        drawn = next((id for id in siblings if id in self.index.shapes), None)
        return self._plane_around(drawn) if drawn else self._first_plane

    @cached_property
    def _first_plane(self) -> etree._Element:
        subject = self.root.find(bpmn("collaboration"))
        if subject is None:
            subject = self.root.find(bpmn("process"))
        if subject is None:
            subject = next(self.root.iterchildren("*"))
        shown = [(each, self.index.find(each.get("bpmnElement"))) for each in self.index.planes]
        # A plane can also show a sub-process; nodes outside of it do not belong there.
        whole = [(plane, named) for plane, named in shown if named is None or local(named) not in SUB_PROCESSES]
        for plane, named in whole or shown:
            if named is None or (local(subject) == "collaboration" and local(named) == "process"):
                # A new pool turns the drawing of a process into that of a collaboration.
                plane.set("bpmnElement", subject.get("id") or "")
            return plane
        diagram = etree.SubElement(self.root, di("BPMNDiagram"), id=self._free_id("BPMNDiagram_1"))
        plane_id = self._free_id("BPMNPlane_1")
        plane = etree.SubElement(diagram, di("BPMNPlane"), id=plane_id, bpmnElement=subject.get("id") or "")
        self.index.planes.append(plane)
        return plane

    def _draw_generated_pools(self) -> None:
        """Draw the pools that exist only because BPMN draws lanes in pools."""
        lanes = {each.id: self.areas[each.id] for each in self.after.lanes if each.id in self.areas}
        nodes = {each.id: self.areas[each.id] for each in self.after.nodes if each.id in self.areas}
        # Several pools may have the same process.
        areas: dict[str | None, Area] = {}
        for id, element in self.index.elements.items():
            if local(element) != "participant" or not is_generated(element):
                continue
            process = self.index.known(element.get("processRef"))
            if process not in areas:
                inner = [each.get("id") for each in self.index.elements[process].iter("*")] if process else []
                areas[process] = _pool_around(
                    *([found[each] for each in inner if each in found] for found in (lanes, nodes))
                )
            shape = self.index.shapes.get(id)
            if shape is None:
                shape = self._new_shape(id, self._first_plane)
                shape.set("isHorizontal", "true")
            set_bounds(shape, areas[process], is_computed=True)

    def _draw_others(self) -> None:
        """Draw what only the document has, if it has no drawings at all, and connections whose ends are drawn."""
        if self.had_drawings:
            return
        bottom = max((each.y + each.height for each in self.areas.values()), default=0.0) + 40
        left = 0.0
        undrawn = self._undrawn(OTHERS, self.index.shapes)
        wanted = (id for id in undrawn if not _is_inner_conversation(self.index.elements[id]))
        for id in islice(wanted, MOST_OTHERS):
            width, height = (600, 60) if local(self.index.elements[id]) == "participant" else (100, 50)
            self.areas[id] = Area(left, bottom, width, height)
            set_bounds(self._new_shape(id, self._first_plane), self.areas[id], is_computed=True)
            left += width + 20
        for id in islice(self._undrawn(EDGES, self.index.edges), MOST_OTHERS):
            self._connect(id, self.index.elements[id])

    def _undrawn(self, kinds: Collection[str], drawings: Mapping[str, etree._Element]) -> Iterator[str]:
        return (id for id, each in self.index.elements.items() if local(each) in kinds and id not in drawings)

    def _connect(self, id: str, element: etree._Element) -> None:
        ends = [self._end(element, name) for name in ("sourceRef", "targetRef")]
        if ends[0] is None or ends[1] is None:
            return
        edge = etree.SubElement(self._first_plane, di("BPMNEdge"), id=self._free_id(f"{id}_di"), bpmnElement=id)
        set_waypoints(edge, connect(ends[0], ends[1]), is_computed=True)

    def _end(self, element: etree._Element, name: str) -> Area | None:
        """Return the area of an end of a connection; a data association connects the activity that contains it."""
        named: list[str | None] = [element.get(name), element.findtext(bpmn(name))]
        parent = element.getparent()
        if parent is not None and local(element).startswith("data"):
            named.append(parent.get("id"))
        for each in named:
            if (id := self.index.known(each)) and id in self.areas:
                return self.areas[id]
        return None


def _is_inner_conversation(element: etree._Element) -> bool:
    """Return whether an element is inside of a conversation, which hides it."""
    parent = element.getparent()
    return parent is not None and local(parent) in CONVERSATIONS


def is_generated(participant: etree._Element) -> bool:
    mark = participant.find(f"{bpmn('extensionElements')}/{own('element')}")
    return mark is not None and mark.get("computed") is not None


def set_bounds(shape: etree._Element, area: Area, *, is_computed: bool) -> None:
    bounds = shape.find(f"{{{DC}}}Bounds")
    if bounds is None:
        bounds = etree.Element(f"{{{DC}}}Bounds")
        shape.insert(_first_place(shape), bounds)
    for name in ("x", "y", "width", "height"):
        bounds.set(name, _written(getattr(area, name)))
    _mark(shape, is_computed)


def set_waypoints(edge: etree._Element, points: Sequence[Waypoint], *, is_computed: bool) -> None:
    for each in edge.findall(f"{{{DD}}}waypoint"):
        edge.remove(each)
    for number, (x, y) in enumerate(points, _first_place(edge)):
        edge.insert(number, etree.Element(f"{{{DD}}}waypoint", x=_written(x), y=_written(y)))
    _mark(edge, is_computed)


def _first_place(drawing: etree._Element) -> int:
    """Return the place of bounds and points: the schema has the extension of a drawing before them."""
    extension = drawing.find(f"{{{DD}}}extension")
    return 0 if extension is None else drawing.index(extension) + 1


def _mark(drawing: etree._Element, is_computed: bool) -> None:
    drawing.attrib.pop(COMPUTED, None)
    if is_computed:
        drawing.set(COMPUTED, computed_mark(drawing))
    # The label was placed for the old drawing; tools place it again.
    for label in drawing.findall(di("BPMNLabel")):
        for bounds in label.findall(f"{{{DC}}}Bounds"):
            label.remove(bounds)


def _pool_around(lanes: Sequence[Area], nodes: Sequence[Area]) -> Area:
    found = [*lanes, *nodes]
    if not found:
        return Area(0, 0, 600, 120)
    margin = 0 if lanes else 30
    left, top = min(each.x for each in found) - 30, min(each.y for each in found) - margin
    right, bottom = max(each.x + each.width for each in found), max(each.y + each.height for each in found)
    return Area(left, top, right + margin - left, bottom + margin - top)


def _written(number: float) -> str:
    return str(int(number)) if number == int(number) else repr(number)
