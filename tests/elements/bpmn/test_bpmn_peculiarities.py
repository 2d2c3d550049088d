"""Documents of many modelling tools: everything that a modeller can draw comes back, and nobody has to repair a file."""

from __future__ import annotations

from dataclasses import replace

import pytest
from lxml import etree
from pytest_django import Settings

from elements.bpmn.document.model import Area, BpmnModel
from elements.bpmn.document.parsing import parse_stored
from elements.bpmn.document.reading import ReadDocument, read
from elements.bpmn.document.vocabulary import OWN, di
from elements.bpmn.generating.writing import write
from repository_site.core.problems import Invalid, Unreadable
from tests.elements.bpmn.comparing import TripComparison, compare
from tests.elements.bpmn.conftest import BpmnClient
from tests.elements.bpmn.generated import CULTURES, ENGLISH, SUBJECT
from tests.elements.bpmn.omg_schema import assert_valid
from tests.elements.bpmn.peculiar_documents import (
    COMPLETE,
    DRAWN,
    SPACES,
    STEPS,
    diagram,
    document,
    edge,
    pools,
    process,
    shape,
)
from tests.scale import first_quick

POOL = pools('<participant id="A" name="a" processRef="P"/>')


def round_trip(text: str) -> tuple[ReadDocument, bytes, TripComparison]:
    found = read(text.encode(), CULTURES, ENGLISH)
    exported = export(found, found.model)
    return found, exported, compare(text.encode(), exported)


def export(found: ReadDocument, model: BpmnModel) -> bytes:
    return write(parse_stored(found.document.text()), model, SUBJECT, ENGLISH, CULTURES)


def lost(found: ReadDocument) -> list[tuple[str, str, str]]:
    return [(each.kind, each.id, each.text) for each in found.lost]


def planes(exported: bytes) -> list[str | None]:
    return [each.get("bpmnElement") for each in etree.fromstring(exported).iter(di("BPMNPlane"))]


@pytest.mark.parametrize("case", COMPLETE)
def test_everything_comes_back(case: str) -> None:
    found, _exported, comparison = round_trip(document(COMPLETE[case]))
    assert (comparison.losses, lost(found)) == ((), [])


@pytest.mark.django_db
@pytest.mark.parametrize("case", first_quick(COMPLETE, 5))
def test_nothing_is_refused(client_of_bpmn: BpmnClient, case: str) -> None:
    given = document(COMPLETE[case])
    client_of_bpmn.bring_in(given)
    again = client_of_bpmn.bring_in(given)
    assert [again[name] for name in ("added", "changed", "removed")] == [[], [], []]
    assert compare(given.encode(), client_of_bpmn.take_out()).losses == ()


ENCODINGS = {
    "UTF-16": ("UTF-16", "utf-16"),
    "UTF-16 without a mark": ("UTF-16", "utf-16-le"),
    "UTF-16 that is UTF-8": ("UTF-16", "utf-8"),
    "UTF-8 with a mark": ("UTF-8", "utf-8-sig"),
    "ISO-8859-1": ("ISO-8859-1", "iso-8859-1"),
    "windows-1252": ("windows-1252", "cp1252"),
    "XML 1.1": ("UTF-8", "utf-8"),
}


@pytest.mark.django_db
@pytest.mark.parametrize("case", ENCODINGS)
def test_encoding_of_the_file_is_read(client_of_bpmn: BpmnClient, case: str) -> None:
    declared, encoding = ENCODINGS[case]
    version = "1.1" if "1.1" in case else "1.0"
    head = f'<?xml version="{version}" encoding="{declared}"?>\n<!-- made by hand -->\n<?tool x?>\n'
    client_of_bpmn.bring_in((head + document(process(STEPS.replace("Check", "Prüfen")))).encode(encoding))
    exported = client_of_bpmn.take_out()
    assert b"<!-- made by hand --><?tool x?><definitions" in exported
    assert [each.get("name") for each in etree.fromstring(exported).iter("{*}task")] == ["Prüfen"]


@pytest.mark.parametrize(
    ("before", "named", "shown"),
    [
        ("", "definitions", "P"),
        ("", "nothing", "P"),
        ("", "", "P"),
        (POOL, "nothing", "C"),
    ],
)
def test_plane_names_what_it_shows(before: str, named: str, shown: str) -> None:
    pool = shape("A", "0 0 600 200") if before else ""
    given = document(before + process() + diagram(named, pool + DRAWN), 'id="definitions" targetNamespace="x"')
    found, exported, comparison = round_trip(given)
    assert planes(exported) == [shown]
    assert lost(found) == ([("BPMNPlane", "D_plane", f"bpmnElement {named}")] if named else [])
    assert [each.text for each in comparison.losses] == [f"bpmnElement: '{named}' became '{shown}'"]


def test_plane_without_drawings_names_the_process() -> None:
    _found, exported, _comparison = round_trip(document(process("") + diagram("nothing", "")))
    assert planes(exported) == ["P"]


def test_pool_can_be_drawn_as_its_process() -> None:
    given = document(POOL + process() + diagram("C", shape("P", "0 0 600 200", 'isHorizontal="true"') + DRAWN))
    found, exported, _comparison = round_trip(given)
    assert {each.id: each.area for each in found.model.lanes} == {"A": Area(0, 0, 600, 200)}
    drawn = [each.get("bpmnElement") for each in etree.fromstring(exported).iter(di("BPMNShape"))]
    assert drawn == ["A", "S", "T", "E"]


def test_links_between_drawings_that_name_nothing_are_listed() -> None:
    drawings = edge("f1", [(1, 1), (5, 1)], 'sourceElement="gone" targetElement="tns:T_di"')
    drawings += edge("f2", [(1, 1), (5, 1)], 'sourceElement="T"', '<bpmndi:BPMNLabel labelStyle="gone"/>')
    drawings += shape("T", "1 1 5 5", 'choreographyActivityShape="gone"').replace("T_di", "T_again")
    found, exported, _comparison = round_trip(document(process() + diagram("P", DRAWN + drawings)))
    assert lost(found) == [
        ("BPMNEdge", "f1_di", "sourceElement gone"),
        ("BPMNLabel", "", "labelStyle gone"),
        ("BPMNShape", "T_again", "choreographyActivityShape gone"),
    ]
    edges = {each.get("id"): each for each in etree.fromstring(exported).iter(di("BPMNEdge"))}
    assert (edges["f1_di"].get("targetElement"), edges["f2_di"].get("sourceElement")) == ("T_di", "T")


def test_removed_node_leaves_no_link_to_its_drawing() -> None:
    drawings = DRAWN + edge("f2", [(1, 1), (5, 1)], 'sourceElement="T_di" targetElement="E_di"')
    found = read(document(process() + diagram("P", drawings)).encode(), CULTURES, ENGLISH)
    start, task, end = found.model.nodes
    flow = replace(found.model.flows[1], source="S", waypoints=None)
    exported = export(found, BpmnModel([start, end], [flow], []))
    [edge_of_flow] = etree.fromstring(exported).iter(di("BPMNEdge"))
    assert (task.id, edge_of_flow.get("sourceElement"), edge_of_flow.get("targetElement")) == ("T", None, "E_di")


def test_references_that_name_nothing_are_listed() -> None:
    events = """<intermediateThrowEvent id="L"><linkEventDefinition id="d" name="x"><target>gone</target>
        </linkEventDefinition></intermediateThrowEvent>"""
    found, exported, _comparison = round_trip(
        document(process(events) + '<signal id="SG" structureRef="gone"/><error id="ER" structureRef="xsd:string"/>')
    )
    assert lost(found) == [("target", "d", "gone"), ("signal", "SG", "structureRef gone")]
    assert b'structureRef="xsd:string"' in exported


def test_drawing_without_a_place_is_listed() -> None:
    drawings = shape("S", "NaN 0 36 36") + shape("T", "0 0 -5 80") + shape("E", "99999999 0 36 36")
    drawings += edge("f1", [(3, 4)]) + edge("f2", [(3, 4), (5, "NaN")])
    found, exported, _comparison = round_trip(document(process() + diagram("P", drawings)))
    assert lost(found) == [
        ("Bounds", "S", "NaN 0 36 36"),
        ("Bounds", "T", "0 0 -5 80"),
        ("Bounds", "E", "99999999 0 36 36"),
        ("waypoint", "f1", "3 4"),
        ("waypoint", "f2", "3 4 5 NaN"),
    ]
    assert_valid(exported)
    assert lost(read(exported, CULTURES, ENGLISH)) == []


def test_flow_without_an_end_comes_back() -> None:
    given = document(process(STEPS + '<sequenceFlow id="loose" sourceRef="" targetRef="T"/>'))
    found, _exported, comparison = round_trip(given)
    assert lost(found) == []
    assert [each.text for each in comparison.losses] == ["sourceRef: '' became None"]


def test_document_without_a_target_namespace_becomes_valid() -> None:
    found, exported, comparison = round_trip(document(process(), ""))
    assert_valid(exported)
    assert (etree.fromstring(exported).get("targetNamespace"), comparison.losses, lost(found)) == (OWN, (), [])


def test_drawings_of_elements_with_forbidden_ids_have_valid_ids() -> None:
    steps = STEPS.replace('"S"', '"1"').replace('"f1"', '"a b"')
    _found, exported, comparison = round_trip(document(process(steps)))
    root = etree.fromstring(exported)
    drawn = {each.get("bpmnElement"): each.get("id") for each in root.iter(di("BPMNShape"), di("BPMNEdge"))}
    assert drawn == {"1": "_1_di", "T": "T_di", "E": "E_di", "a b": "a_b_di", "f2": "f2_di"}
    assert comparison.losses == ()


def test_prefix_that_nobody_declares_gets_a_namespace() -> None:
    head = '<?xml version="1.0"?>\n<!-- <definitions> -->\n'
    given = head + document(process(STEPS.replace('id="T"', 'id="T" js:items="all" js:item="one"')))
    found, exported, _comparison = round_trip(given)
    [task] = etree.fromstring(exported).iter("{*}task")
    assert (task.get("{urn:undeclared:js}items"), task.get("{urn:undeclared:js}item")) == ("all", "one")
    assert lost(found) == []


def test_place_of_a_problem_is_that_of_the_file() -> None:
    given = document(process('\n<task id="T" js:items="all"/>\n<task id="T"/>'))
    with pytest.raises(Invalid) as problem:
        read(given.encode(), CULTURES, ENGLISH)
    assert str(problem.value).startswith("line 3, column 1: the id T occurs twice")


def test_repeated_ids_of_parts_that_nothing_names_are_separated() -> None:
    note = '<documentation id="{}">x</documentation>'
    definition = '<messageEventDefinition id="M"/>'
    found, exported, _comparison = round_trip(
        document(
            process(
                f"""<startEvent id="S">{note.format("d")}{definition}</startEvent>
<task id="d_2"/><task id="T">{note.format("d")}</task><endEvent id="E">{note.format("U")}{definition}</endEvent>
<task id="U"/>"""
            )
        )
    )
    assert lost(found) == [
        ("documentation", "d", "id d_3"),
        ("messageEventDefinition", "M", "id M_2"),
        ("documentation", "U", "id U_2"),
    ]
    assert [each.id for each in found.model.nodes] == ["S", "d_2", "T", "E", "U"]
    ids = [each.get("id") for each in etree.fromstring(exported).iter() if each.get("id")]
    assert len(ids) == len(set(ids))


def test_prefixes_of_namespaces_are_free() -> None:
    content = process(STEPS + '<subProcess id="SP"/>') + diagram("P", DRAWN)
    swapped = content.replace("<bpmndi:", "<D:").replace("</bpmndi:", "</D:").replace("<process", "<m.x-1:process")
    swapped = swapped.replace("</process", "</m.x-1:process")
    spaces = (
        f'xmlns="{SPACES[""]}" xmlns:m.x-1="{SPACES[""]}" xmlns:bpmn="http://example.org/other" targetNamespace="x"'
    )
    given = f'<m.x-1:definitions {spaces} xmlns:dc="http://purl.org/dc">{swapped}</m.x-1:definitions>'
    given = given.replace("<D:BPMNDiagram", f'<D:BPMNDiagram xmlns:D="{SPACES["bpmndi"]}"')
    given = given.replace("<dc:Bounds", f'<q:Bounds xmlns:q="{SPACES["dc"]}"')
    found, _exported, comparison = round_trip(given)
    assert (comparison.losses, lost(found)) == ((), [])
    assert {each.id: each.area for each in found.model.nodes}["T"] == Area(150, 30, 100, 80)
    node = replace(found.model.nodes[1], id="New", area=None, container="SP")
    exported = export(found, BpmnModel([*found.model.nodes, node], found.model.flows))
    assert_valid(exported)
    assert [each.container for each in read(exported, CULTURES, ENGLISH).model.nodes] == [None] * 4 + ["SP"]


def test_sections_of_plain_text_come_back() -> None:
    text = "<![CDATA[if (a < b) { c() }]]>"
    _found, exported, _comparison = round_trip(
        document(process(f'<scriptTask id="T"><script>{text}</script></scriptTask>'))
    )
    assert text.encode() in exported


@pytest.mark.parametrize("name", ["punycode", "idna", "unicode_escape", "rot13", "unknown"])
def test_encoding_that_xml_does_not_have_is_refused(name: str) -> None:
    given = f'<?xml version="1.0" encoding="{name}"?>{document(process())}'
    with pytest.raises(Unreadable, match=f"The encoding {name} is unknown. Save the file as UTF-8."):
        read(given.encode(), CULTURES, ENGLISH)


def test_new_node_is_drawn_beside_others_although_a_sub_process_is_drawn_first() -> None:
    inner = '<subProcess id="SP"><task id="I"/></subProcess>'
    drawings = diagram("SP", shape("I"), "D2") + diagram(
        "P", DRAWN + shape("SP", "400 30 100 80", 'isExpanded="false"')
    )
    found = read(document(process(STEPS + inner) + drawings).encode(), CULTURES, ENGLISH)
    node = replace(found.model.nodes[1], id="New", area=None)
    exported = export(found, BpmnModel([*found.model.nodes, node], found.model.flows))
    [drawn] = [each for each in etree.fromstring(exported).iter(di("BPMNShape")) if each.get("bpmnElement") == "New"]
    plane = drawn.getparent()
    assert plane is not None
    assert plane.get("bpmnElement") == "P"


def test_pool_is_removed_and_its_lanes_stay_in_the_picture() -> None:
    given = pools('<participant id="A" processRef="P"/><participant id="B" processRef="Q"/>')
    lane = '<laneSet id="LS"><lane id="L"><flowNodeRef>T</flowNodeRef></lane></laneSet>'
    given += process(lane + STEPS) + process('<task id="X"/>', "Q")
    found = read(document(given).encode(), CULTURES, ENGLISH)
    nodes = [replace(each, lane=None) if each.lane == "A" else each for each in found.model.nodes]
    lanes = [replace(each, parent=None) for each in found.model.lanes if each.id != "A"]
    exported = export(found, BpmnModel(nodes, found.model.flows, lanes))
    assert_valid(exported)
    root = etree.fromstring(exported)
    assert [each.get("processRef") for each in root.iter("{*}participant")] == ["Q", "P"]
    assert [each.get("id") for each in root.iter("{*}process")] == ["P", "Q"]
    again = read(exported, CULTURES, ENGLISH).model
    assert {each.id: each.parent for each in again.lanes} == {"L": None, "B": None}
    assert {each.id: each.lane for each in again.nodes} == {"S": None, "T": "L", "E": None, "X": "B"}


def test_copies_of_a_flow_are_separated() -> None:
    flow = '<{} id="f" sourceRef="S" targetRef="T"/>'
    given = pools(f'<participant id="A" processRef="P"/>{flow.format("messageFlow")}')
    given += process(flow.format("sequenceFlow"), "Q")
    given += process(
        '<startEvent id="S"><outgoing>f</outgoing></startEvent><task id="T"/>' + flow.format("sequenceFlow")
    )
    found, _exported, _comparison = round_trip(document(given))
    assert lost(found) == [("messageFlow", "f", "id f_2"), ("sequenceFlow", "f", "id f_3")]
    assert [(each.id, each.source, each.target) for each in found.model.flows] == [("f", "S", "T")]
    assert [(each.kind, each.id) for each in found.kept] == [("messageFlow", "f_2"), ("sequenceFlow", "f_3")]


def test_copies_of_a_definition_are_separated() -> None:
    given = '<itemDefinition id="I" structureRef="String"/><itemDefinition id="I" structureRef="String"/>'
    found, _exported, _comparison = round_trip(document(given + process()))
    assert lost(found) == [("itemDefinition", "I", "id I_2")]
    with pytest.raises(Invalid, match="the id I occurs twice"):
        round_trip(document(given.replace("String", "Date", 1) + process()))


def test_moved_drawings_stay_valid_behind_their_extension() -> None:
    extension = "<di:extension/>"
    line = edge("f1", [(86, 68), (150, 70)], inside="<bpmndi:BPMNLabel/>").replace("<di:w", f"{extension}<di:w", 1)
    drawn = DRAWN.replace("<dc:", f"{extension}<dc:") + line
    found = read(document(process() + diagram("P", drawn)).encode(), CULTURES, ENGLISH)
    nodes = [replace(each, area=Area(5, 5, 36, 36)) for each in found.model.nodes]
    exported = export(found, BpmnModel(nodes, found.model.flows))
    assert_valid(exported)
    assert exported.count(b"<di:extension/>") == 4


@pytest.mark.django_db
def test_text_that_is_too_long_for_a_description_stays_in_the_document(
    client_of_bpmn: BpmnClient, settings: Settings
) -> None:
    settings.ATTRIBUTE_BYTES = 2000
    given = document(process(f'<task id="T"><documentation>{"long " * 500}</documentation></task>'))
    report = client_of_bpmn.bring_in(given)
    reason = "a text that is too long for a description"
    assert report["kept"] == [{"kind": "documentation", "bpmnId": "T", "name": "", "text": reason}]
    assert compare(given.encode(), client_of_bpmn.take_out()).losses == ()


def test_removed_pool_takes_its_connections_along() -> None:
    found = read(document(COMPLETE["pools"]).encode(), CULTURES, ENGLISH)
    nodes = [replace(each, lane=None) for each in found.model.nodes]
    exported = export(found, BpmnModel(nodes, found.model.flows))
    assert_valid(exported)
    root = etree.fromstring(exported)
    left = {etree.QName(each).localname: each.get("id") for each in root.iter("{*}conversationLink", "{*}messageFlow")}
    assert left == {"messageFlow": "m1"}


def test_data_association_to_nothing_leads_to_its_activity() -> None:
    data = '<dataObject id="O"/><dataObjectReference id="R" dataObjectRef="O"/>'
    flow = '<dataInputAssociation id="i"><sourceRef>R</sourceRef><targetRef>gone</targetRef></dataInputAssociation>'
    found, exported, _comparison = round_trip(document(process(f'{data}<task id="T">{flow}</task>')))
    assert_valid(exported)
    assert lost(found) == [("targetRef", "i", "gone")]
    assert [each.text for each in etree.fromstring(exported).iter("{*}targetRef")] == ["T"]


def test_conversations_without_a_drawing_are_drawn() -> None:
    links = '<participant id="A"/><conversationLink id="l" sourceRef="A" targetRef="c1"/>'
    given = document(COMPLETE["conversations"].replace("</coll", f"{links}</coll"))
    _found, exported, _comparison = round_trip(given)
    drawn = [each.get("bpmnElement") for each in etree.fromstring(exported).iter(di("BPMNShape"), di("BPMNEdge"))]
    assert drawn == ["c1", "sc", "cc", "A", "l"]


def test_new_ids_are_such_that_every_tool_reads_them() -> None:
    _found, exported, _comparison = round_trip(document(process('<task id="äb"/><task id="1"/>')))
    ids = [each.get("id") for each in etree.fromstring(exported).iter(di("BPMNShape"))]
    assert ids == ["_b_di", "_1_di"]
