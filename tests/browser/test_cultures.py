"""The pages about cultures and translations in a real browser."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import DEMO, NewVisitor
from tests.browser.keyboard import press, skip_to_content

pytestmark = [pytest.mark.long, pytest.mark.browser]
OFFICE = f"{DEMO}/admin"


def test_a_culture_is_added_and_removed_by_keyboard(visit: NewVisitor) -> None:
    rita = visit("rita")
    page, keys = rita.page, rita.page.keyboard
    rita.open(f"{OFFICE}/cultures/")
    rita.check_looks(0)
    page.get_by_label("Culture", exact=True).focus()
    keys.type("Italian (Italy)")
    with page.expect_navigation():
        page.get_by_role("button", name="Add", exact=True).press("Enter")
    expect(page.get_by_role("row", name="Italian (1040)")).to_contain_text("optional")
    rita.open(f"{OFFICE}/translations/?culture=1040&facet=processes")
    expect(page.get_by_role("table")).to_be_visible()
    rita.check_looks(1)
    rita.open(f"{OFFICE}/cultures/")
    skip_to_content(rita)
    press(rita, page.get_by_role("link", name="Remove Italian"))
    expect(page.get_by_text("Nothing uses Italian.")).to_be_visible()
    rita.check_accessibility()
    with page.expect_navigation():
        page.get_by_role("button", name="Remove", exact=True).press("Enter")
    expect(page.get_by_text("The culture Italian was removed.")).to_be_visible()
    rita.open(f"{OFFICE}/cultures/1031/remove/")
    expect(page.get_by_text("versions with values:")).to_be_visible()
    rita.check_looks(0)
