"""Random diagrams in the form of BPMN, and random documents as modelling tools write them."""

from __future__ import annotations

from dataclasses import replace
from xml.sax.saxutils import escape

from hypothesis import strategies as st
from lxml import etree

from elements.bpmn.document.model import Area, BpmnFlow, BpmnLane, BpmnModel, BpmnNode
from elements.bpmn.document.vocabulary import CALL, EVENT_TYPES, KINDS, MODEL, PLACEHOLDER, TASK, TYPES, bpmn, own
from elements.bpmn.generating.writing import ExportedProcess, write
from elements.values.html import DECLARATION

ENGLISH, GERMAN = "1033", "1031"
CULTURES = (ENGLISH, GERMAN)
SUBJECT = ExportedProcess("Process_of_the_test", {ENGLISH: "Order parts", GERMAN: "Teile bestellen"})
VENDOR = "http://vendor.example/bpmn"

texts = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc", "Cn")), min_size=1, max_size=12).filter(
    lambda text: text.strip()
)
names = st.dictionaries(st.sampled_from(CULTURES), texts, max_size=2)
numbers = st.integers(-500, 3000) | st.floats(-500, 3000).map(lambda number: round(number, 2))
areas = st.builds(Area, numbers, numbers, st.integers(1, 900), st.integers(1, 900))
descriptions = st.just("") | texts.map(lambda text: DECLARATION + escape(text.strip()))


@st.composite
def lanes_below(draw: st.DrawFn, prefix: str, parent: str | None, depth: int) -> list[BpmnLane]:
    found: list[BpmnLane] = []
    for number in range(draw(st.integers(0, 2))):
        lane = BpmnLane(f"{prefix}_{number}", draw(names), parent)
        found.append(lane)
        if depth:
            found += draw(lanes_below(lane.id, lane.id, depth - 1))
    return found


@st.composite
def all_lanes(draw: st.DrawFn) -> list[BpmnLane]:
    found = draw(lanes_below("Lane", None, 1))
    for number in range(draw(st.integers(0, 2))):
        pool = BpmnLane(f"Pool_{number}", draw(names), None, is_pool=True)
        found += [pool, *draw(lanes_below(f"LaneOf{number}", pool.id, 1))]
    return found


@st.composite
def models(draw: st.DrawFn, most: int = 8) -> BpmnModel:
    lanes = draw(all_lanes())
    drawn = draw(st.sampled_from(("all", "none", "some")))
    nodes: list[BpmnNode] = []
    for number in range(draw(st.integers(0, most))):
        nodes.append(draw(_node(f"Node_{number}", nodes, lanes)))
    pairs = [(one.id, two.id) for one in nodes for two in nodes if one is not two]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=2 * most)) if pairs else []
    flows = [BpmnFlow(f"Flow_{number}", *pair, draw(names)) for number, pair in enumerate(chosen)]
    is_drawn = st.just(drawn == "all") if drawn != "some" else st.booleans()
    waypoints = st.lists(st.tuples(numbers, numbers), min_size=2, max_size=4).map(tuple)
    return BpmnModel(
        [replace(each, area=draw(areas) if draw(is_drawn) else None) for each in nodes],
        [replace(each, waypoints=draw(waypoints) if draw(is_drawn) else None) for each in flows],
        [replace(each, area=draw(areas) if draw(is_drawn) else None) for each in lanes],
    )


@st.composite
def _node(draw: st.DrawFn, id: str, before: list[BpmnNode], lanes: list[BpmnLane]) -> BpmnNode:
    type = draw(st.sampled_from(sorted(KINDS)))
    tasks = [each for each in before if each.type == TASK]
    container = draw(st.sampled_from([None, None, *(each.id for each in tasks)]))
    beside = [each.id for each in tasks if each.container == container]
    host = draw(st.sampled_from([None, *beside])) if type == "evIntermediate" else None
    # Only nodes outside of sub-processes belong to a pool itself.
    homes = [None, *(each.id for each in lanes if not (container and each.is_pool))]
    return BpmnNode(
        id,
        type,
        draw(names),
        draw(descriptions),
        draw(st.sampled_from(["", "Called", "Process_1"])) if type == PLACEHOLDER else "",
        draw(st.sampled_from(homes)),
        container,
        host,
    )


@st.composite
def documents(draw: st.DrawFn) -> bytes:
    """Return a document as a modelling tool writes it: all kinds of nodes, and much that diagrams cannot represent."""
    root = etree.fromstring(write(None, draw(models()), SUBJECT, ENGLISH, CULTURES))
    root.attrib.clear()
    root.set("targetNamespace", VENDOR)
    for each in root.iter("*"):
        for name in (own("computed"), "computed"):
            each.attrib.pop(name, None)
    for element in [each for each in root.iter("*") if etree.QName(each).localname in TYPES]:
        _vary(draw, element)
    for process in root.findall(bpmn("process")):
        _add_artifacts(draw, root, process)
    _add_message_flow(draw, root)
    text = etree.tostring(root, encoding="unicode")
    if draw(st.booleans()):
        text = text.replace("bpmn:", "").replace("xmlns:bpmn=", "xmlns=")
    encoding = draw(st.sampled_from(["UTF-8", "UTF-16", "ISO-8859-1"]))
    return f'<?xml version="1.0" encoding="{encoding}"?>{text}'.encode(encoding, "xmlcharrefreplace")


def _vary(draw: st.DrawFn, element: etree._Element) -> None:
    kind = etree.QName(element).localname
    others = [each for each, type in TYPES.items() if type == TYPES[kind] and "horeography" not in each]
    has_condition = element.find(bpmn("conditionalEventDefinition")) is not None
    is_plain = kind not in ("subProcess", "boundaryEvent", CALL) and not has_condition
    fitting = [each for each in others if each not in ("boundaryEvent", "implicitThrowEvent")]
    if is_plain:
        element.tag = bpmn(draw(st.sampled_from(fitting)))
    if "Event" in kind and not has_condition and draw(st.booleans()):
        etree.SubElement(element, bpmn(draw(st.sampled_from(["timerEventDefinition", "messageEventDefinition"]))))
    if draw(st.booleans()):
        extensions = element.find(bpmn("extensionElements"))
        if extensions is None:
            extensions = etree.Element(bpmn("extensionElements"))
            documentation = element.find(bpmn("documentation"))
            element.insert(0, extensions) if documentation is None else documentation.addnext(extensions)
        etree.SubElement(extensions, f"{{{VENDOR}}}colour", value=draw(st.sampled_from(["red", "blue"])))


def _add_artifacts(draw: st.DrawFn, root: etree._Element, process: etree._Element) -> None:
    id, nodes = process.get("id"), [each.get("id") for each in process if etree.QName(each).localname in TYPES]
    if draw(st.booleans()):
        etree.SubElement(process, bpmn("dataObject"), id=f"Data_{id}")
        etree.SubElement(process, bpmn("dataObjectReference"), id=f"DataReference_{id}", dataObjectRef=f"Data_{id}")
    has_loop, has_note = draw(st.tuples(st.booleans(), st.booleans()))
    if nodes and has_loop:
        etree.SubElement(
            process, bpmn("sequenceFlow"), id=f"Loop_{id}", sourceRef=nodes[0] or "", targetRef=nodes[0] or ""
        )
    if nodes and has_note:
        note = etree.SubElement(process, bpmn("textAnnotation"), id=f"Note_{id}")
        etree.SubElement(note, bpmn("text")).text = draw(texts)
        etree.SubElement(
            process, bpmn("association"), id=f"Association_{id}", sourceRef=nodes[0] or "", targetRef=f"Note_{id}"
        )


def _add_message_flow(draw: st.DrawFn, root: etree._Element) -> None:
    collaboration = root.find(bpmn("collaboration"))
    tasks = root.xpath("//m:process//m:task/@id", namespaces={"m": MODEL})
    if collaboration is None or not tasks or not draw(st.booleans()):
        return
    last = collaboration.findall(bpmn("participant"))[-1]
    partner = etree.Element(bpmn("participant"), id="Partner", name=draw(texts))
    last.addnext(partner)
    message = etree.Element(bpmn("messageFlow"), id="Message", sourceRef=str(tasks[0]), targetRef="Partner")
    partner.addnext(message)


@st.composite
def edited(draw: st.DrawFn, model: BpmnModel) -> BpmnModel:
    """Return a diagram after some edits of people."""
    for number in range(draw(st.integers(1, 4))):
        model = draw(draw(st.sampled_from(_EDITS))(model, f"New_{number}"))
    return model


@st.composite
def _renamed(draw: st.DrawFn, model: BpmnModel, _id: str) -> BpmnModel:
    nodes = [replace(each, names=draw(names)) if draw(st.booleans()) else each for each in model.nodes]
    flows = [replace(each, names=draw(names)) if draw(st.booleans()) else each for each in model.flows]
    lanes = [replace(each, names=draw(names)) if draw(st.booleans()) else each for each in model.lanes]
    return BpmnModel(nodes, flows, lanes)


@st.composite
def _moved(draw: st.DrawFn, model: BpmnModel, _id: str) -> BpmnModel:
    nodes = [replace(each, area=draw(areas)) if draw(st.booleans()) else each for each in model.nodes]
    moved = {new.id for old, new in zip(model.nodes, nodes, strict=True) if old.area != new.area}
    # A line that was drawn for other places is computed again.
    flows = [replace(each, waypoints=None) if {each.source, each.target} & moved else each for each in model.flows]
    return BpmnModel(nodes, flows, model.lanes)


@st.composite
def _with_node(draw: st.DrawFn, model: BpmnModel, id: str) -> BpmnModel:
    node = draw(_node(id, list(model.nodes), list(model.lanes)))
    others = [each.id for each in model.nodes]
    flows = [BpmnFlow(f"To_{id}", draw(st.sampled_from(others)), id, draw(names))] if others else []
    return BpmnModel([*model.nodes, node], [*model.flows, *flows], model.lanes)


@st.composite
def _without_node(draw: st.DrawFn, model: BpmnModel, _id: str) -> BpmnModel:
    """Remove a node as an erased shape is removed: its contents move up, and events are no longer attached to it."""
    if not model.nodes:
        return model
    gone = draw(st.sampled_from(list(model.nodes)))
    nodes = [
        replace(
            each,
            container=gone.container if each.container == gone.id else each.container,
            host=None if each.host == gone.id else each.host,
        )
        for each in model.nodes
        if each is not gone
    ]
    flows = [each for each in model.flows if gone.id not in (each.source, each.target)]
    return BpmnModel(nodes, flows, model.lanes)


@st.composite
def _rewired(draw: st.DrawFn, model: BpmnModel, id: str) -> BpmnModel:
    flows = [each for each in model.flows if draw(st.booleans())]
    known = {(each.source, each.target) for each in flows}
    pairs = [(a.id, b.id) for a in model.nodes for b in model.nodes if a is not b and (a.id, b.id) not in known]
    if pairs:
        flows.append(BpmnFlow(f"Flow_{id}", *draw(st.sampled_from(pairs)), draw(names)))
    return BpmnModel(model.nodes, flows, model.lanes)


@st.composite
def _regrouped(draw: st.DrawFn, model: BpmnModel, id: str) -> BpmnModel:
    """Add a lane, and change the lanes of nodes outside of sub-processes."""
    parent = draw(st.sampled_from([None, *(each.id for each in model.lanes)]))
    lanes = [*model.lanes, BpmnLane(f"Lane_{id}", draw(names), parent, is_pool=parent is None and draw(st.booleans()))]
    homes = [None, *(each.id for each in lanes)]
    nodes = [
        replace(each, lane=draw(st.sampled_from(homes))) if each.container is None and draw(st.booleans()) else each
        for each in model.nodes
    ]
    return BpmnModel(nodes, model.flows, lanes)


@st.composite
def _without_lane(draw: st.DrawFn, model: BpmnModel, _id: str) -> BpmnModel:
    leaves = [each for each in model.lanes if not any(other.parent == each.id for other in model.lanes)]
    if not leaves:
        return model
    gone = draw(st.sampled_from(leaves))
    nodes = [replace(each, lane=None) if each.lane == gone.id else each for each in model.nodes]
    return BpmnModel(nodes, model.flows, [each for each in model.lanes if each is not gone])


@st.composite
def _retyped(draw: st.DrawFn, model: BpmnModel, _id: str) -> BpmnModel:
    """Change types. Events are attached to activities, so other types lose their events."""
    nodes = [
        replace(each, type=draw(st.sampled_from(sorted(KINDS)))) if draw(st.booleans()) else each
        for each in model.nodes
    ]
    tasks = {each.id for each in nodes if each.type in (TASK, PLACEHOLDER)}
    return BpmnModel(
        [
            replace(
                each,
                called=each.called if each.type == PLACEHOLDER else "",
                host=each.host if each.host in tasks and each.type in EVENT_TYPES else None,
            )
            for each in nodes
        ],
        model.flows,
        model.lanes,
    )


@st.composite
def _nested(draw: st.DrawFn, model: BpmnModel, _id: str) -> BpmnModel:
    """Move a node with its contents into another task, or out of its own, or attach an event to another task."""
    if not model.nodes:
        return model
    node = draw(st.sampled_from(list(model.nodes)))
    inside = {node.id}
    for _ in model.nodes:
        inside |= {each.id for each in model.nodes if each.container in inside}
    tasks = [each for each in model.nodes if each.type == TASK and each.id not in inside]
    container = draw(st.sampled_from([None, *(each.id for each in tasks)]))
    pools = {each.id for each in model.lanes if each.is_pool}
    lane = None if container and node.lane in pools else node.lane
    hosts = [None, *(each.id for each in tasks if each.container == container)]
    host = draw(st.sampled_from(hosts)) if node.type in EVENT_TYPES else None
    moved = replace(node, container=container, lane=lane, host=host)
    return BpmnModel([moved if each is node else each for each in model.nodes], model.flows, model.lanes)


@st.composite
def _rehomed(draw: st.DrawFn, model: BpmnModel, _id: str) -> BpmnModel:
    """Move a lane into another one, or out of its own; or turn it into a pool, or a pool into a lane."""
    if not model.lanes:
        return model
    lane = draw(st.sampled_from(list(model.lanes)))
    inside = {lane.id}
    for _ in model.lanes:
        inside |= {each.id for each in model.lanes if each.parent in inside}
    parent = draw(st.sampled_from([None, *(each.id for each in model.lanes if each.id not in inside)]))
    moved = replace(lane, parent=parent, is_pool=parent is None and draw(st.booleans()))
    nodes = [
        replace(each, lane=None) if moved.is_pool and each.container and each.lane == lane.id else each
        for each in model.nodes
    ]
    return BpmnModel(nodes, model.flows, [moved if each is lane else each for each in model.lanes])


@st.composite
def _without_pool(draw: st.DrawFn, model: BpmnModel, _id: str) -> BpmnModel:
    """Remove a pool and keep its lanes."""
    pools = [each for each in model.lanes if each.is_pool]
    if not pools:
        return model
    gone = draw(st.sampled_from(pools))
    nodes = [replace(each, lane=None) if each.lane == gone.id else each for each in model.nodes]
    lanes = [replace(each, parent=None) if each.parent == gone.id else each for each in model.lanes if each is not gone]
    return BpmnModel(nodes, model.flows, lanes)


_EDITS = (
    _renamed, _moved, _with_node, _without_node, _rewired, _regrouped, _without_lane,
    _retyped, _nested, _rehomed, _without_pool,
)  # fmt: skip
