"""Diagram of a BPMN document, and what the document contains beyond it (D283). Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from django.utils.translation import gettext as _
from lxml import etree

from elements.bpmn.document.checking import check_document, drop_dangling, separate_ids
from elements.bpmn.document.index import EXTENSIONS, DocumentIndex, local
from elements.bpmn.document.model import BpmnFlow, BpmnLane, BpmnModel, BpmnNode, SourceItem
from elements.bpmn.document.parsing import BpmnDocument, parse
from elements.bpmn.document.texts import NO_LANE, document_culture, own_element, read_description, read_names
from elements.bpmn.document.vocabulary import BOUNDARY, CALL, KEPT, KINDS, PROCESSES, SUB_PROCESSES, TYPES, bpmn, own
from elements.writing.findings import Findings
from repository_site.core.problems import Invalid

MAX_NODES = 5_000


@dataclass(frozen=True)
class ReadDocument:
    document: BpmnDocument
    model: BpmnModel
    culture: str
    """Culture of the names in the document."""
    kept: tuple[SourceItem, ...] = ()
    """Parts that only the stored document has."""
    lost: tuple[SourceItem, ...] = ()
    """Parts that cannot be kept."""


def read(data: bytes, cultures: Collection[str], requested: str) -> ReadDocument:
    """Read a document that somebody sends; raise all its problems at once."""
    document = parse(data)
    index = DocumentIndex(document.root)
    findings = Findings()
    lost = separate_ids(index)
    check_document(document, index, findings)
    findings.raise_any()
    nodes = sum(local(each) in TYPES for each in index.elements.values())
    if nodes > MAX_NODES:
        text = _("The model has %(count)d nodes; at most %(most)d are allowed. Divide it into several files.")
        raise Invalid(text % {"count": nodes, "most": MAX_NODES})
    lost += drop_dangling(index)
    # A large document needs its memory for the next index.
    del index
    culture = document_culture(document.root, dict.fromkeys(cultures), requested)
    reading = DocumentReading(document.root, culture)
    lost += reading.unreadable()
    return ReadDocument(document, reading.model(), culture, tuple(reading.kept()), tuple(lost))


class DocumentReading:
    """The diagram of a checked document."""

    def __init__(self, root: etree._Element, culture: str) -> None:
        self.root = root
        self.culture = culture
        self.index = DocumentIndex(root)
        self.pools = self._pools()
        """Participant of each process that has one."""
        self.lanes = list(self._lanes())
        self.lane_of = self._memberships()
        self.nodes = [
            node for process in self.processes for node in self._nodes(process, None, self.pools.get(process.get("id")))
        ]
        self.flows = self._flows()

    @property
    def processes(self) -> Iterator[etree._Element]:
        return self.root.iterchildren(*(bpmn(each) for each in PROCESSES))

    def model(self) -> BpmnModel:
        return BpmnModel(self.nodes, list(self.flows.values()), self.lanes)

    def _pools(self) -> dict[str | None, str]:
        found: dict[str | None, str] = {}
        for each in self.root.iterfind(f"{bpmn('collaboration')}/{bpmn('participant')}"):
            kept = own_element(each)
            process = self.index.find(each.get("processRef"))
            if process is not None and local(process) == "process" and (kept is None or kept.get("computed") is None):
                found.setdefault(process.get("id"), each.get("id", ""))
        return found

    def _lanes(self) -> Iterator[BpmnLane]:
        for process in self.processes:
            pool = self.pools.get(process.get("id"))
            if pool is not None:
                yield self._lane(self.index.elements[pool], None, is_pool=True)
            yield from self._lanes_below(process, bpmn("laneSet"), pool)

    def _lanes_below(self, element: etree._Element, tag: str, parent: str | None) -> Iterator[BpmnLane]:
        for each in element.iterfind(f"{tag}/{bpmn('lane')}"):
            lane = self._lane(each, parent)
            yield lane
            yield from self._lanes_below(each, bpmn("childLaneSet"), lane.id)

    def _lane(self, element: etree._Element, parent: str | None, *, is_pool: bool = False) -> BpmnLane:
        id = element.get("id", "")
        return BpmnLane(id, read_names(element, self.culture), parent, is_pool, self.index.area(id))

    def _memberships(self) -> dict[str, str]:
        """Return the lane of each node; the innermost one, if several lanes name it."""
        found: dict[str, str] = {}
        for lane in self.lanes:
            for each in self.index.elements[lane.id].iterfind(bpmn("flowNodeRef")):
                if id := self.index.known(each.text):
                    found[id] = lane.id
        return found

    def _nodes(self, scope: etree._Element, container: str | None, pool: str | None) -> Iterator[BpmnNode]:
        for element in scope.iterchildren("*"):
            kind = local(element)
            if kind not in TYPES:
                continue
            id = element.get("id", "")
            kept = own_element(element)
            yield BpmnNode(
                id,
                _own_type(kept) or TYPES[kind],
                read_names(element, self.culture),
                read_description(element),
                (element.get("calledElement") or "").strip() if kind == CALL else "",
                self.lane_of.get(id, None if kept is not None and kept.get("lane") == NO_LANE else pool),
                container,
                self.index.known(element.get("attachedToRef")) if kind == BOUNDARY else None,
                self.index.area(id),
            )
            if kind in SUB_PROCESSES:
                yield from self._nodes(element, id, None)

    def _flows(self) -> dict[tuple[str, str], BpmnFlow]:
        """Return the flows by their ends. A diagram has no second flow between two nodes and none to the same node."""
        nodes = {each.id for each in self.nodes}
        found: dict[tuple[str, str], BpmnFlow] = {}
        for id, element in self.index.elements.items():
            if local(element) == "sequenceFlow":
                source, target = (self.index.known(element.get(name)) or "" for name in ("sourceRef", "targetRef"))
                if source != target and nodes.issuperset((source, target)) and (source, target) not in found:
                    names = read_names(element, self.culture)
                    found[source, target] = BpmnFlow(id, source, target, names, self.index.waypoints(id))
        return found

    def unreadable(self) -> Iterator[SourceItem]:
        """Return the drawings that have no place: an export computes one."""
        parts: list[BpmnNode | BpmnLane] = [*self.nodes, *self.lanes]
        for each in parts:
            if each.area is None and (text := self.index.bounds_text(each.id)):
                yield SourceItem("Bounds", each.id, self._name(each.id), text)
        for flow in self.flows.values():
            if not self.index.line(flow.id) and (text := self.index.line_text(flow.id)):
                yield SourceItem("waypoint", flow.id, self._name(flow.id), text)

    def _name(self, id: str) -> str:
        return self.index.elements[id].get("name") or ""

    def kept(self) -> Iterator[SourceItem]:
        """Return the parts of the document that the diagram does not have."""
        drawn = {each.id for each in self.flows.values()} | {each.id for each in self.lanes}
        plain = {each.id for each in self.nodes if not each.description}
        for id, element in self.index.elements.items():
            kind = local(element)
            if kind in KEPT or (kind in ("sequenceFlow", "participant", "lane") and id not in drawn):
                yield SourceItem(kind, id, element.get("name") or "", _REASONS.get(kind, ""))
            if id in plain and element.findtext(bpmn("documentation"), "").strip():
                yield SourceItem("documentation", id, element.get("name") or "", _REASONS["documentation"])
            if kind == "sequenceFlow" and element.find(bpmn("conditionExpression")) is not None:
                yield SourceItem("conditionExpression", id, element.get("name") or "", "")
            extensions = element.find(EXTENSIONS)
            foreign = [] if extensions is None else [x for x in extensions.iterchildren("*") if x.tag != own("element")]
            if foreign:
                yield SourceItem("extensionElements", id, element.get("name") or "", _extended_by(foreign))


def _own_type(kept: etree._Element | None) -> str | None:
    type = None if kept is None else kept.get("type")
    return type if type in KINDS else None


_REASONS = {
    "sequenceFlow": "a diagram has one flow between two different nodes",
    "participant": "a pool without a process of its own",
    "lane": "a lane inside a sub-process",
    "documentation": "a text that is too long for a description",
}


def _extended_by(elements: Collection[etree._Element]) -> str:
    return ", ".join(sorted({etree.QName(each).namespace or "" for each in elements}))
