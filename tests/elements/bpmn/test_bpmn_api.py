"""Import and export of BPMN documents by the API."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from lxml import etree
from pytest_django import Settings

from elements.api.diagrams import bpmn_viewset
from elements.bpmn.document.reading import read
from elements.bpmn.importing import ImportReport, import_bpmn
from repository_site.core.database.commits import ShardMoved
from tests.elements.bpmn.conftest import DRAFT, RELEASED, BpmnClient
from tests.elements.bpmn.documents import SMALL, definitions, large
from tests.elements.bpmn.generated import CULTURES, ENGLISH
from tests.elements.bpmn.import_reports import counts
from tests.elements.bpmn.omg_schema import assert_valid, unordered
from tests.elements.drawing import problems

pytestmark = pytest.mark.django_db


def test_document_becomes_the_diagram(client_of_bpmn: BpmnClient) -> None:
    report = client_of_bpmn.bring_in(SMALL)
    assert report["counts"] | {"removed": 0} == counts(added=15, changed=1, kept=3)
    assert report["kept"] == [
        {"kind": "conditionExpression", "bpmnId": "Yes", "name": "yes", "text": ""},
        {"kind": "textAnnotation", "bpmnId": "Note", "name": "", "text": ""},
        {"kind": "association", "bpmnId": "A", "name": "", "text": ""},
    ]
    found = client_of_bpmn.content()
    assert [(each["type"], each["attributes"]["name"]["1033"]) for each in found] == [
        ("evStart", "Need"), ("task", "Check stock"), ("ruleXor", "Enough?"), ("task", "Order"), ("evEnd", "Done"),
    ]  # fmt: skip
    address = f"/demo/showcase/_api/rest/facets/processes/views/detail/elements/{found[1]['id']}/attributes/description"
    described = client_of_bpmn.api.get(address, token=client_of_bpmn.token).json()
    assert "Look twice." in str(described)


def test_second_import_changes_nothing(client_of_bpmn: BpmnClient) -> None:
    client_of_bpmn.bring_in(SMALL)
    before = client_of_bpmn.content()
    assert client_of_bpmn.bring_in(SMALL)["counts"] == counts(unchanged=10, kept=3)
    assert client_of_bpmn.content() == before


def test_changed_document_changes_what_it_changed(client_of_bpmn: BpmnClient) -> None:
    client_of_bpmn.bring_in(SMALL)
    report = client_of_bpmn.bring_in(SMALL.replace('name="Check stock"', 'name="Look"'))
    assert [each["kind"] for each in report["changed"]] == ["element", "bpmn"]
    assert report["counts"] == counts(changed=2, unchanged=10, kept=3)


def test_dry_run_writes_nothing(client_of_bpmn: BpmnClient) -> None:
    before = client_of_bpmn.content()
    planned = client_of_bpmn.bring_in(SMALL, dryRun="true")
    assert client_of_bpmn.content() == before
    assert client_of_bpmn.bring_in(SMALL)["counts"] == planned["counts"]


def test_form_with_a_file(client_of_bpmn: BpmnClient) -> None:
    file = SimpleUploadedFile("small.bpmn", SMALL.encode(), "application/xml")
    response = client_of_bpmn.api.post(client_of_bpmn.address(), {"file": file}, token=client_of_bpmn.token)
    assert (response.status_code, response.json()["counts"]["lost"]) == (200, 0)


def test_form_that_meets_a_moving_shard(client_of_bpmn: BpmnClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """The request is repeated with the same upload (D308)."""
    documents: list[bytes] = []

    def interrupted(writer: Any, view: Any, row: Any, document: bytes, *more: Any, **named: Any) -> ImportReport:
        documents.append(document)
        report = import_bpmn(writer, view, row, document, *more, **named)
        if len(documents) < 3:
            raise ShardMoved("the query contains a join that requires repartitioning")
        return report

    monkeypatch.setattr(bpmn_viewset, "import_bpmn", interrupted)
    test_form_with_a_file(client_of_bpmn)
    assert documents == [SMALL.encode()] * 3
    assert len(client_of_bpmn.content()) == 5


def test_export_of_an_imported_document_has_everything(client_of_bpmn: BpmnClient) -> None:
    client_of_bpmn.bring_in(SMALL)
    exported = client_of_bpmn.take_out()
    assert_valid(exported)
    before, after = read(SMALL.encode(), CULTURES, ENGLISH), read(exported, CULTURES, ENGLISH)
    assert unordered(after.model) == unordered(before.model)
    assert after.kept == before.kept
    root = etree.fromstring(exported)
    drawn = root.xpath("//*[local-name()='BPMNShape' or local-name()='BPMNEdge']/@bpmnElement")
    assert sorted(map(str, drawn)) == sorted(
        ["Start", "Check", "Enough", "Order", "End", "F1", "F2", "Yes", "No", "F5", "Note", "A"]
    )
    assert client_of_bpmn.bring_in(exported)["counts"] == counts(changed=1, unchanged=10, kept=3)


def test_diagram_of_the_repository_comes_back_from_a_document(client_of_bpmn: BpmnClient) -> None:
    exported = client_of_bpmn.take_out(RELEASED)
    assert_valid(exported)
    found = client_of_bpmn.content(RELEASED)
    client_of_bpmn.bring_in(exported)

    def shown(content: list[dict[str, Any]]) -> list[tuple[str, str]]:
        return sorted((each["type"], str(each["attributes"].get("name"))) for each in content)

    assert shown(client_of_bpmn.content()) == shown(found)


def test_export_has_an_entity_tag(client_of_bpmn: BpmnClient) -> None:
    response = client_of_bpmn.api.get(client_of_bpmn.address(), token=client_of_bpmn.token)
    headers = {"If-None-Match": response["ETag"]}
    again = client_of_bpmn.api.get(client_of_bpmn.address(), token=client_of_bpmn.token, headers=headers)
    assert (response["Content-Type"], again.status_code) == ("application/xml", 304)


def test_released_version_is_not_changed(client_of_bpmn: BpmnClient) -> None:
    [text] = problems(client_of_bpmn.send(SMALL, RELEASED), 409)
    assert "create a new version" in text


def test_import_needs_the_entity_tag_that_it_names(client_of_bpmn: BpmnClient) -> None:
    response = client_of_bpmn.send(SMALL, headers={"If-Match": '"0"'})
    assert response.status_code == 412


WRONG = {
    "not XML": ("<a><b></a>", 400, "line 1, column 9: the file is not well-formed XML"),
    "empty": ("", 400, "The file is empty"),
    "entities": ('<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', 400, "a document type (DOCTYPE) and entities"),
    "not BPMN": ("<a/>", 422, "line 1, column 1: this is not a BPMN 2.0 document"),
    "no process": (definitions(""), 422, "the document has no process"),
    "dangling flow": (
        definitions('<process id="P"><task id="A"/>\n<sequenceFlow id="F" sourceRef="A" targetRef="B"/></process>'),
        422,
        "line 2, column 1: targetRef names B, which does not exist",
    ),
    "duplicate id": (
        definitions('<process id="P"><task id="A"/><task id="A"/></process>'),
        422,
        "the id A occurs twice",
    ),
    "event inside its host": (
        definitions(
            '<process id="P"><subProcess id="S"><boundaryEvent id="B" attachedToRef="S"/></subProcess></process>'
        ),
        422,
        "is attached to S",
    ),
    "event on an event": (
        definitions(
            '<process id="P"><boundaryEvent id="A" attachedToRef="B"/><boundaryEvent id="B" attachedToRef="A"/></process>'
        ),
        422,
        "which is not an activity",
    ),
    "depth": ("<a>" * 300 + "</a>" * 300, 422, "nested more than 200 deep"),
    "too many nodes": (
        definitions('<process id="P">' + "".join(f'<task id="T{n}"/>' for n in range(5001)) + "</process>"),
        422,
        "The model has 5001 nodes; at most 5000 are allowed",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_document_is_refused_with_its_place(client_of_bpmn: BpmnClient, case: str) -> None:
    document, status, text = WRONG[case]
    before = client_of_bpmn.content()
    response = client_of_bpmn.send(document)
    assert any(text in each for each in problems(response, status)), response.json()
    assert client_of_bpmn.content() == before


def test_element_without_a_diagram_is_named(client_of_bpmn: BpmnClient) -> None:
    role = client_of_bpmn.api.get(
        "/demo/showcase/_api/rest/facets/roles/views/detail/elements", token=client_of_bpmn.token
    ).json()["elements"][0]["id"]
    [text] = problems(client_of_bpmn.send(SMALL, role), 404)
    assert "elements of the type role have no diagram. Choose an element of the type" in text


def test_other_cultures_travel_with_the_document(client_of_bpmn: BpmnClient) -> None:
    exported = client_of_bpmn.take_out(RELEASED, lcid=1031)
    names = {str(each.get("name")) for each in etree.fromstring(exported).iter("*") if each.get("name")}
    client_of_bpmn.bring_in(exported, lcid=1033)
    found = client_of_bpmn.content()
    stored = [each["attributes"]["name"] for each in found if "name" in each["attributes"]]
    assert any({"1031", "1033"} <= each.keys() for each in stored)
    assert {each["1031"] for each in stored if "1031" in each} <= names


def test_media_type_of_the_body_is_checked(client_of_bpmn: BpmnClient) -> None:
    response = client_of_bpmn.api.post(
        client_of_bpmn.address(DRAFT), "{}", content_type="text/plain", token=client_of_bpmn.token
    )
    assert (response.status_code, response.json()["message"]) == (
        415,
        "The request body must have the Content-Type application/xml, application/bpmn+xml or multipart/form-data.",
    )


def test_document_over_the_limit_of_bodies_is_refused(client_of_bpmn: BpmnClient, settings: Settings) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    before = client_of_bpmn.content()
    file = SimpleUploadedFile("small.bpmn", SMALL.encode(), "application/xml")
    form = client_of_bpmn.api.post(client_of_bpmn.address(), {"file": file}, token=client_of_bpmn.token)
    assert (client_of_bpmn.send(SMALL).status_code, form.status_code) == (413, 413)
    assert client_of_bpmn.content() == before


@pytest.mark.long
def test_diagram_of_5000_nodes_is_imported(client_of_bpmn: BpmnClient) -> None:
    found = client_of_bpmn.bring_in(large(5000))
    assert found["counts"]["lost"] == 0
    assert len(client_of_bpmn.content()) == 5000


def test_collaboration_is_one_diagram(client_of_bpmn: BpmnClient) -> None:
    document = definitions(
        """<collaboration id="C"><participant id="Us" name="Us" processRef="P"/>
        <participant id="Them" name="Them" processRef="Q"/><participant id="Bank" name="Bank"/>
        <messageFlow id="M" sourceRef="A" targetRef="B"/><messageFlow id="N" sourceRef="B" targetRef="Bank"/>
        </collaboration><process id="P"><task id="A" name="Ask"/></process>
        <process id="Q"><task id="B" name="Answer"/></process>"""
    )
    report = client_of_bpmn.bring_in(document)
    assert [(each["kind"], each["bpmnId"]) for each in report["kept"]] == [
        ("participant", "Bank"),
        ("messageFlow", "M"),
        ("messageFlow", "N"),
    ]
    exported = client_of_bpmn.take_out()
    assert_valid(exported)
    after, before = read(exported, CULTURES, ENGLISH), read(document.encode(), CULTURES, ENGLISH)
    assert unordered(after.model) == unordered(before.model)
    assert after.kept == before.kept
    assert [each.id for each in after.model.lanes] == ["Us", "Them"]
