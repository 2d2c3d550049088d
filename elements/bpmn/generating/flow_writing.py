"""Sequence flows of a BPMN document, brought in line with those of a diagram (D287). Pure."""

from __future__ import annotations

from collections.abc import Sequence, Set

from lxml import etree

from elements.bpmn.document.index import DocumentIndex, local
from elements.bpmn.document.model import BpmnFlow
from elements.bpmn.document.texts import TextWriting
from elements.bpmn.document.tree_edits import ChildPlaces, remove
from elements.bpmn.document.vocabulary import TYPES, bpmn

FLOW = bpmn("sequenceFlow")
ENDS = {bpmn("outgoing"): "sourceRef", bpmn("incoming"): "targetRef"}
"""The child of a node that names a flow, and the attribute of the flow that names the node."""


class FlowWriting:
    """`before` are the flows of the document, `wanted` those of the diagram."""

    def __init__(
        self,
        index: DocumentIndex,
        before: Sequence[BpmnFlow],
        wanted: Sequence[BpmnFlow],
        texts: TextWriting,
        places: ChildPlaces,
    ) -> None:
        self.root = index.root
        self.index = index
        self.before = {each.id: each for each in before}
        self.wanted = {each.id: each for each in wanted}
        self.texts = texts
        self.places = places
        self.named: dict[tuple[object, etree._Element | None, str], list[etree._Element]] = {}
        """Children of nodes that name a flow, by their tag, the node and the flow."""

    @property
    def elements(self) -> dict[str, etree._Element]:
        return self.index.elements

    def move(self, moved: Set[str], gone: Set[str]) -> None:
        """Move flows to the process or sub-process of their source, if the source has moved or their own is removed."""
        for element in list(self.root.iter(FLOW)):
            wanted = self.wanted.get(element.get("id") or "")
            source = self.index.known(wanted.source if wanted else element.get("sourceRef"))
            if source is None or source in gone:
                continue
            scope = self.elements[source].getparent()
            is_lost = any(each.get("id") in gone for each in element.iterancestors())
            if scope is not None and (is_lost or (source in moved and element.getparent() is not scope)):
                self.places.add_flow_element(scope, element)

    def apply(self) -> None:
        self._remove()
        for each in self.root.iter(*ENDS):
            self.named.setdefault((each.tag, each.getparent(), (each.text or "").strip()), []).append(each)
        for flow in self.wanted.values():
            self._write(flow, self.before.get(flow.id))
        self._name_in_nodes()

    def _remove(self) -> None:
        """Remove flows that the diagram does not have any more, and other flows between the same nodes."""
        missing = self.before.keys() - self.wanted.keys()
        gone = {(self.before[id].source, self.before[id].target) for id in missing}
        gone -= {(each.source, each.target) for each in self.wanted.values()}
        for element in list(self.root.iter(FLOW)):
            ends = tuple(self.index.known(element.get(name)) for name in ENDS.values())
            if ends in gone or element.get("id") in missing:
                remove(element)

    def _write(self, flow: BpmnFlow, old: BpmnFlow | None) -> None:
        if old is None:
            scope = self.elements[flow.source].getparent()
            scope = self.root if scope is None else scope
            self.elements[flow.id] = self.places.add_flow_element(scope, "sequenceFlow", flow.id)
        element = self.elements[flow.id]
        if old is None or (old.source, old.target) != (flow.source, flow.target):
            former = (old.source, old.target) if old else (None, None)
            for (tag, name), end, before in zip(ENDS.items(), (flow.source, flow.target), former, strict=True):
                element.set(name, end)
                self._connect(flow.id, tag, end, before)
        if self.texts.differ(old.names if old else None, flow.names):
            self.texts.name(element, flow.names)

    def _connect(self, flow: str, tag: str, end: str, former: str | None) -> None:
        if former in self.elements:
            for each in self.named.pop((tag, self.elements[former], flow), ()):
                remove(each)
        self._name(flow, tag, self.elements[end])

    def _name(self, flow: str, tag: str, node: etree._Element) -> None:
        added = self.places.add_first(node, etree.QName(tag).localname)
        added.text = flow
        self.named.setdefault((tag, node, flow), []).append(added)

    def _name_in_nodes(self) -> None:
        """Name each flow in the nodes that it connects. BPMN requires this, but not all tools do it."""
        for flow in self.root.iter(FLOW):
            id = flow.get("id") or ""
            for tag, end in ENDS.items():
                node = self.index.find(flow.get(end))
                if node is not None and local(node) in TYPES and (tag, node, id) not in self.named:
                    self._name(id, tag, node)
