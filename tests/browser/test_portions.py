"""A list that tests a part of a large storage at a time, in a real browser (D650)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest
from playwright.sync_api import Route, expect

from tests.browser.conftest import DEMO, NewVisitor
from tests.browser.keyboard import tab_to
from tests.server_process import Server

pytestmark = [pytest.mark.long, pytest.mark.browser]
LARGE = "/demo/large/admin/elements/element/?stage=retired"
ELEMENTS = 12_000


@pytest.fixture(scope="module")
def large(site: Server) -> Iterator[None]:
    """A storage with some portions of elements, none of which is retired."""
    assert site.manage("sample_storage", "demo", "large", str(ELEMENTS), "--plain").returncode == 0
    yield
    assert site.manage("remove_storage", "demo", "large", "--yes").returncode == 0


@pytest.mark.usefixtures("large")
def test_continue_tests_portions_until_the_end(visit: NewVisitor) -> None:
    root = visit("root", at=DEMO)
    page = root.page
    root.open(LARGE)
    note, link = (
        page.get_by_role("status").filter(has_text="tested"),
        page.get_by_role("link", name="Continue searching"),
    )
    expect(note).to_have_text(
        "This page has tested 5000 versions, in the order of their names. There may be more elements."
    )
    root.check_looks(0)
    root.check_looks(1)

    # The person stops while the third portion is on its way.
    sent = count()

    def stop(route: Route) -> None:
        if next(sent):
            page.get_by_role("button", name="Stop").click()
        route.continue_()

    page.route("**/*after=*", stop, times=2)
    tab_to(root, link)
    page.keyboard.press("Enter")
    expect(note).to_have_text("Versions tested so far: 10,000")
    expect(link).to_be_visible()
    assert "after=" not in page.url
    with page.expect_navigation():
        link.click()
    root.settle()
    assert "after=" in page.url
    expect(page.get_by_text("tested", exact=False)).to_have_count(0)
    expect(page.get_by_role("link", name="First page")).to_be_visible()
