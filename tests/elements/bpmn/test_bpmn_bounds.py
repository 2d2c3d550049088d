"""An import of BPMN has a limited cost and a limited response, whatever is in the document and in the storage (D433)."""

from __future__ import annotations

import pytest
from lxml import etree
from pytest_django import Settings

from elements.bpmn import calling_diagrams, importing
from elements.bpmn.document import parsing
from elements.bpmn.document.parsing import MAX_PREFIXES
from elements.bpmn.document.reading import read
from repository_site.core.problems import Invalid
from tests.elements.bpmn.conftest import DRAFT, BpmnClient
from tests.elements.bpmn.documents import BILLING, call, definitions

pytestmark = pytest.mark.django_db


def connected(client: BpmnClient, into: str, **parameters: object) -> int:
    """Import the called process, and return how many diagrams that has connected."""
    return sum(each["kind"] == "caller" for each in client.bring_in(BILLING, into, **parameters)["changed"])


def test_one_import_connects_a_limited_number_of_diagrams(
    client_of_bpmn: BpmnClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calling_diagrams, "MOST_CALLERS", 2)
    for element in (DRAFT, *(client_of_bpmn.new_process(f"Caller {number}") for number in range(2))):
        client_of_bpmn.bring_in(call("Billing_1"), element)
    billing = client_of_bpmn.new_process("Billing")
    assert connected(client_of_bpmn, billing, dryRun="true") == 2
    assert [connected(client_of_bpmn, billing) for _ in range(3)] == [2, 1, 0]


def test_one_import_connects_diagrams_with_a_limited_size(client_of_bpmn: BpmnClient, settings: Settings) -> None:
    for element in (DRAFT, client_of_bpmn.new_process("Caller")):
        client_of_bpmn.bring_in(call("Billing_1"), element)
    billing = client_of_bpmn.new_process("Billing")
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = len(call("Billing_1"))
    assert [connected(client_of_bpmn, billing) for _ in range(3)] == [1, 1, 0]


def test_a_response_lists_a_limited_number_of_parts(
    client_of_bpmn: BpmnClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "MOST_LISTED", 2)
    notes = "".join(f'<textAnnotation id="N{number}"/>' for number in range(3))
    links = "".join(f'<association id="A{number}" sourceRef="N0" targetRef="X"/>' for number in range(4))
    report = client_of_bpmn.bring_in(definitions(f'<process id="P"><task id="T"/>{notes}{links}</process>'))
    assert {name: (report["counts"][name], len(report[name])) for name in ("kept", "lost")} == {
        "kept": (3, 2),
        "lost": (4, 2),
    }


@pytest.mark.parametrize("more", ["", ' xmlns:p{0}="urn:{0}"'], ids=["undeclared", "declared"])
def test_prefixes_are_limited(more: str) -> None:
    def document(count: int) -> bytes:
        used = "".join(f"<p{number}:x/>" for number in range(count))
        content = f'<process id="P"><extensionElements>{used}</extensionElements><task id="T"/></process>'
        return definitions(content, "".join(more.format(number) for number in range(count))).encode()

    assert len(read(document(MAX_PREFIXES), ["1033"], "1033").model.nodes) == 1
    with pytest.raises(Invalid, match=f"the file has more than {MAX_PREFIXES} prefixes of namespaces"):
        read(document(MAX_PREFIXES + 1), ["1033"], "1033")


def test_prefixes_that_nobody_declares_are_noticed_however_often_another_is_used() -> None:
    inner = f'<a:x xmlns:b="urn:b"><b:y/></a:x>{"<a:x/>" * 150}<b:z b:name=""/>'
    content = f'<process id="P"><extensionElements>{inner}</extensionElements><task id="T"/></process>'
    root = read(definitions(content).encode(), ["1033"], "1033").document.root
    assert {name: root.nsmap[name] for name in "ab"} == {name: f"urn:undeclared:{name}" for name in "ab"}
    assert [etree.QName(each).namespace for each in root.iter("{*}y", "{*}z")] == ["urn:b", "urn:undeclared:b"]


@pytest.mark.parametrize(
    ("part", "what"),
    [
        ("<group/>", "XML elements and comments"),
        ("<!---->", "XML elements and comments"),
        ("<?a?>", "XML elements and comments"),
        ("<documentation><![CDATA[]]></documentation>", "XML elements and comments"),
        ('<group a="" b="" c=""/>', "attributes"),
    ],
)
def test_parts_of_a_document_are_limited(part: str, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsing, "MAX_PARTS", 50)
    monkeypatch.setattr(parsing, "MAX_ATTRIBUTES", 90)

    def document(count: int) -> bytes:
        return definitions(f'<process id="P"><task id="T"/>{part * count}</process>').encode()

    assert len(read(document(20), ["1033"], "1033").model.nodes) == 1
    with pytest.raises(Invalid, match=f"the file has more than (50|90) {what}. Divide the model"):
        read(document(49), ["1033"], "1033")


def test_attributes_of_one_element_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsing, "MAX_ATTRIBUTES", 9)
    attributes = " ".join(f'a{number}="x"' for number in range(20))
    with pytest.raises(Invalid, match="line 1, column 1: the file has more than 9 attributes"):
        read(definitions(f'<process id="P" {attributes}/>').encode(), ["1033"], "1033")
