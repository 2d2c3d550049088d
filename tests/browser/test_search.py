"""Finding an element with the keyboard alone: on reader pages and with Ctrl+K in the back office."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import DEMO, NARROW, NewVisitor

pytestmark = [pytest.mark.long, pytest.mark.browser]
NAME = "Assemble bicycle"
PRESSES = 60
"""Presses of the Tab key after which a place counts as out of reach."""


def tab_to(page: Page, selector: str) -> None:
    for _ in range(PRESSES):
        page.keyboard.press("Tab")
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
    raise AssertionError(f"The Tab key does not reach {selector}.")


def test_a_reader_chooses_a_suggestion(visit: NewVisitor) -> None:
    reader = visit(viewport=NARROW, color_scheme="dark")
    page = reader.page
    reader.open(f"{DEMO}/1033/")
    tab_to(page, "#q")
    page.keyboard.type("assemble bic")
    options = page.get_by_role("listbox", name="Suggestions").get_by_role("option")
    expect(options.filter(has_text=NAME).first).to_be_visible()
    field = page.get_by_role("combobox", name="Search for elements")
    expect(field).to_have_attribute("aria-expanded", "true")
    reader.check_accessibility()
    page.keyboard.press("Escape")
    expect(options).to_have_count(0)
    expect(field).to_have_value("assemble bic")
    page.keyboard.press("ArrowDown")
    expect(options.first).to_be_visible()
    page.keyboard.press("ArrowDown")
    expect(options.first).to_have_attribute("aria-selected", "true")
    assert field.get_attribute("aria-activedescendant") == options.first.get_attribute("id")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text(NAME)


def test_enter_searches_for_a_text_that_was_changed_after_a_choice(visit: NewVisitor) -> None:
    """The chosen suggestion belongs to the text before. Enter comes before there are others."""
    reader = visit()
    page = reader.page
    reader.open(f"{DEMO}/1033/")
    field = page.get_by_role("combobox", name="Search for elements")
    field.focus()
    page.keyboard.type("assemble bic")
    options = page.get_by_role("listbox", name="Suggestions").get_by_role("option")
    expect(options.first).to_be_visible()
    page.keyboard.press("ArrowDown")
    expect(options.first).to_have_attribute("aria-selected", "true")
    page.keyboard.type("x")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Search for “assemble bicx”")


def test_a_reader_narrows_the_results(visit: NewVisitor) -> None:
    reader = visit(viewport=NARROW, color_scheme="dark")
    page = reader.page
    reader.open(f"{DEMO}/1033/")
    tab_to(page, "#q")
    page.keyboard.type("bicycle")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Search for “bicycle”")
    assert page.locator("main mark").count()
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
    reader.check_accessibility()
    tab_to(page, ".narrowing a[href*='facet=processes']")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    expect(page.locator(".narrowing a[aria-current]")).to_have_count(1)
    tab_to(page, ".hits a")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert "/1033/processes/" in page.url


def test_the_search_works_without_scripts(visit: NewVisitor) -> None:
    reader = visit(java_script_enabled=False)
    reader.open(f"{DEMO}/1033/")
    reader.page.get_by_role("searchbox", name="Search for elements").fill("asemble bicycle")
    reader.page.keyboard.press("Enter")
    reader.page.get_by_role("link", name="assemble bicycle").click()
    expect(reader.page.locator("main").get_by_role("link", name=NAME, exact=True)).to_be_visible()


def test_ctrl_k_opens_an_element_and_a_page(visit: NewVisitor) -> None:
    rita = visit("rita")
    page = rita.page
    rita.open(f"{DEMO}/admin/")
    page.keyboard.press("Control+k")
    field = page.get_by_role("combobox", name="Search for pages and elements")
    expect(field).to_be_focused()
    page.keyboard.type("assemble bicycle")
    options = page.get_by_role("listbox", name="Found").get_by_role("option")
    expect(options.first).to_have_attribute("aria-selected", "true")
    expect(options.first).to_contain_text(NAME)
    rita.check_accessibility()
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert "/admin/elements/element/" in page.url
    expect(page.locator("#content")).to_contain_text(NAME)
    # The button does the same, and Escape leads back to it.
    tab_to(page, "[data-opens-search]")
    page.keyboard.press("Enter")
    expect(field).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("[data-opens-search]").first).to_be_focused()
    page.keyboard.press("Control+k")
    # Enter may come before the results.
    page.keyboard.type("tree")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert page.url.endswith("/admin/elements/tree/")
