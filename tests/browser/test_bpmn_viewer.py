"""Exports in bpmn-js: the viewer imports them without a warning and shows every name."""

from __future__ import annotations

from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from lxml import etree
from playwright.sync_api import Browser, Page

from elements.bpmn.document.model import BpmnFlow, BpmnLane, BpmnModel, BpmnNode
from elements.bpmn.document.vocabulary import bpmn
from elements.bpmn.generating.writing import write
from tests.browser.conftest import DEMO, WIDE
from tests.elements.bpmn.conftest import RELEASED
from tests.elements.bpmn.generated import CULTURES, ENGLISH, SUBJECT
from tests.elements.bpmn.judges import VIEWER, require_judges
from tests.server_process import Server

pytestmark = [pytest.mark.long, pytest.mark.browser]

DRAW = """async document => {
    const viewer = new BpmnJS({ container: '#canvas' });
    const { warnings } = await viewer.importXML(document);
    viewer.get('canvas').zoom('fit-viewport');
    const registry = viewer.get('elementRegistry');
    return {
        warnings: warnings.map(each => each.message),
        texts: [...window.document.querySelectorAll('#canvas svg text')].map(each => each.textContent),
        drawn: registry.getAll().map(each => each.id),
    };
}"""


@pytest.fixture
def viewer(browser: Browser) -> Page:
    require_judges()
    page = browser.new_page(viewport=WIDE)
    page.set_content('<div id="canvas" style="width: 1400px; height: 1000px"></div>')
    page.add_script_tag(path=VIEWER)
    return page


def check(page: Page, document: bytes, picture: Path) -> None:
    found = page.evaluate(DRAW, document.decode())
    assert found["warnings"] == []
    root = etree.fromstring(document)
    shown = {_plain(each) for each in found["texts"]}
    model = [each for each in root.iter(f"{{{bpmn('')[1:-1]}}}*") if each.get("name")]
    names = {_plain(each.get("name", "")) for each in model if each.tag != bpmn("process")}
    assert names - shown == set()
    ids = set(map(str, root.xpath("//*[local-name()='BPMNShape' or local-name()='BPMNEdge']/@bpmnElement")))
    assert ids - set(found["drawn"]) == set()
    picture.write_bytes(page.screenshot())
    assert picture.stat().st_size > 5_000


def _plain(text: str) -> str:
    """Return a text without the spaces at which the viewer breaks lines."""
    return "".join(text.split())


def test_viewer_shows_a_diagram_of_the_repository(viewer: Page, site: Server, token: str, tmp_path: Path) -> None:
    address = f"http://127.0.0.1:{site.port}{DEMO}/_api/v1/bpmn/{RELEASED}?lcid=1033"
    with urlopen(Request(address, headers={"Authorization": f"Bearer {token}"})) as response:
        check(viewer, response.read(), tmp_path / "own.png")


def test_viewer_shows_pools_lanes_and_labels(viewer: Page, tmp_path: Path) -> None:
    model = BpmnModel(
        [
            BpmnNode("Start", "evStart", {ENGLISH: "Need"}, lane="Sales"),
            BpmnNode("Check", "task", {ENGLISH: "Check stock"}, lane="Sales"),
            BpmnNode("Choice", "ruleXor", {ENGLISH: "Enough?"}, lane="Store"),
            BpmnNode("Sub", "task", {ENGLISH: "Order"}, lane="Store"),
            BpmnNode("Inner", "task", {ENGLISH: "Write"}, container="Sub"),
            BpmnNode("Late", "evIntermediate", {ENGLISH: "Late"}, lane="Store", host="Sub"),
            BpmnNode("Call", "processInterfacePlaceholder", {ENGLISH: "Pay"}, called="Pay", lane="Other"),
            BpmnNode("End", "evEnd", {ENGLISH: "Done"}, lane="Other"),
        ],
        [
            BpmnFlow("A", "Start", "Check"),
            BpmnFlow("B", "Check", "Choice"),
            BpmnFlow("C", "Choice", "Sub", {ENGLISH: "too few"}),
            BpmnFlow("D", "Choice", "Check", {ENGLISH: "unclear"}),
            BpmnFlow("E", "Call", "End"),
        ],
        [
            BpmnLane("Company", {ENGLISH: "Company"}, None, is_pool=True),
            BpmnLane("Sales", {ENGLISH: "Sales"}, "Company"),
            BpmnLane("Store", {ENGLISH: "Store"}, "Company"),
            BpmnLane("Other", {ENGLISH: "Bank"}, None, is_pool=True),
        ],
    )
    check(viewer, write(None, model, SUBJECT, ENGLISH, CULTURES), tmp_path / "pools.png")
