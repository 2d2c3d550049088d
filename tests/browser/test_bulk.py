"""Bulk changes in the back office by keyboard: select, choose, preview, run and read the report (D471)."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import DEMO, NARROW, WIDE, NewVisitor, Visitor
from tests.browser.keyboard import check_focus, press, tab_to

pytestmark = [pytest.mark.long, pytest.mark.browser]
OFFICE = f"{DEMO}/admin"
LIST = f"{OFFICE}/elements/element/?facet=processes&state=inProcess"


def check_looks(visitor: Visitor) -> None:
    """Check a page in light and dark colours, and that it fits a phone."""
    page = visitor.page
    visitor.check_accessibility()
    page.evaluate("document.documentElement.classList.add('dark')")
    visitor.check_accessibility(contrast_only=True)
    page.evaluate("document.documentElement.classList.remove('dark')")
    page.set_viewport_size(NARROW)
    width = page.evaluate("document.documentElement.scrollWidth")
    page.set_viewport_size(WIDE)
    assert width <= NARROW["width"], page.url


def test_elements_are_selected_and_changed_by_keyboard(visit: NewVisitor) -> None:
    visitor = visit("rita", viewport=WIDE)
    visitor.open(LIST)
    page = visitor.page
    visitor.page.locator("details.el-list-options summary").click()
    check_looks(visitor)
    tab_to(visitor, page.get_by_label("Save this list as"))
    page.keyboard.type("Drafts")
    press(visitor, page.locator("details.el-list-options").get_by_role("button", name="Save"))
    assert page.get_by_role("link", name="Drafts").is_visible()
    boxes = page.locator("input[name=_selected_action]")
    chosen = min(boxes.count(), 2)
    assert chosen
    for place in range(chosen):
        tab_to(visitor, boxes.nth(place))
        page.keyboard.press("Space")
    tab_to(visitor, page.locator("select[name=action]"))
    page.locator("select[name=action]").select_option("change_in_bulk")
    press(visitor, page.locator("#changelist-actions button[type=submit]"))
    check_looks(visitor)
    what = page.get_by_label("Operation")
    tab_to(visitor, what)
    what.select_option("set:purp")
    press(visitor, page.get_by_role("button", name="Next"))
    check_looks(visitor)
    tab_to(visitor, page.get_by_role("textbox", name="Purpose (English)"))
    page.keyboard.type("Changed together.")
    press(visitor, page.get_by_role("button", name="Preview"))
    check_looks(visitor)
    assert page.get_by_text(f"{chosen} of {chosen} elements, done").is_visible()
    button = page.get_by_role("button", name="Change ")
    if button.count():
        press(visitor, button)
        assert page.get_by_text(f"{chosen} of {chosen} elements, done").is_visible()
    visitor.open(f"{OFFICE}/elements/bulk/runs/")
    check_looks(visitor)
    assert page.get_by_text("Set: Purpose = Changed together.").first.is_visible()


def test_a_whole_list_is_previewed(visit: NewVisitor) -> None:
    visitor = visit("rita", viewport=WIDE)
    visitor.open(LIST)
    press(visitor, visitor.page.get_by_role("link", name="Change all elements of this list"))
    what = visitor.page.get_by_label("Operation")
    tab_to(visitor, what)
    what.select_option("clear:owner")
    press(visitor, visitor.page.get_by_role("button", name="Next"))
    assert visitor.page.get_by_text("Clear: Owner").is_visible()


def test_a_waiting_run_is_stopped_by_keyboard(visit: NewVisitor) -> None:
    """The page shows the progress by itself, and the focus stays where it is. The server has no worker."""
    visitor = visit("rita", viewport=WIDE)
    page = visitor.page
    visitor.open(f"{OFFICE}/elements/element/")
    press(visitor, page.get_by_role("link", name="Change all elements of this list"))
    what = page.get_by_label("Operation")
    tab_to(visitor, what)
    what.select_option("clear:owner")
    press(visitor, page.get_by_role("button", name="Next"))
    assert page.get_by_text("elements, waiting").is_visible()
    check_looks(visitor)
    stop = page.get_by_role("button", name="Stop")
    tab_to(visitor, stop)
    stop.evaluate("each => each.classList.add('shown-first')")
    expect(page.locator(".shown-first")).to_have_count(0)
    expect(stop).to_be_focused()
    check_focus(stop)
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert page.get_by_text("elements, stopped").is_visible()
    assert page.get_by_text("Stopped by the caller.").is_visible()
    assert not stop.is_visible()
