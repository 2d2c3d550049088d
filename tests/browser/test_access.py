"""Permission sets in the back office: limit an element by keyboard, read who can see it and why, and all sets."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.artist import Artist
from tests.browser.conftest import DEMO, NewVisitor, Visitor
from tests.browser.keyboard import press, tab_to
from tests.browser.submitting import call

pytestmark = [pytest.mark.long, pytest.mark.browser]
OFFICE = f"{DEMO}/admin"


def choose(visitor: Visitor, label: str, name: str) -> None:
    field = visitor.page.get_by_role("combobox", name=label, exact=True)
    tab_to(visitor, field)
    with visitor.page.expect_response(lambda response: name.split()[-1] in response.url):
        visitor.page.keyboard.type(name)
    option = visitor.page.get_by_role("option", name=name)
    expect(option).to_be_visible()
    visitor.page.keyboard.press("ArrowDown")
    visitor.page.keyboard.press("Enter")


def test_an_element_is_limited_by_keyboard(visit: NewVisitor, token: str) -> None:
    artist = Artist(visit("root"), token)
    root, page = artist.visitor, artist.page
    group = {"type": "userGroup", "attributes": {"name": {"1031": "Vorstand", "1033": "Board"}}}
    call(root, token, "POST", "/facets/usergroups/views/detail/elements", {"elements": [group]})
    root.open(f"{OFFICE}/elements/element/{artist.process}/change/?tab=access")
    expect(page.get_by_text("There is no permission set")).to_be_visible()
    root.check_looks(0)
    link = page.get_by_role("link", name="Add a permission set to this element")
    press(root, link)
    choose(root, "Show", "Board")
    root.check_looks(1)
    press(root, page.get_by_role("button", name="Save", exact=True))
    expect(page.get_by_text("The permission set has been changed.")).to_be_visible()
    expect(page.get_by_role("row", name="Show Board")).to_be_visible()
    root.check_looks(1)
    root.open(f"{OFFICE}/permission-sets/")
    root.check_looks(0)
    root.follow(page.get_by_role("link", name="Change the permission set of IT"))
    root.check_looks(1)
