"""Files of an element in the back office and on reader pages, as people use them."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import FilePayload, expect

from tests.browser.conftest import DEMO, NARROW, NewVisitor
from tests.elements.picture_files import png

pytestmark = [pytest.mark.long, pytest.mark.browser]
HOUSE = "c2e41b6e-96c8-5730-b031-6480d83fee01"
FORM = f"{DEMO}/admin/elements/element/{HOUSE}/edit/"
FILES = f"{DEMO}/admin/storage/storedfile/"
FIELD = ".el-files"
PICTURE = FilePayload(name="ground floor.png", mimeType="image/png", buffer=png(90, 30))
MARKUP = FilePayload(name="page.html", mimeType="text/html", buffer=b"<script>alert(1)</script>")


def test_upload_sort_rename_and_remove(visit: NewVisitor) -> None:
    rita = visit("rita")
    rita.open(FORM)
    field = rita.page.locator(FIELD)
    before = field.locator("textarea").input_value()
    items = field.locator(".el-file-list > li")
    count = items.count()
    field.locator("input[type=file]").set_input_files([PICTURE, MARKUP])
    expect(items).to_have_count(count + 2)
    expect(field.locator("[role=status]")).to_contain_text("ground floor.png: Added. Save the element to keep it.")
    preview = field.locator(".el-file-preview")
    preview.scroll_into_view_if_needed()
    expect(preview).to_have_js_property("naturalWidth", 90)
    rita.check_accessibility()
    rita.page.get_by_label("Title: ground floor.png").fill("Ground floor")
    rita.page.get_by_label("Title: ground floor.png").press("Tab")
    rita.page.get_by_role("button", name="Move up: page.html").press("Enter")
    assert items.nth(count).locator("input").input_value() == "page.html"
    rita.page.locator("button[name=_save]").click()
    expect(rita.page.locator(".thumbnail img")).to_have_js_property("naturalWidth", 90)
    try:
        for options in ({}, {"color_scheme": "dark", "viewport": NARROW}):
            reader = visit(locale="en-GB", **options)
            reader.open(f"{DEMO}/1033/processes/{HOUSE}")
            picture = reader.page.locator(".thumbnail img")
            picture.scroll_into_view_if_needed()
            expect(picture).to_have_js_property("naturalWidth", 90)
            assert reader.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            reader.check_accessibility()
            with reader.page.expect_download() as downloaded:
                reader.page.get_by_role("link", name="page.html").click()
            assert downloaded.value.suggested_filename == "page.html"
        rita.open(FILES)
        row = rita.page.get_by_role("row", name="ground floor.png")
        expect(row).to_contain_text("Not read yet")
        rita.check_looks(1)
    finally:
        # Other tests share the storage.
        rita.open(FORM)
        rita.page.get_by_role("button", name="Remove: page.html").click()
        rita.page.get_by_role("button", name="Remove: Ground floor").click()
        assert field.locator("textarea").input_value() == before
        rita.page.locator("button[name=_save]").click()
        expect(rita.page.locator(".el-files")).to_have_count(0)


def test_refused_files_and_text(visit: NewVisitor) -> None:
    rita = visit("rita")
    rita.open(FORM)
    field = rita.page.locator(FIELD)
    field.locator("summary").click()
    field.locator("textarea").fill("[not json")
    field.locator("textarea").press("Tab")
    assert field.locator(".el-file-add").is_hidden()
    field.locator("textarea").fill("")
    field.locator("textarea").press("Tab")
    assert field.locator(".el-file-add").is_visible()


def test_a_refused_upload_is_explained_in_german(visit: NewVisitor) -> None:
    rita = visit("rita", locale="de-DE")
    rita.open(FORM)
    field = rita.page.locator(FIELD)
    refused = json.dumps({"message": "Too many files."})
    rita.page.route("**/_api/rest/files?*", lambda route: route.fulfill(status=429, body=refused))
    field.locator("input[type=file]").set_input_files([PICTURE])
    text = "ground floor.png: Der Server empfängt zu viele Dateien. Versuchen Sie es in einigen Sekunden erneut."
    expect(field.locator("[role=status]")).to_have_text(text)
    rita.faults.clear()
