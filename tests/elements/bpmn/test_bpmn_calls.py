"""Call activities: they show processes of the storage, whichever of the two documents is imported first."""

from __future__ import annotations

import pytest
from lxml import etree

from elements.models import Element, ElementVersion
from storage.models import Storage
from storage.tenancy.scope import tenant_scope
from tests.elements.bpmn.conftest import DRAFT, RELEASED, BpmnClient
from tests.elements.bpmn.documents import BILLING, call, definitions
from tests.elements.bpmn.import_reports import counts

pytestmark = pytest.mark.django_db

PLACEHOLDER = "processInterfacePlaceholder"


def shown(client: BpmnClient, element: str = DRAFT) -> list[tuple[str, str]]:
    return [(each["type"], each["id"]) for each in client.content(element)]


def called(client: BpmnClient, element: str = DRAFT) -> tuple[str | None, str | None]:
    """Return the name and the process of the only call activity."""
    [activity] = etree.fromstring(client.take_out(element)).iter("{*}callActivity")
    return activity.get("name"), activity.get("calledElement")


def show(client: BpmnClient, process: str) -> None:
    """Let the only shape show a process."""
    [shape] = client.content()
    item = {"shapeInfo": {"index": 0, "id": shape["properties"]["shapeId"]}, "element": {"id": process}}
    address = f"/demo/showcase/_api/rest/facets/processes/views/detail/elements/{DRAFT}/content"
    response = client.api.put(address, {"values": [item]}, content_type="application/json", token=client.token)
    assert response.status_code == 200, response.json()


def test_call_activity_shows_the_process_of_an_earlier_import(client_of_bpmn: BpmnClient) -> None:
    other = client_of_bpmn.new_process("Billing")
    assert client_of_bpmn.bring_in(call("Billing_1"))["counts"]["lost"] == 0
    assert [type for type, _ in shown(client_of_bpmn)] == [PLACEHOLDER]
    client_of_bpmn.bring_in(BILLING, other)
    for id in ("Billing_1", "b:Billing_1"):
        client_of_bpmn.bring_in(call(id))
        assert shown(client_of_bpmn) == [("subProcess", other)]
        assert client_of_bpmn.bring_in(call(id))["counts"] == counts(unchanged=1)
        assert called(client_of_bpmn) == ("Bill it", id)


def test_call_activity_shows_the_process_of_a_later_import(client_of_bpmn: BpmnClient) -> None:
    client_of_bpmn.bring_in(call("b:Billing_1"))
    other = client_of_bpmn.new_process("Billing")
    planned = client_of_bpmn.bring_in(BILLING, other, dryRun="true")
    assert planned["changed"] == [{"kind": "bpmn"}, {"kind": "caller", "id": DRAFT}]
    assert [type for type, _ in shown(client_of_bpmn)] == [PLACEHOLDER]
    report = client_of_bpmn.bring_in(BILLING, other)
    assert report["changed"] == [{"kind": "bpmn"}, {"kind": "caller", "id": DRAFT}]
    assert shown(client_of_bpmn) == [("subProcess", other)]
    assert called(client_of_bpmn) == ("Bill it", "b:Billing_1")
    assert client_of_bpmn.bring_in(BILLING, other)["counts"] == counts(unchanged=1)
    assert client_of_bpmn.bring_in(call("b:Billing_1"))["counts"] == counts(unchanged=1)


def test_documents_that_call_each_other_are_connected(client_of_bpmn: BpmnClient) -> None:
    one, two = client_of_bpmn.new_process("One"), client_of_bpmn.new_process("Two")
    back = '<process id="Back"><callActivity id="Call" calledElement="Caller"/></process>'
    client_of_bpmn.bring_in(call("Back"), one)
    client_of_bpmn.bring_in(definitions(back), two)
    assert shown(client_of_bpmn, one) == [("subProcess", two)]
    assert shown(client_of_bpmn, two) == [("subProcess", one)]


def test_later_import_changes_only_the_placeholder_of_the_call(client_of_bpmn: BpmnClient) -> None:
    client_of_bpmn.bring_in(call("Billing_1").replace("</process>", '<task id="Other" name="Pay"/></process>'))
    address = f"/demo/showcase/_api/rest/facets/processes/views/detail/elements/{DRAFT}/content"
    items = [
        {"shapeInfo": {"index": index, "id": each["properties"]["shapeId"], "predecessors": [0] * index}}
        for index, each in enumerate(client_of_bpmn.content())
    ]
    client_of_bpmn.api.put(address, {"values": items}, content_type="application/json", token=client_of_bpmn.token)
    before = client_of_bpmn.content()
    other = client_of_bpmn.new_process("Billing")
    client_of_bpmn.bring_in(BILLING, other)
    after = client_of_bpmn.content()
    assert [each["id"] for each in after] == [other, before[1]["id"]]
    shapes = [each["properties"]["shapeId"] for each in before]
    assert [each["properties"]["shapeId"] for each in after] == shapes
    [flow] = after[1]["properties"]["predecessors"]
    assert (flow["id"], flow["properties"]["shapeId"]) == (other, shapes[0])


def test_later_import_does_not_change_a_shape_that_shows_another_process(client_of_bpmn: BpmnClient) -> None:
    client_of_bpmn.bring_in(call("Billing_1"))
    show(client_of_bpmn, RELEASED)
    report = client_of_bpmn.bring_in(BILLING, client_of_bpmn.new_process("Billing"))
    assert report["changed"] == [{"kind": "bpmn"}]
    assert shown(client_of_bpmn) == [("subProcess", RELEASED)]


def test_later_import_does_not_change_released_versions(client_of_bpmn: BpmnClient, showcase: Storage) -> None:
    client_of_bpmn.bring_in(call("Billing_1"))
    with tenant_scope(showcase):
        ElementVersion.objects.filter(element_id=DRAFT).update(state="Released", category="published")
    report = client_of_bpmn.bring_in(BILLING, client_of_bpmn.new_process("Billing"))
    assert report["changed"] == [{"kind": "bpmn"}]
    assert [type for type, _ in shown(client_of_bpmn)] == [PLACEHOLDER]


def test_export_calls_the_process_by_the_id_in_its_document(client_of_bpmn: BpmnClient) -> None:
    """The id of a document stays while the process has it; one that several processes have is not written."""
    other = client_of_bpmn.new_process("Billing")
    client_of_bpmn.bring_in(BILLING, other)
    client_of_bpmn.bring_in(call("Elsewhere"))
    show(client_of_bpmn, other)
    assert called(client_of_bpmn) == ("Billing", "Billing_1")
    client_of_bpmn.bring_in(BILLING, client_of_bpmn.new_process("Billing again"))
    assert called(client_of_bpmn) == ("Billing", f"Process_{other}")
    client_of_bpmn.bring_in(call("Billing_1"))
    assert called(client_of_bpmn) == ("Bill it", "Billing_1")
    client_of_bpmn.bring_in(BILLING.replace("Billing_1", "Billing_2"), other)
    assert called(client_of_bpmn) == ("Billing", "Billing_2")


def test_call_activity_of_an_ambiguous_or_own_process_stays_a_placeholder(client_of_bpmn: BpmnClient) -> None:
    for name in ("One", "Two"):
        other = client_of_bpmn.new_process(name)
        client_of_bpmn.bring_in(definitions('<process id="Twice"><task id="T"/></process>'), other)
    for id in ("Twice", "Caller", f"Process_{DRAFT}"):
        for _ in range(2):
            client_of_bpmn.bring_in(call(id))
            assert [type for type, _ in shown(client_of_bpmn)] == [PLACEHOLDER]


def test_call_of_a_process_that_the_diagram_cannot_show_is_not_refused(
    client_of_bpmn: BpmnClient, showcase: Storage
) -> None:
    with tenant_scope(showcase):
        house = Element.objects.filter(type__key="processHouse").values_list("id", flat=True)[0]
    client_of_bpmn.bring_in(call(f"Process_{house}"))
    assert [type for type, _ in shown(client_of_bpmn)] == [PLACEHOLDER]


def test_export_calls_the_process_that_a_shape_shows_now(client_of_bpmn: BpmnClient) -> None:
    client_of_bpmn.bring_in(call(f"Process_{RELEASED}"))
    other = client_of_bpmn.new_process("Billing")
    show(client_of_bpmn, other)
    assert called(client_of_bpmn) == ("Billing", f"Process_{other}")


def test_call_activity_shows_the_process_that_it_names(client_of_bpmn: BpmnClient) -> None:
    call = f'<process id="P"><callActivity id="X" name="Hire" calledElement="Process_{RELEASED}"/></process>'
    client_of_bpmn.bring_in(definitions(call))
    assert [(each["type"], each["id"]) for each in client_of_bpmn.content()] == [("subProcess", RELEASED)]
    unknown = '<process id="P"><callActivity id="X" name="Hire" calledElement="Elsewhere"/></process>'
    client_of_bpmn.bring_in(definitions(unknown.replace('"X"', '"Y"')))
    assert [each["type"] for each in client_of_bpmn.content()] == [PLACEHOLDER]
