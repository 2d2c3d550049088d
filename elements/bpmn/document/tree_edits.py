"""Changes of the tree of a BPMN document that keep the order of the OMG schema. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from lxml import etree

from elements.bpmn.document.index import local
from elements.bpmn.document.parsing import declared, parse_stored
from elements.bpmn.document.vocabulary import ACTIVITIES, FIRST_CHILDREN, SUB_PROCESSES, TYPES, bpmn

FLOW_ELEMENTS = frozenset(
    {*TYPES, "sequenceFlow", "dataObject", "dataObjectReference", "dataStoreReference", "event", "flowElement"}
)
# Children of a process or a sub-process after its flow elements.
LAST_CHILDREN = frozenset({"association", "group", "textAnnotation", "artifact", "completionCondition"})
LAST_OF_PROCESS = frozenset(
    {"resourceRole", "performer", "humanPerformer", "potentialOwner", "correlationSubscription", "supports"}
)
# Children of a sub-process that are not nodes, but are drawn in it.
CONTENTS = (FLOW_ELEMENTS - TYPES.keys()) | {"association", "group", "textAnnotation"}
# Children and attributes that every flow node can have, and those that every activity can have.
OF_EVERY_NODE = frozenset({"documentation", "extensionElements", "incoming", "outgoing", "id", "name"})
OF_EVERY_ACTIVITY = frozenset(
    {"ioSpecification", "property", "dataInputAssociation", "dataOutputAssociation", "resourceRole", "performer"}
    | {"humanPerformer", "potentialOwner", "standardLoopCharacteristics", "multiInstanceLoopCharacteristics"}
    | {"isForCompensation", "startQuantity", "completionQuantity", "default"}
)


def declare_namespaces(root: etree._Element, wanted: Mapping[str, str]) -> etree._Element:
    """Return a root that declares namespaces, so that no new element declares one. It replaces the given one."""
    missing = {name: uri for name, uri in wanted.items() if uri not in root.nsmap.values() and name not in root.nsmap}
    if not missing:
        return root
    text = declared(etree.tostring(root.getroottree(), encoding="unicode"), missing)
    # Two trees of a large document would take too much memory.
    root.clear()
    return parse_stored(text).root


def remove(element: etree._Element) -> None:
    parent = element.getparent()
    if parent is not None:
        element.tail = None
        parent.remove(element)


def child_of(element: etree._Element, name: str, space: Callable[[str], str] = bpmn) -> etree._Element:
    """Return a child of an element, which is created if necessary."""
    found = element.find(space(name))
    if found is not None:
        return found
    if space is bpmn and name in FIRST_CHILDREN:
        return add_ordered(element, name)
    return etree.SubElement(element, space(name))


def add_ordered(parent: etree._Element, name: str, **attributes: str) -> etree._Element:
    """Add one of the first children of an element at its place."""
    added = etree.Element(bpmn(name), attributes)
    earlier = FIRST_CHILDREN[: FIRST_CHILDREN.index(name) + 1]
    before = next((child for child in reversed(parent) if local(child) in earlier), None)
    # A place by its number would be counted from the first child, of which there can be thousands.
    parent.insert(0, added) if before is None else before.addnext(added)
    return added


class ChildPlaces:
    """Adds children at the places that the schema has for them.

    It remembers where it has added the last one: an element can have hundreds of thousands of children, and looking at
    them for each new one would take hours.
    """

    def __init__(self) -> None:
        self._last: dict[tuple[etree._Element, str], etree._Element] = {}

    def add_first(self, parent: etree._Element, name: str, **attributes: str) -> etree._Element:
        """Do the same as `add_ordered`."""
        last = self._last.get((parent, name))
        if last is None or last.getparent() is not parent:
            added = add_ordered(parent, name, **attributes)
        else:
            added = etree.Element(bpmn(name), attributes)
            last.addnext(added)
            # The text behind the last one stays there.
            last.tail, added.tail = added.tail, None
        self._last[parent, name] = added
        return added

    def add_flow_element(self, scope: etree._Element, added: etree._Element | str, id: str = "") -> etree._Element:
        """Add a node or a flow to a process or a sub-process, or move one there."""
        element = etree.Element(bpmn(added), id=id) if isinstance(added, str) else added
        last = LAST_CHILDREN | (LAST_OF_PROCESS if local(scope) == "process" else frozenset())
        self._add_behind(
            scope, "flowElement", element, lambda child: isinstance(child.tag, str) and local(child) not in last
        )
        return element

    def move_up(self, element: etree._Element) -> None:
        """Move a child of a sub-process beside the sub-process, where the schema allows it."""
        around = element.getparent()
        scope = None if around is None else around.getparent()
        if scope is None:
            return
        if local(element) in LAST_CHILDREN:
            self._add_behind(scope, "artifact", element, lambda child: local(child) not in LAST_OF_PROCESS)
        else:
            self.add_flow_element(scope, element)

    def turn_into(self, element: etree._Element, kind: str) -> None:
        """Turn a flow node into one of another kind, and keep only what both kinds can have.

        If the new node is not a sub-process, the contents of the old one move beside it.
        """
        kept = OF_EVERY_NODE
        if {local(element), kind} <= ACTIVITIES:
            kept |= OF_EVERY_ACTIVITY
        if kind in SUB_PROCESSES:
            kept |= FLOW_ELEMENTS | CONTENTS | {"laneSet"}
        for child in list(element):
            if isinstance(child.tag, str) and local(child) not in kept:
                self.move_up(child) if local(child) in FLOW_ELEMENTS | CONTENTS else remove(child)
        element.tag = bpmn(kind)
        for name in list(element.attrib):
            if str(name) not in kept and not str(name).startswith("{"):
                del element.attrib[name]

    def _add_behind(
        self, scope: etree._Element, kind: str, element: etree._Element, is_before: Callable[[etree._Element], bool]
    ) -> None:
        element.tail = None
        last = self._last.get((scope, kind))
        if last is None or last is element or last.getparent() is not scope:
            last = next(filter(is_before, reversed(scope)), None)
        scope.insert(0, element) if last is None else last.addnext(element)
        self._last[scope, kind] = element


def lane_set_of(process: etree._Element) -> etree._Element:
    found = process.find(bpmn("laneSet"))
    if found is not None:
        return found
    added = etree.Element(bpmn("laneSet"))
    for child in process:
        if local(child) in FLOW_ELEMENTS | LAST_CHILDREN | LAST_OF_PROCESS:
            child.addprevious(added)
            return added
    process.append(added)
    return added


def add_root_element(root: etree._Element, name: str, id: str, *, first: bool = False) -> etree._Element:
    """Add a process or a collaboration before the diagrams; a collaboration comes before the processes."""
    added = etree.Element(bpmn(name), id=id)
    if name == "process":
        added.set("isExecutable", "false")
    after = root.find(bpmn("process")) if first else None
    if after is None:
        after = root.find("{*}BPMNDiagram")
    if after is None:
        root.append(added)
    else:
        after.addprevious(added)
    return added
