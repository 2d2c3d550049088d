"""The back office by keyboard alone: menus, the way back to a list, and the tasks find, edit, release, reassign and
compare. Every stop shows where the focus is."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.artist import Artist
from tests.browser.conftest import DEMO, NARROW, WIDE, NewVisitor, Visitor
from tests.browser.keyboard import check_focus, is_focused, press, skip_to_content, tab_to
from tests.browser.submitting import call, state_of, submit

pytestmark = [pytest.mark.long, pytest.mark.browser]
OFFICE = f"{DEMO}/admin"
ELEMENTS = f"{OFFICE}/elements/element/"
TREE = f"{OFFICE}/elements/tree/"
TASKS = f"{OFFICE}/release/task/"


def element_page(element: str) -> str:
    return f"{ELEMENTS}{element}/change/"


def menu_of(page: Page, button: Locator) -> Locator:
    return page.locator(f"#{button.get_attribute('popovertarget')}")


def test_the_skip_link_leads_to_the_content(visit: NewVisitor) -> None:
    rita = visit("rita")
    rita.open(f"{OFFICE}/my-work/")
    skip_to_content(rita)
    rita.page.keyboard.press("Tab")
    assert rita.page.evaluate("document.querySelector('main').contains(document.activeElement)")


def test_the_account_menu_opens_by_keyboard(visit: NewVisitor) -> None:
    rita = visit("rita", locale="en-GB")  # in a separate browser, which remembers the theme
    page, keys = rita.page, rita.page.keyboard
    rita.open(f"{OFFICE}/")
    account = page.get_by_role("button", name="Account: rita")
    menu = menu_of(page, account)
    tab_to(rita, account)
    keys.press("Enter")
    expect(menu).to_be_visible()
    rita.check_accessibility()
    keys.press("Escape")
    expect(menu).to_be_hidden()
    check_focus(account)
    keys.press("ArrowDown")
    check_focus(menu.get_by_role("button", name="Light"))
    keys.press("ArrowDown")
    keys.press("Space")
    expect(page.locator("html.dark")).to_be_attached()
    expect(menu.get_by_role("button", name="Dark")).to_have_attribute("aria-pressed", "true")
    rita.check_accessibility(contrast_only=True)
    keys.press("End")
    check_focus(menu.get_by_role("button", name="Sign out", exact=True))
    keys.press("ArrowDown")
    assert is_focused(menu.get_by_role("button", name="Light"))
    keys.press("ArrowUp")
    with page.expect_navigation():
        keys.press("Enter")
    expect(page.get_by_role("link", name="Sign in")).to_be_visible()


def test_the_menu_of_a_row_opens_by_keyboard(visit: NewVisitor) -> None:
    rita = visit("rita")
    page, keys = rita.page, rita.page.keyboard
    rita.open(TASKS)
    button = page.get_by_role("button", name="More actions:").first
    menu = menu_of(page, button)
    skip_to_content(rita)
    tab_to(rita, button)
    keys.press("Space")
    expect(menu).to_be_visible()
    rita.check_accessibility()
    # The Tab key enters the menu; beyond its end, the menu closes.
    keys.press("Tab")
    check_focus(menu.get_by_role("link").first)
    keys.press("End")
    keys.press("Tab")
    expect(menu).to_be_hidden()
    keys.press("Shift+Tab")
    check_focus(button)
    keys.press("ArrowUp")
    last = menu.get_by_role("link").last
    check_focus(last)
    title = last.inner_text().split("\n")[-1]
    with page.expect_navigation():
        keys.press("Enter")
    assert page.title().startswith(f"{title}: ")


def test_the_menu_of_a_row_stays_on_a_phone(visit: NewVisitor) -> None:
    rita = visit("rita", viewport=NARROW)
    rita.open(TASKS)
    button = rita.page.get_by_role("button", name="More actions:").first
    button.click()
    box = menu_of(rita.page, button).bounding_box()
    assert box is not None
    assert (box["x"] >= 0, box["x"] + box["width"] <= NARROW["width"]) == (True, True)
    rita.check_accessibility()


def test_a_list_keeps_its_filters_and_position(visit: NewVisitor) -> None:
    rita = visit("rita")
    page = rita.page
    rita.open(f"{ELEMENTS}?facet=processes&q=")
    page.locator("#result_list tbody").last.scroll_into_view_if_needed()
    address, top = page.url, page.evaluate("scrollY")
    assert top > 0
    rita.follow(page.locator("#result_list tbody").last.get_by_role("link").first)
    rita.follow(page.locator("header").get_by_role("link", name="Elements"))
    assert (page.url, page.evaluate("scrollY")) == (address, top)
    # The navigation leads to the whole list.
    rita.follow(page.get_by_role("navigation", name="Navigation").get_by_role("link", name="Elements"))
    assert (page.url, page.evaluate("scrollY")) == (f"{rita.base}{ELEMENTS}", 0)


def test_a_deletion_leads_back_to_the_filtered_list(visit: NewVisitor, token: str) -> None:
    artist = Artist(visit("rita"), token)
    page = artist.page
    artist.visitor.open(f"{ELEMENTS}?facet=processes")
    address = page.url
    artist.visitor.open(f"{ELEMENTS}{artist.process}/delete/")
    with page.expect_navigation():
        page.locator("#content").get_by_role("button", name="Delete").click()
    assert page.url == address
    expect(page.get_by_text("was deleted.")).to_be_visible()


def test_the_tree_keeps_its_open_branches(visit: NewVisitor) -> None:
    rita = visit("rita")
    page, keys = rita.page, rita.page.keyboard
    rita.open(TREE)
    toggle = page.locator(".el-branch-toggle[role=button]").first
    name = str(toggle.get_attribute("aria-label")).removeprefix("Open ")
    skip_to_content(rita)
    tab_to(rita, toggle)
    keys.press("Space")
    expect(page.get_by_role("button", name=f"Close {name}")).to_be_focused()
    check_focus(page.get_by_role("button", name=f"Close {name}"))
    below = page.locator(".el-branch .el-branch").first.get_by_role("link").first
    press(rita, below)
    assert ELEMENTS in page.url
    press(rita, page.get_by_role("navigation", name="Place in the tree").get_by_role("link", name="Tree"))
    expect(page.get_by_role("button", name=f"Close {name}")).to_be_visible()


def test_an_element_is_found_with_the_search_of_the_list(visit: NewVisitor) -> None:
    rita = visit("rita")
    page, keys = rita.page, rita.page.keyboard
    rita.open(ELEMENTS)
    skip_to_content(rita)
    tab_to(rita, page.locator("#searchbar"))
    keys.type("assemble bicycle")
    with page.expect_navigation():
        keys.press("Enter")
    press(rita, page.locator("#result_list").get_by_role("link", name="Assemble bicycle").first)
    expect(page.get_by_role("heading", level=2, name="Assemble bicycle")).to_be_visible()


def test_filters_open_by_keyboard(visit: NewVisitor) -> None:
    rita = visit("rita")
    page, keys = rita.page, rita.page.keyboard
    rita.open(ELEMENTS)
    filters = page.get_by_role("button", name="Filters")
    skip_to_content(rita)
    tab_to(rita, filters)
    keys.press("Enter")
    panel = page.get_by_role("complementary", name="Filters")
    expect(panel).to_be_visible()
    expect(panel.locator(":focus")).to_have_count(1)
    rita.check_accessibility()
    keys.press("Escape")
    expect(panel).to_be_hidden()
    check_focus(filters)


def test_an_element_is_edited_by_keyboard(visit: NewVisitor, token: str) -> None:
    artist = Artist(visit("rita"), token)
    rita, page, keys = artist.visitor, artist.page, artist.keys
    rita.open(element_page(artist.process))
    skip_to_content(rita)
    press(rita, page.get_by_role("link", name="Edit", exact=True))
    skip_to_content(rita)
    tab_to(rita, page.locator("#content").get_by_role("textbox").first)
    keys.press("Control+a")
    keys.type("Order to payment")
    press(rita, page.get_by_role("button", name="Save", exact=True))
    assert page.url.removesuffix("#content") == rita.base + element_page(artist.process)
    found = artist.get(f"detail/elements/{artist.process}")["elements"][0]["attributes"]["name"]
    assert "Order to payment" in found.values()


def test_a_version_is_released_by_keyboard(visit: NewVisitor, token: str) -> None:
    artist = Artist(visit("rita"), token)
    rita, page, keys = artist.visitor, artist.page, artist.keys
    rita.expected.add(422)
    rita.open(element_page(artist.process))
    skip_to_content(rita)
    press(rita, page.get_by_role("button", name="Release…", exact=True))
    # The page that asks leads to the form, and back.
    press(rita, page.locator("#content").get_by_role("link", name="Edit", exact=True))
    assert page.url.endswith("/edit/")
    rita.open(element_page(artist.process))
    press(rita, page.get_by_role("button", name="Release…", exact=True))
    tab_to(rita, page.get_by_label("Comment for the log"))
    keys.type("Agreed with sales.")
    press(rita, page.get_by_role("button", name="Release", exact=True))
    if (anyway := page.get_by_role("button", name="Release anyway")).count():
        rita.check_accessibility()
        press(rita, anyway)
    assert state_of(rita, token, artist.process) == "released"


def test_a_task_is_reassigned_by_keyboard(visit: NewVisitor, token: str) -> None:
    rita = visit("rita", viewport=WIDE)
    page, keys = rita.page, rita.page.keyboard
    element, name = submit(rita, token, "InProcessToReadyForRelease")
    path = f"/tasks?assignee=all&state=open&element={element}"
    before = call(rita, token, "GET", path)["values"][0].get("assignee")
    rita.open(f"{TASKS}?q={name}")
    skip_to_content(rita)
    tab_to(rita, page.get_by_role("button", name=f"More actions: {name}").first)
    keys.press("ArrowDown")
    reassign = page.locator(".office-menu:popover-open").get_by_role("link", name="Reassign")
    for _ in range(8):
        if is_focused(reassign):
            break
        keys.press("ArrowDown")
    check_focus(reassign)
    with page.expect_navigation():
        keys.press("Enter")
    rita.settle()
    choose_another(rita, page.locator("#content select").first)
    press(rita, page.locator("#content").get_by_role("button", name="Reassign"))
    after = call(rita, token, "GET", path)["values"][0]["assignee"]
    assert after != before


def choose_another(visitor: Visitor, select: Locator) -> None:
    tab_to(visitor, select)
    before = select.input_value()
    visitor.page.keyboard.press("ArrowDown")
    assert select.input_value() != before


def test_versions_are_compared_by_keyboard(visit: NewVisitor, token: str) -> None:
    artist = Artist(visit("rita"), token)
    rita, page, keys = artist.visitor, artist.page, artist.keys
    process = artist.process
    call(rita, token, "POST", f"/release/{process}/transitions/InProcessToReleased?ignoreWarnings=true", {})
    call(rita, token, "POST", f"/release/{process}/createversion", {})
    changed = {"id": process, "type": "mainProcess", "attributes": {"name": {"1033": "Order to payment"}}}
    artist.send("POST", "detail/elements", {"elements": [changed]})
    rita.open(element_page(process))
    skip_to_content(rita)
    press(rita, page.get_by_role("link", name="Versions", exact=True))
    assert page.title().startswith("Versions | ")
    left = page.get_by_role("radio", name="left")
    tab_to(rita, left.last)
    keys.press("ArrowUp")
    check_focus(left.first)
    keys.press("ArrowDown")
    assert left.last.is_checked()
    press(rita, page.get_by_role("button", name="Compare"))
    expect(page.get_by_role("heading", name="From version")).to_be_visible()
    assert page.locator(".el-differences").first.inner_text().count("Order to payment") == 1
    rita.check_accessibility()
