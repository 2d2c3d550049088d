"""Repair of the drawings of a BPMN document: what they show, and what they refer to (D284, D320). Pure."""

from __future__ import annotations

from collections.abc import Iterator

from lxml import etree

from elements.bpmn.document.index import DocumentIndex, local
from elements.bpmn.document.model import SourceItem
from elements.bpmn.document.tree_edits import remove
from elements.bpmn.document.vocabulary import PROCESSES, bpmn, di

DRAWINGS = ("BPMNDiagram", "BPMNPlane", "BPMNShape", "BPMNEdge")
LINKS = ("sourceElement", "targetElement", "choreographyActivityShape", "labelStyle")
"""Attributes of a drawing that name another one."""


def drop_drawings(index: DocumentIndex) -> Iterator[SourceItem]:
    """Remove drawings of unknown elements, and return them."""
    for drawing in list(index.root.iter(di("BPMNShape"), di("BPMNEdge"))):
        named = drawing.get("bpmnElement") or ""
        known = index.known(named)
        if known:
            drawing.set("bpmnElement", known)
        elif named and not index.is_elsewhere(drawing, named):
            remove(drawing)
            yield SourceItem(_kind(drawing), drawing.get("id") or "", "", f"bpmnElement {named}")


def repair_drawings(index: DocumentIndex) -> Iterator[SourceItem]:
    """Connect drawings with what they show; return what they lose."""
    _draw_pools(index)
    yield from _name_subjects(index)
    yield from _separate(index)
    yield from _drop_links(index)


def _draw_pools(index: DocumentIndex) -> None:
    """Some tools draw a pool as its process."""
    for pool in index.root.iterfind(f"{bpmn('collaboration')}/{bpmn('participant')}"):
        id, process = pool.get("id") or "", index.known(pool.get("processRef"))
        if process in index.shapes and id not in index.shapes:
            index.shapes[id] = index.shapes.pop(process)
            index.shapes[id].set("bpmnElement", id)


def _name_subjects(index: DocumentIndex) -> Iterator[SourceItem]:
    """Let planes that name nothing name what they show. Some tools name the definitions."""
    for plane in index.planes:
        named = plane.get("bpmnElement") or ""
        known = index.known(named)
        if known is None and (not named or not index.is_elsewhere(plane, named)):
            known = _subject(index, plane)
            if named:
                yield SourceItem(_kind(plane), plane.get("id") or "", "", f"bpmnElement {named}")
        if known:
            plane.set("bpmnElement", known)
        elif known is not None:
            plane.attrib.pop("bpmnElement", None)


def _subject(index: DocumentIndex, plane: etree._Element) -> str:
    """Return the collaboration or the process that a plane shows."""
    shown = [found for each in plane if (found := index.find(each.get("bpmnElement"))) is not None]
    for kinds in (("collaboration",), PROCESSES):
        for element in shown:
            around = next((each for each in element.iterancestors() if local(each) in kinds), None)
            if around is not None:
                return around.get("id") or ""
    first = next(index.root.iterchildren(*(bpmn(each) for each in ("collaboration", *PROCESSES))), None)
    return "" if first is None else first.get("id") or ""


def _separate(index: DocumentIndex) -> Iterator[SourceItem]:
    """Give drawings ids of their own; some tools repeat those of elements or of other diagrams."""
    seen = set(index.elements)
    for number, drawing in enumerate(index.root.iter(*(di(each) for each in DRAWINGS))):
        id = drawing.get("id")
        if id and id in seen:
            while id in seen:
                id = f"{id}_{number}"
            yield SourceItem(_kind(drawing), drawing.get("id") or "", "", f"id {id}")
            drawing.set("id", id)
        if id:
            seen.add(id)


def _drop_links(index: DocumentIndex) -> Iterator[SourceItem]:
    """Remove the links of drawings to drawings and styles that do not exist."""
    drawings = list(index.root.iter(*(di(each) for each in (*DRAWINGS, "BPMNLabel", "BPMNLabelStyle"))))
    known = {each.get("id") for each in drawings} | index.elements.keys()
    for drawing in drawings:
        for name in LINKS:
            value = drawing.get(name)
            if value is None or value in known:
                continue
            if value.rpartition(":")[2] in known:
                drawing.set(name, value.rpartition(":")[2])
            else:
                del drawing.attrib[name]
                yield SourceItem(_kind(drawing), drawing.get("id") or "", "", f"{name} {value}")


def _kind(drawing: etree._Element) -> str:
    return str(etree.QName(drawing).localname)
