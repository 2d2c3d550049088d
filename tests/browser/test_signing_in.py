"""Signing in, and the pages that each role then sees."""

from __future__ import annotations

import pytest

from tests.browser.conftest import DEMO, NewVisitor

pytestmark = [pytest.mark.long, pytest.mark.browser]


def test_signing_in_leads_to_my_work(visit: NewVisitor) -> None:
    rita = visit()
    rita.sign_in("rita", DEMO)
    assert rita.page.url.endswith("/demo/showcase/admin/my-work/")
    assert rita.page.get_by_role("heading", name="My work").first.is_visible()
    rita.check_accessibility()


def test_the_other_tenant_is_not_there(visit: NewVisitor) -> None:
    rita = visit("rita")
    rita.expected.add(404)
    assert rita.open("/rival/showcase/admin/").status == 404
