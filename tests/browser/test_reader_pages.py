"""The reader pages: from `appUrl` to a shape and back, in two languages, without content that viewers must not see."""

from __future__ import annotations

import pytest

from tests.browser.conftest import DEMO, NARROW, NewVisitor
from tests.server_process import Server

pytestmark = [pytest.mark.long, pytest.mark.browser]


def test_from_the_application_to_a_shape_and_back_in_two_languages(visit: NewVisitor, site: Server) -> None:
    reader = visit()
    info = reader.page.request.get(f"{reader.base}{DEMO}/_api/rest/info").json()
    reader.open(info["appUrl"])
    assert reader.page.url.endswith(f"{DEMO}/1033/")
    reader.check_accessibility()
    reader.follow(reader.page.locator("main").get_by_role("link", name="Processes").first)
    reader.check_accessibility()
    reader.page.get_by_role("combobox", name="Search for elements").fill("assemble bicycle")
    with reader.page.expect_navigation():
        reader.page.keyboard.press("Enter")
    reader.check_accessibility()
    reader.follow(reader.page.locator("main").get_by_role("link", name="Assemble bicycle", exact=True))
    assert reader.page.get_by_role("heading", level=1).inner_text() == "Assemble bicycle"
    reader.check_accessibility()
    process = reader.page.url
    reader.follow(reader.page.locator("svg a", has_text="Provide parts"))
    assert reader.page.get_by_role("heading", level=1).inner_text() == "Provide parts"
    reader.follow(reader.page.locator("a[hreflang^=de]"))
    assert "/1031/" in reader.page.url
    assert reader.page.locator("html").get_attribute("lang") in ("de", "de-DE")
    assert reader.page.get_by_role("heading", level=1).inner_text() != "Provide parts"
    reader.check_accessibility()
    reader.page.go_back()
    reader.page.go_back()
    reader.page.wait_for_url(process)


def test_a_phone_shows_a_process_without_scrolling_sideways(visit: NewVisitor) -> None:
    reader = visit(viewport=NARROW)
    reader.open(f"{DEMO}/1033/search?q=assemble+bicycle")
    reader.follow(reader.page.locator("main").get_by_role("link", name="Assemble bicycle", exact=True))
    width = reader.page.evaluate("document.documentElement.scrollWidth")
    assert width <= NARROW["width"]
    reader.check_accessibility()


def test_pages_work_without_scripts(visit: NewVisitor) -> None:
    reader = visit(java_script_enabled=False)
    reader.open(f"{DEMO}/1033/")
    reader.page.locator("main").get_by_role("link", name="Processes").first.click()
    assert reader.page.get_by_role("heading", level=1).is_visible()


def test_a_viewer_does_not_see_a_version_in_review(visit: NewVisitor) -> None:
    rita, vera = visit("rita"), visit("vera")
    drafts = rita.page.request.get(
        f"{rita.base}{DEMO}/_api/rest/facets/inputsoutputs/views/detail/elements?$filter=state%20-eq%20inReview"
    ).json()["elements"]
    page = drafts[0]["attributes"]["gotoUrl"]["1033"]
    name = drafts[0]["attributes"]["name"]["1033"]
    assert rita.open(page).status == 200
    vera.expected.add(404)
    assert vera.open(page).status == 404
    assert name not in vera.page.content()


def test_a_viewer_chooses_mails_on_a_phone(visit: NewVisitor) -> None:
    vera = visit("vera", viewport=NARROW, color_scheme="dark")
    vera.open(f"{DEMO}/1033/")
    vera.page.get_by_role("link", name="My account").click()
    vera.page.get_by_label("A task for me").select_option("daily")
    vera.page.get_by_role("button", name="Save").click()
    assert vera.page.get_by_role("status").inner_text() == "Your choice has been saved."
    assert vera.page.get_by_label("A task for me").input_value() == "daily"
    assert not vera.page.evaluate("document.documentElement.scrollWidth > innerWidth")
    vera.check_accessibility()


def test_a_role_shows_what_people_do_on_screens_of_any_size(visit: NewVisitor) -> None:
    wide, narrow = visit(), visit(viewport=NARROW, color_scheme="dark")
    for reader in (wide, narrow):
        reader.open(f"{DEMO}/1033/search?q=warehouse+clerk")
        reader.follow(reader.page.locator("main").get_by_role("link", name="Warehouse clerk", exact=True).first)
        assert reader.page.get_by_role("heading", level=2, name="As Warehouse clerk you do:").is_visible()
        reader.check_accessibility()
        reader.open(f"{reader.page.url}/uses")
        assert reader.page.get_by_role("heading", level=1).inner_text() == "Where Warehouse clerk is used"
        assert reader.page.evaluate("document.documentElement.scrollWidth") <= reader.page.evaluate("innerWidth")
        reader.check_accessibility()
    step = wide.page.locator(".uses ol a").first
    name = step.inner_text()
    wide.follow(step)
    assert wide.page.get_by_role("heading", level=1).inner_text() == name
