"""A release with warnings, and a stuck task."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.conftest import DEMO, NewVisitor, Visitor
from tests.browser.stuck_task import API, stuck_request
from tests.server_process import Server

pytestmark = [pytest.mark.long, pytest.mark.browser]
OFFICE = f"{DEMO}/admin"


def read(visitor: Visitor, path: str) -> Any:
    response = visitor.page.request.get(visitor.base + API + path)
    assert response.ok, response.text()
    return response.json()


def test_warnings_are_shown_and_confirmed(visit: NewVisitor) -> None:
    rita = visit("rita")
    rita.expected.add(422)
    rita.open(f"{OFFICE}/elements/element/?q=carbon")
    rita.check_accessibility()
    rita.follow(rita.page.get_by_role("link", name="Carbon footprint per bicycle"))
    rita.check_accessibility()
    element = rita.page.url.split("/element/")[1].split("/")[0]
    offered = read(rita, f"/release/{element}/transitions")["values"]
    offers = rita.page.locator("form.el-offers").first
    assert offers.locator(".el-offer").count() == len(offered)
    offers.get_by_text("Add a comment").click()
    offers.get_by_label("Comment for the log").fill("Agreed with sales.")
    offers.get_by_role("button", name="Release…", exact=True).click()
    rita.page.get_by_text("All readers will see this version.").wait_for()
    assert rita.page.get_by_label("Comment for the log").input_value() == "Agreed with sales."
    rita.check_accessibility()
    rita.follow(rita.page.get_by_role("button", name="Release", exact=True))
    assert rita.page.get_by_text("No reason for the revision is given (Reason for revision).").first.is_visible()
    assert read(rita, f"/facets/kpi/views/detail/elements/{element}")["elements"][0]["state"] == "inProcess"
    rita.follow(rita.page.get_by_role("button", name="Release anyway"))
    found = read(rita, f"/facets/kpi/views/detail/elements/{element}")["elements"][0]
    assert (found["state"], found["attributes"]["version"]["127"]) == ("released", "1.0")


def test_a_stuck_task_shows_the_reason_and_is_decided_on_behalf(visit: NewVisitor, site: Server, token: str) -> None:
    element = stuck_request(site, token)
    rita = visit("rita")
    rita.open(f"{OFFICE}/")
    rita.follow(rita.page.get_by_role("link", name="Stuck tasks").first)
    rita.check_accessibility()
    row = rita.page.locator("tr", has_text="Cargo bike")
    assert "inactive" in row.inner_text()
    row.locator("input[type=checkbox]").first.check()
    rita.page.locator("select[name=action]").select_option(label="Reject")
    rita.follow(rita.page.locator("button[name=index]"))
    rita.page.locator("textarea[name=comment]").fill("Nobody else can decide this.")
    rita.check_accessibility()
    rita.follow(rita.page.locator("#content form button[type=submit]").last)
    tasks = read(rita, f"/tasks?assignee=all&state=rejected&element={element}")["values"]
    assert [(each["state"], each["decision"]) for each in tasks] == [("rejected", "Nobody else can decide this.")]
