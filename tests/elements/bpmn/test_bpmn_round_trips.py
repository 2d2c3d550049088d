"""Round trips of random diagrams and documents, judged by the OMG schemas."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lxml import etree

from elements.bpmn.document.model import BpmnFlow, BpmnLane, BpmnModel, BpmnNode
from elements.bpmn.document.parsing import parse_stored
from elements.bpmn.document.reading import read
from elements.bpmn.document.vocabulary import bpmn, di, own
from elements.bpmn.generating.writing import write
from elements.values.html import DECLARATION
from tests.elements.bpmn.documents import definitions
from tests.elements.bpmn.generated import CULTURES, ENGLISH, GERMAN, SUBJECT, documents, edited, models
from tests.elements.bpmn.omg_schema import assert_valid, unordered
from tests.scale import scaled


@pytest.mark.long
@settings(max_examples=scaled(200))
@given(models())
@example(BpmnModel())
def test_diagram_is_equal_after_a_new_document(model: BpmnModel) -> None:
    document = write(None, model, SUBJECT, ENGLISH, CULTURES)
    assert_valid(document)
    assert unordered(read(document, CULTURES, ENGLISH).model) == unordered(model)


@pytest.mark.long
@settings(max_examples=scaled(200))
@given(models())
def test_culture_of_the_document_wins_over_the_requested_one(model: BpmnModel) -> None:
    document = write(None, model, SUBJECT, GERMAN, CULTURES)
    assert unordered(read(document, CULTURES, ENGLISH).model) == unordered(model)


@pytest.mark.long
@settings(max_examples=scaled(200))
@given(documents())
def test_document_is_the_same_after_import_and_export(document: bytes) -> None:
    found = read(document, CULTURES, ENGLISH)
    assert found.lost == ()
    exported = write(parse_stored(found.document.text()), found.model, SUBJECT, ENGLISH, CULTURES)
    assert_valid(exported)
    assert _canonical(exported) == _canonical(document)


@pytest.mark.long
@settings(max_examples=scaled(200))
@given(documents(), st.data())
def test_export_has_every_change_since_the_import(document: bytes, data: st.DataObject) -> None:
    found = read(document, CULTURES, ENGLISH)
    wanted = data.draw(edited(found.model))
    exported = write(parse_stored(found.document.text()), wanted, SUBJECT, ENGLISH, CULTURES)
    assert_valid(exported)
    again = read(exported, CULTURES, ENGLISH)
    assert again.lost == ()
    assert unordered(again.model) == unordered(wanted)
    assert_drawable(etree.fromstring(exported), wanted)


def assert_drawable(root: etree._Element, model: BpmnModel) -> None:
    """Tools draw only what is in the process of its lane, and only processes of pools if there are any."""
    elements = {each.get("id"): each for each in root.iter("*") if isinstance(each.tag, str)}
    pools = {each.get("id"): each.get("processRef") for each in root.iter(bpmn("participant"))}

    def process(id: str) -> str | None:
        return pools.get(id) or next(elements[id].iterancestors(bpmn("process"))).get("id")

    homes = {each.id: process(each.id) for each in model.nodes}
    lanes = {each.id: process(each.id) for each in model.lanes}
    grouped = [each for each in model.nodes if each.lane and not each.container]
    assert {each.id: homes[each.id] for each in grouped} == {each.id: lanes[each.lane or ""] for each in grouped}
    assert not pools or {*homes.values(), *lanes.values()} <= {*pools.values()}


def test_export_names_each_flow_once_in_the_nodes_that_it_connects() -> None:
    for outgoing in ("", "<outgoing> F </outgoing>"):
        document = definitions(
            f'<process id="P"><startEvent id="A">{outgoing}</startEvent><task id="B"><property id="X"/></task>'
            '<sequenceFlow id="F" sourceRef="A" targetRef="B"/></process>'
        )
        found = read(document.encode(), CULTURES, ENGLISH)
        exported = write(parse_stored(found.document.text()), found.model, SUBJECT, ENGLISH, CULTURES)
        assert_valid(exported)
        nodes = {each.get("id"): each for each in etree.fromstring(exported).iter(bpmn("startEvent"), bpmn("task"))}
        named = [
            (id, each.tag, (each.text or "").strip())
            for id, node in nodes.items()
            for each in node.iter(bpmn("incoming"), bpmn("outgoing"))
        ]
        assert named == [("A", bpmn("outgoing"), "F"), ("B", bpmn("incoming"), "F")]


def test_contents_of_a_removed_sub_process_stay() -> None:
    document = definitions(
        '<collaboration id="C"><participant id="Pool" processRef="P"/></collaboration><process id="P">'
        '<subProcess id="Outer"><subProcess id="Inner"><task id="A"/><task id="B"/>'
        '<sequenceFlow id="F" sourceRef="A" targetRef="B"/><sequenceFlow id="Loop" sourceRef="A" targetRef="A"/>'
        '<textAnnotation id="Note"/><association id="Link" sourceRef="A" targetRef="Note"/></subProcess></subProcess>'
        '<textAnnotation id="Last"/><potentialOwner id="Owner"/></process>'
    )
    found = read(document.encode(), CULTURES, ENGLISH)
    nodes = [replace(each, container=None) for each in found.model.nodes if each.id in ("A", "B")]
    wanted = BpmnModel(nodes, found.model.flows, found.model.lanes)
    exported = write(parse_stored(found.document.text()), wanted, SUBJECT, ENGLISH, CULTURES)
    assert_valid(exported)
    process = etree.fromstring(exported).find(bpmn("process"))
    assert process is not None
    assert [each.get("id") for each in process] == ["A", "B", "F", "Loop", "Last", "Note", "Link", "Owner"]
    again = read(exported, CULTURES, ENGLISH)
    assert unordered(again.model) == unordered(wanted)
    assert again.lost == ()


def test_flow_moves_with_the_node_from_which_it_leads() -> None:
    document = definitions(
        '<collaboration id="C"><participant id="Left" processRef="P"/><participant id="Right" processRef="Q"/>'
        '</collaboration><process id="P"><task id="A"/><task id="B"/>'
        '<sequenceFlow id="F" sourceRef="A" targetRef="B"/></process><process id="Q"/>'
    )
    found = read(document.encode(), CULTURES, ENGLISH)
    nodes = [replace(each, lane="Right") for each in found.model.nodes]
    lanes = [each for each in found.model.lanes if each.id == "Right"]
    wanted = BpmnModel(nodes, found.model.flows, lanes)
    exported = write(parse_stored(found.document.text()), wanted, SUBJECT, ENGLISH, CULTURES)
    assert_valid(exported)
    assert unordered(read(exported, CULTURES, ENGLISH).model) == unordered(wanted)


def test_event_in_another_lane_or_sub_process_than_its_host_is_exported() -> None:
    nodes = [
        BpmnNode("Host", "task", {}, lane="Pool"),
        BpmnNode("Free", "evIntermediate", {}, host="Host"),
        BpmnNode("Outer", "task", {}, lane="Lane"),
        BpmnNode("Inner", "evIntermediate", {}, container="Outer", host="Host"),
    ]
    flows = [BpmnFlow("F", "Free", "Outer"), BpmnFlow("G", "Inner", "Host")]
    model = BpmnModel(nodes, flows, [BpmnLane("Pool", {}, is_pool=True), BpmnLane("Lane", {})])
    document = write(None, model, SUBJECT, ENGLISH, CULTURES)
    assert_valid(document)
    assert unordered(read(document, CULTURES, ENGLISH).model) == unordered(model)


def test_name_of_a_call_activity_without_a_process_of_the_storage_changes() -> None:
    document = definitions('<process id="P"><callActivity id="A" name="Old" calledElement="Elsewhere"/></process>')
    found = read(document.encode(), CULTURES, ENGLISH)
    wanted = BpmnModel([replace(each, names={ENGLISH: "New"}) for each in found.model.nodes])
    exported = write(parse_stored(found.document.text()), wanted, SUBJECT, ENGLISH, CULTURES)
    assert unordered(read(exported, CULTURES, ENGLISH).model) == unordered(wanted)


def test_contents_of_a_sub_process_stay_if_its_type_changes() -> None:
    document = definitions(
        '<process id="P"><subProcess id="Sub"><multiInstanceLoopCharacteristics id="M"/><task id="A"/><task id="B"/>'
        '<sequenceFlow id="F" sourceRef="A" targetRef="B"/><textAnnotation id="Note"/></subProcess></process>'
    )
    found = read(document.encode(), CULTURES, ENGLISH)
    for type, container, ids in (
        ("ruleXor", "Sub", ["Sub", "M", "A", "B", "F", "Note"]),
        ("processInterfacePlaceholder", "Sub", ["Sub", "M", "A", "B", "F", "Note"]),
        ("processInterfacePlaceholder", None, ["Sub", "M", "A", "B", "F", "Note"]),
        ("ruleXor", None, ["Sub", "A", "B", "F", "Note"]),
    ):
        sub, *inner = found.model.nodes
        nodes = [replace(sub, type=type), *(replace(each, container=container) for each in inner)]
        wanted = BpmnModel(nodes, found.model.flows)
        exported = write(parse_stored(found.document.text()), wanted, SUBJECT, ENGLISH, CULTURES)
        assert_valid(exported)
        again = read(exported, CULTURES, ENGLISH)
        assert unordered(again.model) == unordered(wanted)
        [process] = etree.fromstring(exported).iter(bpmn("process"))
        named = [each.get("id") for each in process.iter("*") if each.get("id")]
        assert named[1:] == ids


def test_characters_that_xml_does_not_allow_are_replaced() -> None:
    name, note = "a\x01b\uffff\x0bc", f"{DECLARATION}x\x02y"
    node = BpmnNode("A", "task", {ENGLISH: name, GERMAN: name}, note)
    model = BpmnModel([node], [], [BpmnLane("L", {ENGLISH: name})])
    found = read(write(None, model, SUBJECT, ENGLISH, CULTURES), CULTURES, ENGLISH).model
    [task], [lane] = found.nodes, found.lanes
    assert (task.names, task.description) == ({ENGLISH: "a b  c", GERMAN: "a b  c"}, f"{DECLARATION}x y")
    assert lane.names == {ENGLISH: "a b  c"}


def _canonical(document: bytes) -> bytes:
    """Return a document in canonical form, without what an export always adds."""
    root = etree.fromstring(document)
    root.attrib.pop(own("lcid"), None)
    for named in list(root.iter(bpmn("incoming"), bpmn("outgoing"))):
        named.getparent().remove(named)  # type: ignore[union-attr]  # a node
    for drawing in [each for each in root.iter("*") if each.get(own("computed"))]:
        drawing.getparent().remove(drawing)  # type: ignore[union-attr]  # a plane
    for diagram in [each.getparent() for each in root.iter(di("BPMNPlane")) if not len(each)]:
        root.remove(diagram)  # type: ignore[arg-type]  # of a plane
    # Prefixes are free, and so is the place where they are declared.
    return b"\n".join(
        f"{each.tag!s} {sorted(each.attrib.items())} {(each.text or '').strip()}".encode() for each in root.iter("*")
    )
