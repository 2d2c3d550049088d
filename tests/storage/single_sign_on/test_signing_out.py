"""Signing out at the provider, and sessions that the provider ends (D507)."""

from __future__ import annotations

import time
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client

from storage.accounts.sessions import sessions_of
from storage.models import IdentityProvider, StaffAccount
from storage.single_sign_on.outgoing_requests import forget_providers
from storage.single_sign_on.signed_tokens import LOGOUT_EVENT
from tests.identity_provider import JO, TestedProvider, sign_in

pytestmark = pytest.mark.django_db
OFFICE = "/acme/handbook/admin/"
PASSWORD = "correct horse battery"


def is_signed_in(client: Client) -> bool:
    return "_auth_user_id" in client.session


@pytest.mark.parametrize("role", ["editor", "viewer"])
def test_signing_out_leads_to_the_provider(here: IdentityProvider, there: TestedProvider, role: str) -> None:
    here.rules.update(roles=[role])
    sign_in(client := Client(), there)
    page = client.post(f"{OFFICE}logout/")
    assert not is_signed_in(client)
    address = unescape(page.content.decode().partition('content="0; url=')[2].partition('"')[0])
    assert address.startswith(f"{there.issuer}/end?")
    given = parse_qs(urlsplit(address).query)
    assert given["client_id"] == ["repository"]
    assert given["post_logout_redirect_uri"] == ["http://testserver/admin/login/"]
    assert given["id_token_hint"][0].count(".") == 2


@pytest.mark.parametrize("metadata", [{"end_session_endpoint": None}, {"end_session_endpoint": "javascript:alert(1)"}])
def test_providers_without_an_end(here: IdentityProvider, there: TestedProvider, metadata: Any) -> None:
    there.changed_metadata = metadata
    forget_providers()
    sign_in(client := Client(), there)
    page = client.post(f"{OFFICE}logout/")
    assert b"refresh" not in page.content
    assert not is_signed_in(client)


def logout_token(there: TestedProvider, **changes: Any) -> str:
    now = int(time.time())
    claims = {"iss": there.issuer, "aud": "repository", "iat": now, "exp": now + 120, "jti": "j-1", "sub": "jo-1"}
    found = {**claims, "events": {LOGOUT_EVENT: {}}, **changes}
    return there.signed({name: value for name, value in found.items() if value is not None})


def tell(token: str, key: str = "acme") -> int:
    done = Client(enforce_csrf_checks=True).post(f"/admin/sso/{key}/back-channel/", {"logout_token": token})
    assert done["Cache-Control"].startswith("max-age=0")
    return done.status_code


def test_the_provider_ends_sessions(here: IdentityProvider, there: TestedProvider) -> None:
    clients = []
    for sid in ("s-1", "s-2"):
        there.person = {**JO, "sid": sid}
        clients.append(client := Client())
        sign_in(client, there)
    first = logout_token(there, sid="s-1", sub=None)
    assert tell(first) == 200
    assert [is_signed_in(each) for each in clients] == [False, True]
    assert tell(logout_token(there, sub="another")) == 200
    assert tell(logout_token(there, sid="s-2", sub="another")) == 200
    assert is_signed_in(clients[1])
    everything = logout_token(there)
    assert tell(everything) == 200
    assert not is_signed_in(clients[1])


def test_the_provider_ends_a_sign_in_that_waits_for_its_second_factor(
    here: IdentityProvider, there: TestedProvider, settings: Any
) -> None:
    settings.SECOND_FACTOR = "administrators"
    here.rules.update(roles=["administrator"])
    waiting, ended = Client(), Client()
    assert sign_in(waiting, there)["Location"] == "/admin/factor/"
    there.person = {**JO, "sid": "s-9"}
    sign_in(ended, there)
    assert [each.get("/admin/factor/").status_code for each in (waiting, ended)] == [200, 200]
    assert tell(logout_token(there, sid="s-9", sub=None)) == 200
    assert [each.get("/admin/factor/").status_code for each in (waiting, ended)] == [200, 302]
    assert tell(logout_token(there)) == 200
    assert waiting.get("/admin/factor/").status_code == 302


def test_sessions_without_an_id_and_with_another_key(here: IdentityProvider, there: TestedProvider) -> None:
    """Some providers name the session in logout tokens only; a new password renews the key of the session."""
    there.person = {**JO, "sid": None}
    jo = StaffAccount.objects.create_user("jo", "jo@example.org", PASSWORD, is_staff=True)
    sign_in(client := Client(), there)
    before = client.session.session_key
    typed = {"old_password": PASSWORD, "new_password1": f"{PASSWORD}!", "new_password2": f"{PASSWORD}!"}
    assert client.post("/admin/password_change/", typed).status_code == 302
    assert client.session.session_key != before
    assert [each.session_key for each in sessions_of(jo)] == [client.session.session_key]
    assert tell(logout_token(there, sid="s-9", sub="another")) == 200
    assert client.session["_auth_user_id"] == str(jo.pk)
    assert tell(logout_token(there, sid="s-9")) == 200
    assert not is_signed_in(client)


def test_a_repeated_logout_token_ends_nothing_new(here: IdentityProvider, there: TestedProvider) -> None:
    old = logout_token(there, iat=int(time.time()) - 10)
    sign_in(client := Client(), there)
    assert tell(old) == 200
    assert is_signed_in(client)


def test_wrong_logout_tokens(here: IdentityProvider, there: TestedProvider) -> None:
    wrong: list[dict[str, Any]] = [
        {"aud": "another"},
        {"iss": "https://elsewhere.example"},
        {"events": None},
        {"events": {"other": {}}},
        {"events": []},
        {"nonce": "n"},
        {"sub": None},
        {"jti": None},
        {"iat": None},
        {"exp": int(time.time()) - 3600},
    ]
    sign_in(client := Client(), there)
    assert [changes for changes in wrong if tell(logout_token(there, **changes)) != 400] == []
    assert tell("not a token") == 400
    assert is_signed_in(client)
