"""The editor of a diagram on the server: who may open it, what it gets, and the preview of what was typed."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from elements.models import Element
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.elements.handbook import BASE, ID
from tests.elements.office import Office, main_text
from tests.factories import StorageFactory

pytestmark = pytest.mark.django_db
Wire = dict[str, Any]


@pytest.fixture
def office(handbook: Storage) -> Office:
    return Office(handbook, Role.ADMINISTRATOR)


def steps_of(name: str) -> str:
    return f"elements/element/{ID[name]}/steps/"


def step(key: str, type: str, *before: str, name: str = "", **more: Any) -> Wire:
    flows = [{"key": each, "label": {}} for each in before]
    return {"key": key, "type": type, "name": {"1033": name} if name else {}, "before": flows, "roles": [], **more}


def preview(office: Office, document: Any, element: str = "order") -> Any:
    body = document if isinstance(document, str) else json.dumps(document)
    return office.post(f"{steps_of(element)}preview/", body, content_type="application/json")


def embedded(response: Any, name: str) -> Any:
    found = re.search(rf'<script id="{name}" type="application/json">(.*?)</script>', response.content.decode(), re.S)
    assert found is not None
    return json.loads(found.group(1))


def test_the_page_of_a_draft_leads_to_the_editor(office: Office) -> None:
    page = office.get(f"elements/element/{ID['order']}/change/").content.decode()
    assert f'href="{office.base}{steps_of("order")}"' in page
    released = office.get(f"elements/element/{ID['order']}/change/?version={ID['order-2']}").content.decode()
    assert "/steps/" not in released
    assert "/steps/" not in office.get(f"elements/element/{ID['erp']}/change/").content.decode()


def test_the_editor_gets_steps_types_and_addresses(office: Office) -> None:
    response = office.get(steps_of("order"))
    state = embedded(response, "steps-state")
    assert state == office.get(f"{steps_of('order')}state/").json()
    assert state["steps"] == [
        {
            "key": ID["shape-start-3"],
            "shape": ID["shape-start-3"],
            "element": ID["start-3"],
            "type": "evStart",
            "names": {"1033": "Start"},
            "before": [],
            "roles": [],
            "lane": None,
            "container": None,
            "host": None,
        },
        {
            "key": ID["shape-check-3"],
            "shape": ID["shape-check-3"],
            "element": ID["check-3"],
            "type": "task",
            "names": {"1033": "Check again"},
            "before": [{"key": ID["shape-start-3"], "label": {}}],
            "roles": [],
            "lane": None,
            "container": None,
            "host": None,
        },
    ]
    assert [each["key"] for each in state["types"]] == ["evStart", "task", "subProcess"]
    assert all(each["isOffered"] for each in state["types"])
    assert state["lanes"] == []
    assert state["save"] == f"{BASE}/_api/rest/facets/processes/views/diagram/elements/{ID['order-3']}/content"
    assert state["done"] == f"{office.base}elements/element/{ID['order']}/change/?tab=diagram"


def test_a_viewer_a_released_version_and_other_types_are_refused(handbook: Storage, office: Office) -> None:
    viewer = Office(handbook, Role.VIEWER)
    for path in (steps_of("order"), f"{steps_of('order')}state/"):
        assert viewer.get(path).status_code in (403, 404)
    assert preview(viewer, {"culture": "1033", "steps": []}).status_code in (403, 404)
    assert office.get(f"{steps_of('order')}?version={ID['order-2']}").status_code == 409
    assert office.get(steps_of("erp")).status_code == 404
    assert office.get("elements/element/nonsense/steps/").status_code == 404


def test_another_tenant_sees_nothing(handbook: Storage) -> None:
    other = Office(StorageFactory.create(), Role.ADMINISTRATOR)
    assert other.get(steps_of("order")).status_code == 404


def test_the_preview_is_the_real_picture_with_findings(office: Office) -> None:
    steps = [step("a", "evStart", name="Begin"), step("b", "task", "a", name="Do <it>"), step("c", "task", name="Lost")]
    response = preview(office, {"culture": "1033", "steps": steps})
    text = response.content.decode()
    assert response.status_code == 200
    assert text.startswith("<svg ")
    assert "Do &lt;it&gt;" in text
    assert text.count("<path class=") == 1
    assert re.findall(r'<p data-key="(.*?)">(.*?)</p>', text) == [
        ("b", "Nothing follows this step. Add the next step or an end event."),
        ("c", "Nothing follows this step. Add the next step or an end event."),
        ("c", "No path leads from a start event to this step."),
    ]
    assert all(f'href="#step-{key}"' in text for key in "abc")


def test_the_preview_of_very_many_steps_says_that_they_are_too_many(office: Office) -> None:
    steps = [step(str(number), "task") for number in range(2_001)]
    text = preview(office, {"culture": "1033", "steps": steps}).content.decode()
    assert "too large for a picture" in text


def test_the_preview_of_nothing_says_so(office: Office) -> None:
    assert "There are no steps yet." in preview(office, {"culture": "1033", "steps": []}).content.decode()


@pytest.mark.parametrize(
    "document",
    [
        "nonsense",
        [],
        {},
        {"culture": "1033"},
        {"culture": "1036", "steps": []},
        {"culture": "1033", "steps": [5]},
        {"culture": "1033", "steps": [{"key": "a", "type": "unknown", "name": {}, "before": [], "roles": []}]},
        {"culture": "1033", "steps": [{"key": "a", "type": "task", "name": "text", "before": [], "roles": []}]},
        {"culture": "1033", "steps": [{"key": "a", "type": "task", "name": {}, "before": ["a"], "roles": []}]},
        {"culture": "1033", "steps": [step("a", "task", element="nonsense")]},
        {"culture": "1033", "steps": [step("a", "task") | {"roles": ["nonsense"]}]},
        {"culture": "1033", "steps": [step(str(number), "task") for number in range(5_001)]},
        {"culture": "1033", "steps": [], "more": [0] * 200_000},
    ],
)
def test_unreadable_steps_are_refused(office: Office, document: Any) -> None:
    assert preview(office, document).status_code == 400


def test_the_preview_only_takes_post(office: Office) -> None:
    assert office.get(f"{steps_of('order')}preview/").status_code == 405


def test_the_german_editor_speaks_german(handbook: Storage) -> None:
    anna = Office(handbook, Role.ADMINISTRATOR, language="de")
    response = anna.get(steps_of("order"))
    assert embedded(response, "steps-words")["remove"] == "Schritt löschen"
    assert "Folgt auf" in main_text(response)


def picture(text: str) -> str:
    """Return the picture on a page without its links and its description."""
    (found,) = re.findall(r"<svg xmlns.*?</svg>", text, re.S)
    return re.sub(r"</?a\b[^>]*>|<title>.*?</title>|<desc>.*?</desc>|role=\"\w+\"", "", found, flags=re.S)


def posted(state: Wire) -> Wire:
    """Return stored steps as the script of the editor posts them."""
    roles = [[role["id"] for role in each["roles"]] for each in state["steps"]]
    steps = [{**each, "name": each["names"], "roles": own} for each, own in zip(state["steps"], roles, strict=True)]
    return {"culture": state["culture"], "steps": steps}


def test_the_preview_of_stored_steps_is_the_picture_of_the_page(office: Office) -> None:
    """With a sub-process around a step, and with systems beside it."""
    state = office.get(f"{steps_of('order')}state/").json()
    start, check = ({"id": each["shape"]} for each in state["steps"])
    systems = {"related": {"systems": [{"id": ID["erp"]}]}}
    inner = {"type": "task", "attributes": {"name": {"1033": "Pack"}}, **systems}
    values = [
        {"shapeInfo": {"index": 0, **start}},
        {"shapeInfo": {"index": 1, **check, "predecessors": [0], "labels": {"0": {"1033": "go"}}}, "element": systems},
        {"shapeInfo": {"index": 2, "predecessors": [1]}, "element": {"type": "subProcess", "id": ID["ship"]}},
        {"shapeInfo": {"index": 3, "container": 2}, "element": inner},
    ]
    address, tag = state["save"].removeprefix("http://testserver"), {"If-Match": state["tag"]}
    saved = office.client.put(address, {"values": values}, content_type="application/json", headers=tag)
    assert saved.status_code == 200, saved.json()
    state = office.get(f"{steps_of('order')}state/").json()
    assert [each["container"] for each in state["steps"]] == [None, None, None, state["steps"][2]["key"]]
    text = preview(office, posted(state)).content.decode()
    page = office.get(f"elements/element/{ID['order']}/change/?tab=diagram").content.decode()
    assert picture(text) == picture(page)
    assert text.count('class="note') == page.count('class="note')
    assert re.findall(r'<p data-key="(.*?)">(.*?)</p>', text) == [
        (each["key"], "Nothing follows this step. Add the next step or an end event.") for each in state["steps"][2:]
    ]


def test_the_preview_of_a_process_map_has_its_groups(showcase: Storage) -> None:
    office = Office(showcase, Role.ADMINISTRATOR)
    with tenant_scope(showcase):
        house = str(Element.objects.get(type__key="processHouse").pk)
    state = office.get(f"elements/element/{house}/steps/state/").json()
    body = json.dumps(posted(state))
    text = office.post(f"elements/element/{house}/steps/preview/", body, content_type="application/json")
    page = office.get(f"elements/element/{house}/change/?tab=diagram").content.decode()
    assert len(state["steps"]) > 2
    assert picture(text.content.decode()) == picture(page)
    assert "Management" in picture(page)
