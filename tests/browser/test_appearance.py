"""The look that an administrator chooses, in light and dark pages and on a phone."""

from __future__ import annotations

import pytest

from tests.browser.conftest import DEMO, NARROW, NewVisitor
from tests.elements.picture_files import png

pytestmark = [pytest.mark.long, pytest.mark.browser]
PAGE = f"{DEMO}/admin/appearance/"
HEADER = "getComputedStyle(document.querySelector('.top-row')).backgroundColor"


def test_colour_and_logo_are_readable_everywhere(visit: NewVisitor) -> None:
    rita = visit("rita")
    rita.open(PAGE)
    rita.check_accessibility()
    rita.page.locator("#id-color").fill("#ffd800")
    rita.page.locator("#id-logo").set_input_files({"name": "logo.png", "mimeType": "image/png", "buffer": png(90, 30)})
    rita.follow(rita.page.locator("button[name=_save]"))
    try:
        for options in ({}, {"color_scheme": "dark"}, {"viewport": NARROW}):
            reader = visit(locale="en-GB", **options)
            reader.open(f"{DEMO}/1033/")
            assert reader.page.evaluate(HEADER) == "rgb(255, 216, 0)"
            assert reader.page.evaluate("document.querySelector('.logo').naturalWidth") == 90
            assert reader.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            reader.check_accessibility()
        assert not reader.page.get_by_role("link", name="Risks", exact=True).is_visible()
        reader.page.get_by_text("Browse", exact=True).click()
        reader.page.get_by_role("link", name="Risks", exact=True).click()
        reader.page.wait_for_url("**/1033/risks/")
    finally:
        # Other tests share the storage.
        rita.open(PAGE)
        rita.page.locator("#id-color").fill("")
        rita.page.locator("input[name=remove-logo]").check()
        rita.follow(rita.page.locator("button[name=_save]"))
