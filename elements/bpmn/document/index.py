"""Elements of a BPMN document by id, and their drawings. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from lxml import etree

from elements.bpmn.document.model import Area, Waypoint
from elements.bpmn.document.vocabulary import DC, DD, MODEL, bpmn, di, own
from elements.diagrams.geometry import FARTHEST, MOST_POINTS, SIDES, plain_number

EXTENSIONS = bpmn("extensionElements")


def local(element: etree._Element) -> str:
    """Return the name of a BPMN element without its namespace, or nothing for elements of other namespaces."""
    space, _, name = str(element.tag)[1:].rpartition("}") if isinstance(element.tag, str) else ("", "", "")
    return name if space == MODEL else ""


def semantic_elements(root: etree._Element) -> Iterator[etree._Element]:
    """Return the BPMN elements below and with a root, without those inside extensions, in document order."""
    for child in root.iterchildren("*"):
        if child.tag != EXTENSIONS and local(child):
            yield child
            yield from semantic_elements(child)


class DocumentIndex:
    """`shapes` and `edges` are the first drawing of each element: a document can have several diagrams."""

    def __init__(self, root: etree._Element) -> None:
        self.root = root
        self.elements: dict[str, etree._Element] = {}
        self.repeated: list[etree._Element] = []
        self.nameless: list[etree._Element] = []
        for each in semantic_elements(root):
            id = each.get("id")
            if not id:
                self.nameless.append(each)
            elif id in self.elements:
                self.repeated.append(each)
            else:
                self.elements[id] = each
        self.shapes: dict[str, etree._Element] = {}
        self.edges: dict[str, etree._Element] = {}
        self.planes = list(root.iter(di("BPMNPlane")))
        for drawings, tag in ((self.shapes, "BPMNShape"), (self.edges, "BPMNEdge")):
            for each in root.iter(di(tag)):
                id = self.known(each.get("bpmnElement")) or ""
                drawings.setdefault(id, each)

    def known(self, reference: str | None) -> str | None:
        """Return the id that a reference, with or without a prefix, names; None if there is no such element."""
        if not reference:
            return None
        for id in (reference.strip(), reference.strip().rpartition(":")[2]):
            if id in self.elements:
                return id
        return None

    def find(self, reference: str | None) -> etree._Element | None:
        id = self.known(reference)
        return self.elements[id] if id else None

    def is_elsewhere(self, element: etree._Element, reference: str) -> bool:
        """Return whether a reference names something of another document, by the namespace of its prefix."""
        prefix, colon, _name = reference.strip().partition(":")
        space = element.nsmap.get(prefix) if colon else None
        return space is not None and space not in (self.root.get("targetNamespace"), MODEL)

    def area(self, id: str) -> Area | None:
        """Return the area that somebody has drawn; None for a computed one."""
        shape = self.shapes.get(id)
        bounds = None if shape is None else shape.find(f"{{{DC}}}Bounds")
        if shape is None or bounds is None or is_computed(shape):
            return None
        x, y, width, height = (_number(bounds.get(name)) for name in SIDES)
        if x is None or y is None or width is None or height is None or width < 0 or height < 0:
            return None
        return Area(x, y, width, height)

    def waypoints(self, id: str) -> tuple[Waypoint, ...] | None:
        points = self.line(id)
        return points if 1 < len(points) <= MOST_POINTS else None

    def line(self, id: str) -> tuple[Waypoint, ...]:
        """Return the course that somebody has drawn, with any number of points; empty for a computed one."""
        edge = self.edges.get(id)
        if edge is None or is_computed(edge):
            return ()
        found = [(_number(each.get("x")), _number(each.get("y"))) for each in edge.findall(f"{{{DD}}}waypoint")]
        points = tuple((x, y) for x, y in found if x is not None and y is not None)
        return points if len(points) > 1 else ()

    def bounds_text(self, id: str) -> str:
        """Return the bounds of a drawing as the document has them; nothing for a computed drawing."""
        return _place(self.shapes.get(id), f"{{{DC}}}Bounds")

    def line_text(self, id: str) -> str:
        return _place(self.edges.get(id), f"{{{DD}}}waypoint")


def is_computed(drawing: etree._Element) -> bool:
    """Return whether an export computed a drawing, and nobody has moved it since."""
    mark = drawing.get(own("computed"))
    return mark is not None and mark == computed_mark(drawing)


def computed_mark(drawing: etree._Element) -> str:
    return " ".join(filter(None, (_numbers(drawing, f"{{{space}}}{name}") for space, name in PLACES)))


PLACES = ((DC, "Bounds"), (DD, "waypoint"))


def _numbers(drawing: etree._Element, tag: str) -> str:
    return " ".join(each.get(name, "") for each in drawing.iterfind(tag) for name in SIDES if name in each.attrib)


def _place(drawing: etree._Element | None, tag: str) -> str:
    return "" if drawing is None or is_computed(drawing) else _numbers(drawing, tag)


def _number(text: str | None) -> float | None:
    """Return a coordinate, if a picture can have it. Some tools write a comma."""
    try:
        found = float((text or "").replace(",", "."))
    except ValueError:
        return None
    return plain_number(found) if abs(found) <= FARTHEST else None
