"""Everything of one person is handed over to another by keyboard: choose, preview, confirm, report (D474)."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import DEMO, NewVisitor, Visitor
from tests.browser.keyboard import press, tab_to
from tests.browser.submitting import call

pytestmark = [pytest.mark.long, pytest.mark.browser]
USERS = "/facets/users/views/detail/elements"
PROCESSES = "/facets/processes/views/detail/elements"


def make_person(visitor: Visitor, token: str, name: str) -> str:
    person = {"type": "user", "attributes": {"name": {"1031": name, "1033": name}, "roleEditor": {"127": True}}}
    return str(call(visitor, token, "POST", USERS, {"elements": [person]})["elements"][0]["id"])


def choose(visitor: Visitor, label: str, name: str) -> None:
    field = visitor.page.get_by_role("combobox", name=label)
    tab_to(visitor, field)
    with visitor.page.expect_response(lambda response: name.split()[1] in response.url):
        visitor.page.keyboard.type(name)
    option = visitor.page.get_by_role("option", name=name)
    expect(option).to_be_visible()
    visitor.page.keyboard.press("ArrowDown")
    expect(option).to_have_attribute("aria-selected", "true")
    visitor.page.keyboard.press("Enter")
    expect(visitor.page.locator(".el-chosen-name", has_text=name)).to_be_visible()


def test_a_person_is_replaced_by_keyboard(visit: NewVisitor, token: str) -> None:
    rita = visit("rita")
    old, new = make_person(rita, token, "Leaving Louis"), make_person(rita, token, "Coming Clara")
    parent = call(rita, token, "GET", f"{PROCESSES}?$filter=type -eq 'subCategory'&$page=1&$pageSize=1")["elements"][0]
    made = {
        "type": "mainProcess",
        "attributes": {"name": {"1031": "Erbe", "1033": "Heritage"}},
        "rootPath": [{"id": parent["id"]}],
        "related": {"owner": [{"id": old}]},
    }
    element = call(rita, token, "POST", PROCESSES, {"elements": [made]})["elements"][0]["id"]
    rita.expected |= {422}
    rita.open(f"{DEMO}/admin/handover/")
    rita.check_looks(0)
    press(rita, rita.page.get_by_role("button", name="Preview"))
    expect(rita.page.get_by_text("Choose a person.").first).to_be_visible()
    rita.check_looks(1)
    choose(rita, "Person who leaves", "Leaving Louis")
    choose(rita, "Person who takes over", "Coming Clara")
    press(rita, rita.page.get_by_role("button", name="Preview"))
    expect(rita.page.get_by_text("Hand over: Leaving Louis → Coming Clara")).to_be_visible()
    press(rita, rita.page.get_by_role("button", name="Change 1 element"))
    expect(rita.page.get_by_text("1 of 1 elements, done")).to_be_visible()
    rita.check_looks(0)
    found = call(rita, token, "GET", f"{PROCESSES}/{element}")["elements"][0]
    assert [each["id"] for each in found["related"]["owner"]] == [new]
