"""Copy a link by keyboard, follow it, and print a page (D413 to D416)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.browser.conftest import DEMO, NewVisitor

pytestmark = [pytest.mark.long, pytest.mark.browser]
PROCESS = f"{DEMO}/1033/processes/0d13bb15-a64b-55b7-b602-52b6906c2d70"


def test_a_member_copies_a_permalink_by_keyboard(visit: NewVisitor) -> None:
    vera = visit("vera", permissions=["clipboard-read", "clipboard-write"])
    vera.open(PROCESS)
    title = vera.page.get_by_role("heading", level=1).inner_text()
    vera.page.get_by_role("button", name="Copy link").focus()
    vera.page.keyboard.press("Enter")
    vera.page.get_by_role("status").filter(has_text="The link has been copied.").wait_for()
    vera.check_accessibility()
    copied = vera.page.evaluate("navigator.clipboard.readText()")
    assert re.fullmatch(rf"{vera.base}{DEMO}/_l/[0-9A-Za-z]{{10}}", copied)
    visitor = visit()
    visitor.open(copied)
    assert visitor.page.get_by_role("heading", level=1).inner_text() == title
    # A browser that refuses shows the link.
    vera.page.evaluate("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
    vera.page.get_by_role("button", name="Copy link").click()
    field = vera.page.get_by_label("Copy the link from this field.")
    field.wait_for()
    assert field.input_value() == copied
    vera.check_accessibility()


def test_links_without_scripts(visit: NewVisitor) -> None:
    reader = visit(java_script_enabled=False)
    reader.open(PROCESS)
    assert reader.page.locator(".copy-link code").inner_text() == f"{reader.base}{PROCESS}"
    assert not reader.page.get_by_role("button", name="Copy link").is_visible()
    # Signing in needs scripts.
    signed_in = visit("vera").page.context.storage_state()
    vera = visit(java_script_enabled=False, storage_state=signed_in)
    vera.open(f"{DEMO}/1031/it/?as=list")
    vera.page.get_by_role("button", name="Link kopieren").click()
    assert re.search("/_l/[0-9A-Za-z]{10}$", vera.page.get_by_label("Kopieren Sie den Link").input_value())


def test_a_printed_page_has_a_header_on_every_sheet(visit: NewVisitor, tmp_path: Path) -> None:
    reader = visit()
    reader.open(PROCESS)
    reader.page.emulate_media(media="print")
    head = reader.page.locator(".print-head")
    assert head.is_visible()
    assert "This printed copy is uncontrolled." in head.inner_text()
    assert not reader.page.locator(".top").is_visible()
    assert not reader.page.locator(".copy-link").is_visible()
    reader.page.pdf(path=tmp_path / "page.pdf", format="A4")
    assert (tmp_path / "page.pdf").stat().st_size > 10_000


def test_the_process_map_is_printed_without_backgrounds(visit: NewVisitor) -> None:
    reader = visit()
    reader.open(f"{DEMO}/1033/")
    reader.page.emulate_media(media="print")
    look = "each => [getComputedStyle(each).color, getComputedStyle(each).backgroundColor]"
    assert reader.page.locator(".steps a").first.evaluate(look) == ["rgb(0, 0, 0)", "rgba(0, 0, 0, 0)"]


def test_an_unknown_address_leads_on(visit: NewVisitor) -> None:
    reader = visit()
    reader.expected.add(404)
    assert reader.open(f"{DEMO}/1033/processes/nothing").status == 404
    reader.check_accessibility()
    reader.page.get_by_role("combobox", name="Search for elements").fill("assemble bicycle")
    reader.page.keyboard.press("Enter")
    reader.page.get_by_role("link", name="Assemble bicycle", exact=True).first.wait_for()
