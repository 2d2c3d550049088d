"""Checks of a BPMN document, and the repair of references that name nothing (D284). Pure."""

from __future__ import annotations

from collections import deque

from django.utils.translation import gettext as _
from lxml import etree

from elements.bpmn.document.drawing_repairs import drop_drawings, repair_drawings
from elements.bpmn.document.index import DocumentIndex, local, semantic_elements
from elements.bpmn.document.model import SourceItem
from elements.bpmn.document.parsing import BpmnDocument
from elements.bpmn.document.tree_edits import remove
from elements.bpmn.document.vocabulary import (
    BOUNDARY,
    EVENTS,
    GATEWAYS,
    KEPT,
    PROCESSES,
    TYPES,
)
from elements.writing.findings import Findings
from repository_site.core.problems import Invalid
from repository_site.core.wording import printable

# References without which a flow or a boundary event has no meaning. A document with an unknown one is refused.
ENDS = {"sequenceFlow": ("sourceRef", "targetRef"), "messageFlow": ("sourceRef", "targetRef")}
# Parts of which a document has at least one. A collaboration can do without processes.
DRAWN = frozenset({*PROCESSES, "participant", *KEPT})
NEEDS_ID = frozenset({*TYPES, *PROCESSES, "sequenceFlow", "lane", "participant", "collaboration"})
# Attributes and elements that end like references, but name types or texts.
NO_REFERENCES = frozenset({"implementationRef", "resourceParameterRef", "evaluatesToTypeRef", "typeLanguage"})
TEXT_REFERENCES = frozenset({"incoming", "outgoing", "flowNodeRef", "supports"})


# Parts to which nothing refers. Some tools repeat their ids.
UNNAMED = frozenset(
    {"documentation", "extension", "ioSpecification", "laneSet", "childLaneSet", "participantMultiplicity", "dataState"}
    | {"condition", "timeDate", "timeCycle", "timeDuration", "loopCondition", "loopCardinality"}
    | {"completionCondition", "activationCondition", "performer", "humanPerformer", "potentialOwner", "resourceRole"}
)
UNNAMED_ENDINGS = ("Expression", "LoopCharacteristics", "EventDefinition")


def separate_ids(index: DocumentIndex) -> list[SourceItem]:
    """Give parts to which nothing refers, and copies of flows, an id of their own, if they repeat one; return them."""
    lost, refused = [], []
    numbers: dict[str, int] = {}
    for each in index.repeated:
        id = each.get("id") or ""
        plain = next((part for part in (each, index.elements[id]) if _is_unnamed(part)), None)
        if plain is None:
            plain = _copied_flow(index.elements[id], each)
        if plain is None:
            refused.append(each)
            continue
        # Counts on: thousands of parts may have the same id.
        number = numbers.get(id, 2)
        while f"{id}_{number}" in index.elements:
            number += 1
        numbers[id] = number
        index.elements[id] = index.elements[id] if plain is each else each
        index.elements[f"{id}_{number}"] = plain
        plain.set("id", f"{id}_{number}")
        lost.append(SourceItem(local(plain), id, "", f"id {id}_{number}"))
    index.repeated = refused
    return lost


def _is_unnamed(element: etree._Element) -> bool:
    kind = local(element)
    return kind in UNNAMED or (kind.endswith(UNNAMED_ENDINGS) and kind != "linkEventDefinition")


def _copied_flow(first: etree._Element, second: etree._Element) -> etree._Element | None:
    """Return the copy if two flows are the same. Some tools write a flow between pools into each process."""
    kinds = {local(first), local(second)}
    if not kinds <= ENDS.keys() or any(first.get(name) != second.get(name) for name in ("sourceRef", "targetRef")):
        return None
    return first if local(first) == "messageFlow" else second


def check_document(document: BpmnDocument, index: DocumentIndex, findings: Findings) -> None:
    """Note the problems of a document. Elements that need an id and have none get one."""
    for each in index.repeated:
        text = _("the id %(id)s occurs twice; give each element its own id")
        findings.add(Invalid, document.place(each), text % {"id": printable(each.get("id") or "", 80)})
    _add_ids(index)
    if not any(local(each) in DRAWN for each in index.elements.values()):
        text = _("the document has no process; draw one, or choose the file that contains it")
        findings.add(Invalid, document.place(document.root), text)
    for element in index.elements.values():
        for name in ENDS.get(local(element), ()):
            if element.get(name) and index.known(element.get(name)) is None:
                text = _("%(name)s names %(id)s, which does not exist; connect the flow, or remove it")
                words = {"name": name, "id": printable(element.get(name) or "", 80)}
                findings.add(Invalid, document.place(element), text % words)
        if local(element) == BOUNDARY:
            _check_host(document, index, element, findings)


def _check_host(document: BpmnDocument, index: DocumentIndex, element: etree._Element, findings: Findings) -> None:
    """A host is an activity beside the event, so that hosts and containers cannot form a cycle."""
    named = element.get("attachedToRef")
    if not named:
        return
    host = index.find(named)
    if host is None:
        text = _("attachedToRef names %(id)s, which does not exist; attach the event to an activity")
    elif local(host) not in TYPES or local(host) in EVENTS | GATEWAYS or host in element.iterancestors():
        text = _("the event is attached to %(id)s, which is not an activity; attach it to a task or a sub-process")
    else:
        return
    findings.add(Invalid, document.place(element), text % {"id": printable(named, 80)})


def _add_ids(index: DocumentIndex) -> None:
    """The new ids depend on the document alone, so that the next import of the same file finds them again."""
    number = 0
    for element in index.nameless:
        if local(element) in NEEDS_ID:
            id = ""
            while not id or id in index.elements:
                number += 1
                id = f"{local(element)}_without_id_{number}"
            element.set("id", id)
            index.elements[id] = element


def drop_dangling(index: DocumentIndex) -> list[SourceItem]:
    """Remove references to elements that do not exist, and drawings of them; return what was removed.

    References lose a prefix, which modelling tools do not resolve.
    """
    cleaning = _Cleaning(index)
    cleaning.run()
    left = DocumentIndex(index.root)
    lost = [*cleaning.lost, *drop_drawings(left)]
    return [*lost, *repair_drawings(DocumentIndex(index.root))]


class _Cleaning:
    """Looks at each element once, and again at those that refer to something removed: chains of references are common
    enough that a second look at everything would take minutes."""

    def __init__(self, index: DocumentIndex) -> None:
        self.index = index
        self.lost: list[SourceItem] = []
        self.waiting = deque(semantic_elements(index.root))
        self.gone: set[etree._Element] = set()
        self.referring: dict[str, list[etree._Element]] = {}
        """Elements by the ids to which they refer."""

    def run(self) -> None:
        while self.waiting:
            element = self.waiting.popleft()
            if element not in self.gone:
                self._check_attributes(element)
            if element not in self.gone and not len(element) and _is_text_reference(local(element), element):
                self._check_text(element)

    def _check_attributes(self, element: etree._Element) -> None:
        kind = local(element)
        for name in [str(each) for each in element.attrib if _is_reference(str(each), element)]:
            value = element.get(name) or ""
            if not value.strip():
                # A flow that is not connected.
                del element.attrib[name]
                continue
            known = self._resolve(element, value)
            if known is not None:
                element.set(name, known)
                continue
            self.lost.append(SourceItem(kind, element.get("id") or "", element.get("name") or "", f"{name} {value}"))
            if name in ENDS.get(kind, ()) or (kind == "association" and name.endswith("Ref")):
                self._remove(element)
                return
            del element.attrib[name]

    def _check_text(self, element: etree._Element) -> None:
        value = (element.text or "").strip()
        known = self._resolve(element, value)
        if known is None:
            parent = element.getparent()
            owner = "" if parent is None else parent.get("id") or ""
            self.lost.append(SourceItem(local(element), owner, "", value))
            self._remove(element)
        elif known != value:
            element.text = known

    def _resolve(self, element: etree._Element, value: str) -> str | None:
        """Return a reference as it should be; None if it names nothing."""
        known = self.index.known(value)
        if known is None:
            return value if self.index.is_elsewhere(element, value) else None
        self.referring.setdefault(known, []).append(element)
        return known

    def _remove(self, element: etree._Element) -> None:
        for each in element.iter("*"):
            self.gone.add(each)
            id = each.get("id") or ""
            if self.index.elements.get(id) is each:
                del self.index.elements[id]
                self.waiting += self.referring.pop(id, ())
        remove(element)


def _is_reference(name: str, element: etree._Element) -> bool:
    if name in NO_REFERENCES or name.startswith("{") or (name == "structureRef" and local(element) == "itemDefinition"):
        return False
    return name.endswith("Ref") or (name == "default" and local(element) in TYPES)


def _is_text_reference(kind: str, element: etree._Element) -> bool:
    if kind in ("source", "target"):
        parent = element.getparent()
        return parent is not None and local(parent) == "linkEventDefinition"
    return kind in TEXT_REFERENCES or (kind.endswith(("Ref", "Refs")) and kind not in NO_REFERENCES)
