"""BPMN document of a diagram: the stored document with every change since, or a new one (D287). Pure.

There is one way: the diagram of the document is compared with the wanted one, and the difference is applied. A new
document is an empty one to which everything is added.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from typing import TypeVar

from lxml import etree

from elements.bpmn.document.checking import drop_dangling
from elements.bpmn.document.index import DocumentIndex, local
from elements.bpmn.document.model import BpmnFlow, BpmnLane, BpmnModel, BpmnNode, Names
from elements.bpmn.document.parsing import BpmnDocument
from elements.bpmn.document.reading import DocumentReading
from elements.bpmn.document.texts import NO_LANE, TextWriting, write_description
from elements.bpmn.document.tree_edits import (
    CONTENTS,
    ChildPlaces,
    add_root_element,
    child_of,
    declare_namespaces,
    lane_set_of,
    remove,
)
from elements.bpmn.document.vocabulary import (
    BOUNDARY,
    CALL,
    CONDITION,
    EVENT_TYPES,
    EVENTS,
    KINDS,
    NAMESPACES,
    OWN,
    PLACEHOLDER,
    SUB_PROCESSES,
    TYPES,
    bpmn,
    own,
)
from elements.bpmn.generating.flow_writing import FlowWriting
from elements.bpmn.generating.interchange import draw

Nested = TypeVar("Nested", BpmnNode, BpmnLane)
EXPORTER = "Content repository"
HOLDING = frozenset(bpmn(each) for each in (*TYPES, "sequenceFlow", "lane"))
"""Elements for which a process stays although its pool is removed."""
PARTICIPANT = f"{bpmn('collaboration')}/{bpmn('participant')}"
# Elements of a document that have participants.
COLLABORATIONS = ("collaboration", "choreography", "globalConversation")


@dataclass(frozen=True, slots=True)
class ExportedProcess:
    """The element whose diagram a document has. `id` is the id of its process in a new document."""

    id: str
    names: Names
    called: Sequence[Sequence[str]] = ()
    """Ids of each process that the diagram shows; the first one is for new calls."""


def write(
    source: BpmnDocument | None, wanted: BpmnModel, subject: ExportedProcess, culture: str, cultures: Sequence[str]
) -> bytes:
    """Return a document. Its names are those of `culture`; a missing one is that of the first of `cultures`."""
    root = declare_namespaces(source.root if source else new_root(), NAMESPACES)
    if root.get("targetNamespace") is None:
        root.set("targetNamespace", OWN)
    writing = _Writing(root, subject, culture, cultures)
    before = writing.before
    writing.apply(wanted)
    # A large document needs its memory for the next index.
    del writing
    drop_dangling(DocumentIndex(root))
    draw(root, before, wanted)
    root.set(own("lcid"), culture)
    return etree.tostring(root.getroottree(), encoding="UTF-8", xml_declaration=True, pretty_print=source is None)


def new_root() -> etree._Element:
    return etree.Element(bpmn("definitions"), {"targetNamespace": OWN, "exporter": EXPORTER}, nsmap=NAMESPACES)


class _Writing:
    def __init__(self, root: etree._Element, subject: ExportedProcess, culture: str, cultures: Sequence[str]) -> None:
        self.root = root
        self.subject = subject
        stated = root.get(own("lcid")) or culture
        self.texts = TextWriting(culture, cultures, stated != culture)
        reading = DocumentReading(root, stated)
        self.before = reading.model()
        self.index = reading.index
        self.places = ChildPlaces()
        self.nodes = {each.id: each for each in self.before.nodes}
        self.lanes = {each.id: each for each in self.before.lanes}
        self.owned = self._owned_processes()
        """Processes that have a pool."""
        self.free = self._free_process()
        self.first = root.find(bpmn("process"))
        self.had_pools = root.find(PARTICIPANT) is not None
        self.called = {ids[0]: frozenset(ids) for ids in subject.called}
        """All ids of a process, by the one for new calls."""
        self.created: set[str | None] = set()
        """Processes for nodes and lanes without a pool."""
        self.moved: set[str] = set()
        """Nodes that are in another process or sub-process than before."""
        self.moved_lanes: set[str | None] = set()
        """Lanes that can be in another process than before."""
        self.turned_lanes: set[str | None] = set()
        """Lanes that were pools before, and pools that were lanes."""

    @property
    def elements(self) -> dict[str, etree._Element]:
        return self.index.elements

    def apply(self, wanted: BpmnModel) -> None:
        self.wanted_lanes = {each.id: each for each in wanted.lanes}
        self.containers = {each.container for each in wanted.nodes if each.container}
        self.neighbours = _neighbours(wanted.flows)
        self.memberships = self._memberships()
        for lane in _outermost_first(wanted.lanes, "parent"):
            self._lane(lane)
        for node in _outermost_first(wanted.nodes, "container"):
            self._node(node)
        gone = self.nodes.keys() - {each.id for each in wanted.nodes}
        self._keep_contents(gone)
        flows = FlowWriting(self.index, self.before.flows, wanted.flows, self.texts, self.places)
        flows.move(self.moved, gone)
        self._remove_nodes(gone)
        flows.apply()
        self._remove_lanes()
        self._finish_processes(wanted)

    # Lanes and pools.

    def _lane(self, lane: BpmnLane) -> None:
        old = self.lanes.get(lane.id)
        if old is not None and old.is_pool != lane.is_pool:
            self._remove_lane(old)
            self.turned_lanes.add(lane.id)
            old = None
        is_elsewhere = old is not None and self._is_elsewhere(old, lane)
        if old is None:
            self.elements[lane.id] = self._new_pool(lane) if lane.is_pool else self._new_lane(lane)
        elif is_elsewhere:
            self._lane_home(lane).append(self.elements[lane.id])
        if is_elsewhere or lane.id in self.turned_lanes or lane.parent in self.moved_lanes:
            self.moved_lanes.add(lane.id)
        if self.texts.differ(old.names if old else None, lane.names):
            self.texts.name(self.elements[lane.id], lane.names)

    def _is_elsewhere(self, old: BpmnLane, lane: BpmnLane) -> bool:
        """Return whether a lane has another place. It stays in its process if only the pool around it is removed."""
        is_freed = lane.parent is None and old.parent not in self.wanted_lanes and self._has_pool(old)
        is_moved = old.parent != lane.parent or lane.parent in self.turned_lanes
        return is_moved and not lane.is_pool and not is_freed

    def _has_pool(self, lane: BpmnLane) -> bool:
        return lane.parent is not None and self.lanes[lane.parent].is_pool

    def _new_lane(self, lane: BpmnLane) -> etree._Element:
        return etree.SubElement(self._lane_home(lane), bpmn("lane"), id=lane.id)

    def _lane_home(self, lane: BpmnLane) -> etree._Element:
        above = self.wanted_lanes.get(lane.parent or "")
        if above is None:
            return lane_set_of(self._default_process(is_free=True))
        if above.is_pool:
            return lane_set_of(self._process_of_pool(above.id))
        return child_of(self.elements[above.id], "childLaneSet")

    def _new_pool(self, lane: BpmnLane) -> etree._Element:
        process = add_root_element(self.root, "process", self._free_id(f"Process_of_{lane.id}"))
        self.elements[process.get("id") or ""] = process
        return self._new_participant(lane.id, process)

    def _new_participant(self, id: str, process: etree._Element) -> etree._Element:
        collaboration = self.root.find(bpmn("collaboration"))
        if collaboration is None:
            collaboration = add_root_element(self.root, "collaboration", self._free_id("Collaboration_1"), first=True)
            self.elements[collaboration.get("id") or ""] = collaboration
        element = self.places.add_first(collaboration, "participant", id=id, processRef=process.get("id") or "")
        self.elements[id] = element
        self.owned.add(process.get("id"))
        return element

    def _process_of_pool(self, pool: str) -> etree._Element:
        found = self.index.find(self.elements[pool].get("processRef"))
        return self._default_process() if found is None else found

    def _default_process(self, *, is_free: bool = False) -> etree._Element:
        """Return the process of what has no pool. Lanes need one that is free: a lane there is in no pool."""
        if self.free is not None:
            return self.free
        if self.first is not None and self.first.getparent() is None:
            self.first = self.root.find(bpmn("process"))
        if self.first is not None and self.before.nodes and not is_free:
            return self.first
        self.free = process = add_root_element(self.root, "process", self._free_id(self.subject.id))
        self.texts.name(process, self.subject.names)
        self.elements[process.get("id") or ""] = process
        self.created.add(process.get("id"))
        return process

    def _free_process(self) -> etree._Element | None:
        """Return the first process without a pool."""
        processes = self.root.iterchildren(bpmn("process"))
        return next((each for each in processes if each.get("id") not in self.owned), None)

    def _remove_lanes(self) -> None:
        # Inner lanes come after the ones around them.
        for lane in reversed(self.lanes.values()):
            if lane.id not in self.wanted_lanes:
                self._remove_lane(lane)
        self.owned = self._owned_processes()
        self.free = self._free_process()

    def _remove_lane(self, lane: BpmnLane) -> None:
        element = self.elements.pop(lane.id)
        if lane.is_pool:
            process = self.index.find(element.get("processRef"))
            if process is not None and _is_empty(process):
                remove(process)
            elif process is not None:
                self.created.add(process.get("id"))
        remove(element)

    def _finish_processes(self, wanted: BpmnModel) -> None:
        """A document has a process. Tools draw lanes, and all nodes of a collaboration, in pools."""
        if self.root.find(bpmn("process")) is None:
            self._default_process()
        if self.root.find(bpmn("collaboration")) is None and not wanted.lanes:
            return
        processes = self.root.findall(bpmn("process"))
        for process in processes:
            if process.get("id") in self.created and not _is_empty(process):
                self._draw_in_pool(process)
        if self.had_pools or self.root.find(PARTICIPANT) is None:
            return
        for process in processes:
            if process.get("id") not in self.owned and not _is_empty(process):
                self._draw_in_pool(process)

    def _draw_in_pool(self, process: etree._Element) -> None:
        """Add a pool that exists for the drawing only."""
        participant = self._new_participant(self._free_id(f"Participant_of_{process.get('id')}"), process)
        self.texts.name(participant, self.subject.names)
        child_of(child_of(participant, "extensionElements"), "element", own).set("computed", "true")

    # Nodes.

    def _node(self, node: BpmnNode) -> None:
        old = self.nodes.get(node.id)
        if old is None:
            self.elements[node.id] = self.places.add_flow_element(self._scope(node, None), self._kind(node), node.id)
        element = self.elements[node.id]
        if old is None:
            self._describe_new(element, node)
        else:
            self._change_kind(element, old, node)
            self._change_scope(element, old, node)
        is_same = old is not None and _place(old) == _place(node)
        if old and old.names and node.called and node.type != PLACEHOLDER and not self._calls_another(old, node):
            # A call activity has a name of its own, which the repository has no place for.
            pass
        elif not is_same or self.texts.differ(old.names if old else None, node.names):
            self.texts.name(element, node.names, self._marks(element, node))
        if (old.description if old else "") != node.description:
            write_description(element, node.description)
        self._change_lane(old, node)

    def _kind(self, node: BpmnNode) -> str:
        if node.id in self.containers:
            return SUB_PROCESSES[0]
        if node.host and node.type in EVENT_TYPES:
            return BOUNDARY
        return KINDS.get(node.type, CALL)

    def _describe_new(self, element: etree._Element, node: BpmnNode) -> None:
        if local(element) == CALL and node.called:
            element.set("calledElement", node.called)
        if local(element) == BOUNDARY:
            element.set("attachedToRef", node.host or "")
        if node.type == CONDITION and local(element) in EVENTS:
            definition = etree.SubElement(element, bpmn("conditionalEventDefinition"))
            etree.SubElement(definition, bpmn("condition"))

    def _change_kind(self, element: etree._Element, old: BpmnNode, node: BpmnNode) -> None:
        """Change what a node is, only as far as it has changed: the document knows the kind better."""
        if KINDS.get(old.type, CALL) != KINDS.get(node.type, CALL):
            self.places.turn_into(element, self._kind(node))
            self._describe_new(element, node)
        elif local(element) == CALL and self._calls_another(old, node):
            element.set("calledElement", node.called)
        elif node.id in self.containers and local(element) not in SUB_PROCESSES:
            self.places.turn_into(element, SUB_PROCESSES[0])
        if local(element) in EVENTS and old.host != node.host:
            if node.host:
                element.tag = bpmn(BOUNDARY)
                element.set("attachedToRef", node.host)
            elif local(element) == BOUNDARY:
                element.tag = bpmn("intermediateCatchEvent")
                element.attrib.pop("attachedToRef", None)
                element.attrib.pop("cancelActivity", None)

    def _calls_another(self, old: BpmnNode, node: BpmnNode) -> bool:
        """Return whether a node shows another process than the document calls."""
        called = old.called.rpartition(":")[2]
        return bool(node.called) and called not in self.called.get(node.called, {node.called})

    def _change_scope(self, element: etree._Element, old: BpmnNode, node: BpmnNode) -> None:
        is_regrouped = old.lane != node.lane or node.lane in self.moved_lanes
        is_moved = old.container != node.container or (is_regrouped and node.container is None)
        scope = self._scope(node, element) if is_moved else None
        if scope is not None and element.getparent() is not scope:
            self.places.add_flow_element(scope, element)
            self.moved.add(node.id)

    def _scope(self, node: BpmnNode, element: etree._Element | None) -> etree._Element:
        """Return the process or the sub-process of a node."""
        if node.container:
            return self.elements[node.container]
        if node.lane is not None:
            return self._process_around(self.elements[node.lane])
        if element is not None and (process := next(element.iterancestors(bpmn("process")), None)) is not None:
            return process
        for other in self.neighbours.get(node.id, ()):
            if other not in self.nodes:
                continue
            found = next(self.elements[other].iterancestors(bpmn("process")), None)
            if found is not None:
                return found
        return self._default_process()

    def _process_around(self, lane: etree._Element) -> etree._Element:
        if local(lane) == "participant":
            return self._process_of_pool(lane.get("id") or "")
        found = next(lane.iterancestors(bpmn("process")), None)
        return self._default_process() if found is None else found

    def _change_lane(self, old: BpmnNode | None, node: BpmnNode) -> None:
        if (old.lane if old else None) == node.lane and node.lane not in self.turned_lanes:
            return
        for reference in self.memberships.get(node.id, ()):
            remove(reference)
        if node.lane is not None and not self.wanted_lanes[node.lane].is_pool:
            lane = self.elements[node.lane]
            inner = lane.find(bpmn("childLaneSet"))
            reference = etree.Element(bpmn("flowNodeRef"))
            reference.text = node.id
            lane.append(reference) if inner is None else inner.addprevious(reference)

    def _memberships(self) -> dict[str, list[etree._Element]]:
        """Return the references of lanes to each node."""
        found: dict[str, list[etree._Element]] = {}
        for each in self.root.iter(bpmn("flowNodeRef")):
            found.setdefault((each.text or "").strip(), []).append(each)
        return found

    def _keep_contents(self, gone: Set[str]) -> None:
        """Move flows, data and annotations out of a sub-process that is removed while some of its nodes stay."""
        around: dict[str, None] = {}
        for node in self.before.nodes:
            container = node.container if node.id not in gone else None
            while container is not None:
                around[container] = None
                container = self.nodes[container].container
        # An inner sub-process has more ancestors than the one around it.
        for id in sorted(around.keys() & gone, key=lambda id: -sum(1 for _ in self.elements[id].iterancestors())):
            for child in list(self.elements[id]):
                if local(child) in CONTENTS:
                    self.places.move_up(child)

    def _remove_nodes(self, gone: Set[str]) -> None:
        for id in gone:
            remove(self.elements.pop(id))

    def _marks(self, element: etree._Element, node: BpmnNode) -> dict[str, str | None]:
        """Return the type of a node and the lack of a lane, where a reader would conclude something else."""
        process = element.getparent()
        is_pooled = process is not None and process.get("id") in self.owned
        is_other_type = node.type in KINDS and node.type != TYPES.get(local(element))
        return {
            "type": node.type if is_other_type else None,
            "lane": NO_LANE if node.lane is None and node.container is None and is_pooled else None,
        }

    def _owned_processes(self) -> set[str | None]:
        paths = (f"{bpmn(name)}/{bpmn('participant')}" for name in COLLABORATIONS)
        return {self.index.known(each.get("processRef")) for path in paths for each in self.root.iterfind(path)}

    def _free_id(self, id: str) -> str:
        while id in self.elements:
            id += "_"
        return id


def _is_empty(process: etree._Element) -> bool:
    return not any(each.tag in HOLDING for each in process.iter("*"))


def _place(node: BpmnNode) -> tuple[str | None, ...]:
    """Return the values that decide about the marks of a node."""
    return node.type, node.lane, node.container, node.host


def _neighbours(flows: Sequence[BpmnFlow]) -> dict[str, list[str]]:
    """Return the nodes to which each node is connected."""
    found: dict[str, list[str]] = {}
    for flow in flows:
        found.setdefault(flow.source, []).append(flow.target)
        found.setdefault(flow.target, []).append(flow.source)
    return found


def _outermost_first(found: Iterable[Nested], name: str) -> list[Nested]:
    """Return lanes or nodes so that each comes after the one around it."""
    by_id = {each.id: each for each in found}

    def depth(each: Nested) -> int:
        level, around = 0, by_id.get(getattr(each, name) or "")
        while around is not None and level <= len(by_id):
            around = by_id.get(getattr(around, name) or "")
            level += 1
        return level

    return sorted(by_id.values(), key=depth)
