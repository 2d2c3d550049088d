"""SCIM tokens and people of a directory in the site's back office (D541, D543)."""

from __future__ import annotations

import re

import pytest

from storage.models import ApiToken, IdentityProvider, StaffAccount, Storage
from tests.storage.office import site_administrator
from tests.storage.scim.directory import TestedDirectory

pytestmark = pytest.mark.django_db
PROVIDERS, TOKENS = "/admin/storage/identityprovider/", "/admin/storage/apitoken/"


def test_a_token_is_issued_on_the_page_of_the_provider(provider: IdentityProvider, storage: Storage) -> None:
    root = site_administrator()
    page = f"{PROVIDERS}{provider.pk}"
    assert "http://testserver/acme/scim/v2" in root.get(f"{page}/change/").content.decode()
    form = f"{TOKENS}add/?place=scim:{provider.pk}"
    assert root.get(f"{page}/issue-token/")["Location"] == form
    text = root.get(form).content.decode()
    assert re.search(rf'<option value="scim:{provider.pk}" selected>', text)
    ticket = re.search(r'name="ticket" value="([^"]+)"', text)
    assert ticket
    given = {"name": "Entra ID", "place": f"scim:{provider.pk}", "ticket": ticket[1]}
    refused = root.post(f"{TOKENS}add/", {**given, "is_read_only": "on"}).content.decode()
    assert "A SCIM token can be limited to networks only." in refused
    issued = root.post(f"{TOKENS}add/", given).content.decode()
    value = re.search(r"crt_[\w-]+", issued)
    assert value
    assert "http://testserver/acme/scim/v2/Users" in issued
    directory = TestedDirectory(value[0])
    directory.person("jo")
    directory.person("kim", "elsewhere.example")
    directory.group("editors")
    text = " ".join(root.get(f"{page}/change/").content.decode().split())
    assert "people: 2, groups: 1, inactive people: 0, active people without an account: 1." in text
    token = ApiToken.objects.get()
    assert "SCIM for Acme ID, collection acme" in root.get(TOKENS).content.decode()
    assert root.post(f"{TOKENS}{token.pk}/revoke/").status_code == 302
    assert directory.ask("GET", "Users").status_code == 401


def test_only_providers_of_a_collection_have_a_directory(provider: IdentityProvider) -> None:
    provider.collection = None
    provider.save()
    root = site_administrator()
    back = root.get(f"{PROVIDERS}{provider.pk}/issue-token/")
    assert back["Location"] == f"{PROVIDERS}{provider.pk}/change/"
    assert "scim:" not in root.get(f"{TOKENS}add/").content.decode()


def test_a_site_administrator_has_the_last_word(directory: TestedDirectory, provider: IdentityProvider) -> None:
    """A directory no longer changes what somebody has changed by hand in the back office."""
    jo = directory.person("jo", active=True)
    directory.patch(f"Users/{jo['id']}", {"op": "replace", "path": "active", "value": False})
    account = StaffAccount.objects.get()
    root = site_administrator()
    given = {
        "username": account.username,
        "email": account.email,
        "memberships-TOTAL_FORMS": "0",
        "memberships-INITIAL_FORMS": "0",
    }
    for wanted in ({"is_active": "on"}, {}):
        assert root.post(f"/admin/storage/staffaccount/{account.pk}/change/", given | wanted).status_code == 302
    account.refresh_from_db()
    assert (account.is_active, account.deactivated_by) == (False, None)
    directory.patch(f"Users/{jo['id']}", {"op": "replace", "path": "active", "value": True})
    account.refresh_from_db()
    assert not account.is_active
