"""A site administrator sets up a provider that is not ours; a new employee signs in there, and signs out again."""

from __future__ import annotations

import json
from urllib.request import Request, urlopen

import pytest

from tests.browser.conftest import DEMO, NewVisitor
from tests.mock_provider import MockProvider

pytestmark = [pytest.mark.long, pytest.mark.browser]
CLAIMS = {"email": "ada@example.org", "email_verified": True, "given_name": "Ada", "groups": ["editors"]}


def test_a_new_employee(visit: NewVisitor) -> None:
    with MockProvider() as mock:
        urlopen(
            Request(
                f"{mock.issuer}/users/ada",
                json.dumps(CLAIMS).encode(),
                {"Content-Type": "application/json"},
                method="PUT",
            ),
            timeout=10,
        ).close()
        root = visit("root")
        page = root.page
        root.open("/admin/storage/identityprovider/add/")
        given = {
            "name": "Mock ID",
            "key": "mock",
            "issuer": mock.issuer,
            "client_id": "repository",
            "client_secret": "secret",
        }
        for name, value in given.items():
            page.locator(f"input[name={name}]").fill(value)
        page.locator("select[name=collection]").select_option(label="demo")
        page.locator("textarea[name=mail_domains]").fill("example.org")
        root.check_looks(0)
        page.get_by_role("button", name="Save").click()
        page.wait_for_url("**/rules/")
        page.get_by_label("Claim", exact=True).first.fill("groups")
        page.get_by_label("Text", exact=True).first.fill("editors")
        page.get_by_label("Storage", exact=True).first.select_option(label="demo/showcase")
        page.get_by_label("Editor", exact=True).first.check()
        page.get_by_label("Claims, as JSON").fill(json.dumps({"sub": "ada", **CLAIMS}))
        page.get_by_role("button", name="Try out").click()
        assert page.get_by_role("row", name="demo/showcase Editor Rule 1").is_visible()
        root.check_looks(1)
        page.get_by_role("button", name="Save rules").click()
        page.wait_for_load_state("networkidle")
        assert page.get_by_text("The rules have been saved.").is_visible()

        ada = visit()
        ada.open(f"{DEMO}/admin/login/")
        ada.check_looks(0)
        ada.page.get_by_role("link", name="Sign in with Mock ID").click()
        ada.page.get_by_placeholder("sub").fill("ada")
        ada.page.get_by_role("button", name="Authorize").click()
        ada.page.wait_for_url(f"**{DEMO}/admin/**")
        assert ada.page.get_by_role("heading", name="My work").first.is_visible() or ada.page.url.endswith("/admin/")
        ada.open(f"{DEMO}/1033/")
        ada.page.get_by_role("button", name="Sign out").click()
        ada.page.get_by_role("button", name="End session").click()
        ada.page.wait_for_url("**/admin/login/")
        ada.open(f"{DEMO}/admin/")
        assert "/admin/login/" in ada.page.url

        root.open("/admin/storage/identityprovider/")
        page.get_by_role("link", name="Mock ID").click()
        page.get_by_role("link", name="Remove").click()
        page.get_by_role("button", name="Remove").click()
        page.wait_for_url("**/identityprovider/")
