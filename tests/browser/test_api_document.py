"""The page of the OpenAPI document in a browser: it can be read on any screen, and calls can be tried."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import DEMO, NARROW, NewVisitor

pytestmark = [pytest.mark.long, pytest.mark.browser]
PAGE = f"{DEMO}/_api/docs/"


def test_a_call_is_tried_with_a_token(visit: NewVisitor, token: str) -> None:
    visitor = visit()
    visitor.open(f"{PAGE}#listChanges")
    visitor.check_accessibility()
    page, operation = visitor.page, visitor.page.locator("#listChanges")
    operation.get_by_role("button", name="Fill in the example").click()
    operation.locator("[data-name=elementId]").fill("0d13bb15-a64b-55b7-b602-52b6906c2d70")
    visitor.expected = {401}
    operation.get_by_role("button", name="Try it").click()
    expect(operation.locator(".status")).to_contain_text("401")
    page.locator("#token").fill(token)
    operation.get_by_role("button", name="Try it").click()
    expect(operation.locator(".status")).to_contain_text("200")
    shown = json.loads(operation.locator(".result pre").last.inner_text())
    assert list(shown) == ["count", "values"]
    command = operation.locator(".result pre").first.inner_text()
    assert command.startswith('curl -H "Authorization: Bearer $TOKEN" ')
    assert token not in page.content()


def test_staff_write_with_their_session(visit: NewVisitor) -> None:
    rita = visit("rita")
    rita.open(f"{PAGE}#updateElements")
    operation = rita.page.locator("#updateElements")
    operation.locator("[data-name=facetId]").fill("tags")
    operation.locator("[data-name=viewId]").fill("detail")
    made = {"elements": [{"type": "tag", "attributes": {"name": {"1033": "Tried"}}}]}
    operation.locator("textarea").fill(json.dumps(made))
    operation.get_by_role("button", name="Try it").click()
    expect(operation.locator(".status")).to_contain_text("200")
    assert json.loads(operation.locator(".result pre").last.inner_text())["count"] == 1


def test_on_a_phone_in_german(visit: NewVisitor) -> None:
    visitor = visit(viewport=NARROW, locale="de-DE")
    visitor.open(PAGE)
    page = visitor.page
    assert page.evaluate("document.documentElement.scrollWidth") == NARROW["width"]
    page.get_by_label("Operation finden").fill("transition apply")
    expect(page.locator(".operation:visible")).to_have_count(6)
    page.locator("#applyTransition > summary").click()
    assert page.evaluate("document.documentElement.scrollWidth") == NARROW["width"]
    page.locator("#applyTransition").get_by_role("button", name="Ausprobieren").click()
    assert page.evaluate("document.querySelector('#applyTransition input:invalid').dataset.name") == "elementId"
