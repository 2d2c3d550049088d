"""The landing page: accessible in light and dark, on a phone, with the keyboard and without scripts."""

from __future__ import annotations

import pytest

from tests.browser.conftest import DEMO, NARROW, NewVisitor

pytestmark = [pytest.mark.long, pytest.mark.browser]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_staff_reach_their_storage_with_the_keyboard(visit: NewVisitor, scheme: str) -> None:
    rita = visit("rita", color_scheme=scheme)
    rita.open("/")
    rita.check_accessibility()
    link = rita.page.get_by_role("link", name="Showcase", exact=True)
    for _ in range(10):
        rita.page.keyboard.press("Tab")
        if link.evaluate("each => each === document.activeElement"):
            break
    with rita.page.expect_navigation():
        rita.page.keyboard.press("Enter")
    assert rita.page.url.endswith(f"{DEMO}/1033/")


def test_a_phone_shows_it_in_german_without_scrolling_sideways(visit: NewVisitor) -> None:
    visitor = visit(viewport=NARROW, locale="de-DE")
    visitor.open("/")
    assert visitor.page.get_by_role("link", name="Anmelden").first.is_visible()
    assert visitor.page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
    assert visitor.page.get_by_text("Showcase").count() == 0
    visitor.check_accessibility()


def test_it_leads_to_the_sign_in_page_and_back_without_scripts(visit: NewVisitor) -> None:
    visitor = visit(java_script_enabled=False)
    visitor.open("/")
    visitor.page.get_by_role("link", name="Sign in").first.click()
    assert visitor.page.url.endswith("/admin/login/?next=/")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_leads_everybody_to_the_api_reference(visit: NewVisitor, scheme: str) -> None:
    visitor = visit(viewport=NARROW, color_scheme=scheme)
    visitor.open("/")
    with visitor.page.expect_navigation():
        visitor.page.get_by_role("link", name="API reference").click()
    assert visitor.page.url.endswith("/api/")
    assert visitor.page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
    visitor.check_accessibility()
    visitor.page.locator("#getStorageInfo > summary").click()
    form = visitor.page.locator("#getStorageInfo form")
    collection, storage = DEMO.strip("/").split("/")
    form.locator("[data-name=collectionId]").fill(collection)
    form.locator("[data-name=storageId]").fill(storage)
    form.get_by_role("button", name="Try it").click()
    form.get_by_text("200 OK").wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_badges_of_states_can_be_read(visit: NewVisitor, scheme: str) -> None:
    rita = visit("rita", color_scheme=scheme)
    rita.open(f"{DEMO}/1033/search?q=a")
    assert rita.page.locator(".state").count()
    rita.check_accessibility()
    rita.open(f"{DEMO}/admin/elements/element/?stage=review")
    assert {each.get_attribute("class") for each in rita.page.locator(".field-state .state").all()} == {
        "state state-review"
    }
    rita.check_accessibility()
