"""A token is issued in the back office, its value is shown once, and the API accepts it."""

from __future__ import annotations

import re

import pytest

from tests.browser.conftest import DEMO, NewVisitor
from tests.server_process import Server

pytestmark = [pytest.mark.long, pytest.mark.browser]
TOKENS = f"{DEMO}/admin/storage/apitoken/"


def test_a_token_is_issued_and_calls_the_api(visit: NewVisitor, site: Server) -> None:
    rita = visit("rita")
    rita.open(TOKENS)
    rita.check_accessibility()
    rita.follow(rita.page.locator(f"a[href='{TOKENS}issue/'], a[href='{TOKENS}add/']").first)
    rita.check_accessibility()
    rita.page.locator("input[name=name]").fill("importer")
    rita.page.locator("input[name=roles][value=editor]").check()
    rita.follow(rita.page.get_by_role("button", name="Issue").last)
    rita.check_accessibility()
    shown = rita.page.locator("body").inner_text()
    value = re.search(r"crt_[\w-]{20,}", shown + " ".join(_values(rita.page)))
    assert value is not None
    assert "curl" in shown
    status, info = site.request("GET", f"{DEMO}/_api/rest/info", None, {"Authorization": f"Bearer {value[0]}"})
    assert (status, info["title"]) == (200, "Showcase")
    rita.open(TOKENS)
    assert value[0] not in rita.page.content()
    assert rita.page.get_by_role("link", name="importer").is_visible()


def _values(page: object) -> list[str]:
    found: list[str] = page.evaluate("[...document.querySelectorAll('input')].map(each => each.value)")  # type: ignore[attr-defined]
    return found
