"""The second factor (D553): codes, recovery codes, and what administrators need. Passkeys are in the browser tests."""

from __future__ import annotations

import re
import time
from datetime import timedelta
from io import StringIO
from types import SimpleNamespace
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal import auth
from django.contrib.sessions.models import Session
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from storage.accounts.second_factors import add_passkey, has_factor, recovery_codes
from storage.models import AccountSession, FailedSignIn, IdentityProvider, StaffAccount, Storage
from tests.identity_provider import JO, TestedProvider, sign_in
from tests.storage.accounts.conftest import PASSWORD
from tests.storage.office import signed_in

pytestmark = pytest.mark.django_db
FACTOR, OWN, OFFICE = "/admin/factor/", "/admin/factor/own/", "/acme/handbook/admin/"
EMPTY = '{"id":"AAAA","rawId":"AAAA","type":"public-key","response":{%s}}'
DAMAGED = '"clientDataJSON":"eyJ0eXBlIjoieCIsImNoYWxsZW5nZSI6ImVBIiwib3JpZ2luIjoieCJ9","attestationObject":""'
WRONG = "The code or passkey is wrong. Try again, or use a recovery code."


@pytest.fixture(autouse=True)
def _one_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no step of 30 seconds end during a test: a code that was used would be that of the step before."""
    now = time.time()
    monkeypatch.setattr(auth, "time", SimpleNamespace(time=lambda: now))


def text_of(response: Any) -> str:
    return str(response.content.decode())


def shown_secret(response: Any) -> str:
    found = re.search(r"<code>([A-Z2-7 ]+)</code>", text_of(response))
    assert found
    return found[1].replace(" ", "")


def code_of(secret: str, later: int = 0) -> str:
    return str(auth.format_hotp_value(auth.hotp_value(secret, int(auth.time.time()) // 30 + later)))


def with_app(account: StaffAccount) -> str:
    """Set up an app, and return its secret."""
    browser = signed_in(account)
    secret = shown_secret(browser.get(OWN))
    done = browser.post(OWN, {"code": code_of(secret)})
    assert "Recovery codes" in text_of(done)
    return secret


def password(client: Client, at: str = f"{OFFICE}login/") -> Any:
    return client.post(at, {"username": "alex", "password": PASSWORD, "next": OFFICE})


def test_a_code_follows_the_password(alex: StaffAccount) -> None:
    secret = with_app(alex)
    kept = Authenticator.objects.get(type="totp")
    assert secret not in repr(kept.data)
    client = Client()
    waiting = password(client)
    assert (waiting.status_code, waiting["Location"]) == (302, FACTOR)
    assert client.get(OFFICE).status_code == 302
    assert "Code of your app" in text_of(client.get(FACTOR))
    wrong = client.post(FACTOR, {"code": "000000"})
    assert (wrong.status_code, WRONG in text_of(wrong)) == (422, True)
    # The code that set up the app has been used.
    assert client.post(FACTOR, {"code": code_of(secret)}).status_code == 422
    done = client.post(FACTOR, {"code": code_of(secret, 1)})
    assert (done.status_code, done["Location"]) == (302, OFFICE)
    assert client.get(f"{OFFICE}my-work/").status_code == 200
    again = Client()
    password(again)
    assert again.post(FACTOR, {"code": code_of(secret, 1)}).status_code == 422
    [first, *_others] = recovery_codes(alex)
    assert again.post(FACTOR, {"code": first}).status_code == 302
    third = Client()
    password(third)
    assert third.post(FACTOR, {"code": first}).status_code == 422
    assert Client().get(FACTOR)["Location"] == "/admin/login/"


def test_guessing_a_code_is_limited_for_the_account(alex: StaffAccount) -> None:
    """An attacker with the password, who comes from many networks and types the password again."""
    secret = with_app(alex)
    answers = []
    for number in range(12):
        client = Client(REMOTE_ADDR=f"192.0.2.{number}")
        password(client)
        answers.append(client.post(FACTOR, {"code": "000000"}).status_code)
    assert answers == [422] * 10 + [429] * 2
    assert client.post(FACTOR, {"code": code_of(secret, 1)}).status_code == 429
    call_command("unblock_sign_in", "--account", "alex", stderr=StringIO())
    assert not FailedSignIn.objects.filter(account=alex).exists()
    assert client.post(FACTOR, {"code": code_of(secret, 1)}).status_code == 302


def test_secrets_move_to_the_current_key(alex: StaffAccount, settings: Any) -> None:
    secret = with_app(alex)
    first = settings.SECRET_KEY
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "another key " * 5, [first]
    client = Client()
    password(client)
    assert client.post(FACTOR, {"code": code_of(secret, 1)}).status_code == 302
    settings.SECRET_KEY_FALLBACKS = []
    [code, *_others] = recovery_codes(alex)
    other = Client()
    password(other)
    assert other.post(FACTOR, {"code": code}).status_code == 302
    # Without the key, the factor is wrong, and the person can make new codes.
    settings.SECRET_KEY = "a third key " * 5
    lost = Client()
    password(lost)
    assert lost.post(FACTOR, {"code": code_of(secret, 1)}).status_code == 422
    assert "0 recovery codes are left." in text_of(signed_in(alex).get(OWN))
    assert len(recovery_codes(alex)) == 10


def test_a_sign_in_does_not_wait_for_ever(alex: StaffAccount) -> None:
    with_app(alex)
    for change in ({"since": time.time() - 601}, {"hash": "of a former password"}):
        client = Client()
        password(client)
        session = client.session
        session["waiting_sign_in"] = {**session["waiting_sign_in"], **change}
        session.save()
        assert client.get(FACTOR)["Location"] == "/admin/login/"


def test_administrators_must_set_up_a_factor(alex: StaffAccount, settings: Any) -> None:
    settings.SECOND_FACTOR = "administrators"
    client = Client()
    assert password(client)["Location"] == FACTOR
    page = client.get(FACTOR)
    assert "Administrators of this installation need a second factor." in text_of(page)
    assert client.get(OWN).status_code == 302
    secret = shown_secret(page)
    assert "The code is wrong." in text_of(client.post(FACTOR, {"code": "000000"}))
    codes = text_of(client.post(FACTOR, {"code": code_of(secret)}))
    assert ("Recovery codes" in codes, f'href="{OFFICE}"' in codes) == (True, True)
    assert client.get(f"{OFFICE}my-work/").status_code == 200
    # The only factor stays; an operator removes it.
    [factor] = Authenticator.objects.filter(type="totp")
    kept = client.post(OWN, {"remove": str(factor.pk)})
    assert "This factor is required." in text_of(kept)
    err = StringIO()
    call_command("remove_second_factor", "alex", stderr=err)
    assert err.getvalue() == "Removed 2 factor(s) of alex, with recovery codes; ended 1 session(s).\n"
    assert not has_factor(alex)
    assert not AccountSession.objects.filter(account=alex).exists()
    with pytest.raises(CommandError, match="There is no account 'nobody'"):
        call_command("remove_second_factor", "nobody")
    alex.memberships.update(roles=["editor"])
    assert password(Client())["Location"].startswith(OFFICE)


def test_factors_change_after_a_recent_sign_in_only(alex: StaffAccount) -> None:
    assert Client().get(OWN).status_code == 302
    with_app(alex)
    browser = signed_in(alex)
    session = browser.session
    session["confirmed_on"] = time.time() - 3600
    session.save()
    assert "Enter your password again" in text_of(browser.post(OWN, {"remove": "1"}))
    assert browser.post(OWN, {"old_password": "wrong"}).status_code == 422
    assert browser.post(OWN, {"old_password": PASSWORD}).status_code == 302
    # The page stores secrets in the session, and does not prolong it (D149).
    own_session = Session.objects.filter(session_key=browser.session.session_key)
    own_session.update(expire_date=(end := timezone.now() + timedelta(hours=1)))
    page = text_of(browser.get(OWN))
    assert own_session.get().expire_date == end
    assert ("App with one-time codes" in page, "10 recovery codes are left." in page) == (True, True)
    former = recovery_codes(alex)
    assert "Recovery codes" in text_of(browser.post(OWN, {"recovery": "new"}))
    assert recovery_codes(alex) != former
    other = StaffAccount.objects.create_user("kim", password=PASSWORD, is_staff=True)
    with_app(other)
    foreign = Authenticator.objects.get(user=other, type="totp")
    for number in (str(foreign.pk), "9" * 5000):
        assert browser.post(OWN, {"remove": number}).status_code == 422
    assert has_factor(other)
    own = Authenticator.objects.get(user=alex, type="totp")
    assert browser.post(OWN, {"remove": str(own.pk)}).status_code == 302
    assert not Authenticator.objects.filter(user=alex).exists()
    for answer in ("no json", "[" * 9000, "[]", "{}", '{"id": 1}', '{"id": "\\u0000"}', EMPTY % "", EMPTY % DAMAGED):
        refused = browser.post(OWN, {"passkey": answer})
        assert (refused.status_code, "The passkey could not be added." in text_of(refused)) == (422, True)
    assert not add_passkey(browser.get(OWN).wsgi_request, alex, "key", "x" * 20_001)


def test_a_provider_that_vouches_is_enough(
    here: IdentityProvider, there: TestedProvider, storage: Storage, settings: Any
) -> None:
    settings.SECOND_FACTOR = "administrators"
    here.rules.update(roles=["administrator"])
    # Only the ID token counts.
    there.user_info = {"sub": JO["sub"], "amr": ["mfa"]}
    client = Client()
    assert sign_in(client, there, next_address=OFFICE)["Location"] == FACTOR
    assert client.get(OFFICE).status_code == 302
    there.person = {**JO, "amr": ["pwd", "mfa"]}
    vouched = Client()
    assert sign_in(vouched, there, next_address=OFFICE)["Location"] == OFFICE
    codes = client.post(FACTOR, {"code": code_of(shown_secret(client.get(FACTOR)))})
    assert "Recovery codes" in text_of(codes)
    assert client.get(f"{OFFICE}my-work/").status_code == 200
    assert client.session["sign_on_provider"] == str(here.pk)
