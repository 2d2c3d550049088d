"""Sessions of an account (D552): which there are, their last use, and their end."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from storage.accounts.sessions import device_of, forget_old_sessions, write_session_uses
from storage.models import AccountSession, StaffAccount, Storage
from tests.storage.accounts.conftest import PASSWORD
from tests.storage.office import signed_in, site_administrator

pytestmark = pytest.mark.django_db
PAGE = "/acme/handbook/account/"
FIREFOX = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0"
EDGE = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 Chrome/140.0 Safari/537.36 Edg/140.0"
PHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Version/18.0 Safari/604.1"


def sign_in(agent: str, address: str) -> Client:
    client = Client(HTTP_USER_AGENT=agent, REMOTE_ADDR=address)
    assert client.post("/admin/login/", {"username": "alex", "password": PASSWORD}).status_code == 302
    return client


def text_of(response: Any) -> str:
    return str(response.content.decode())


def test_people_see_their_sessions_and_end_them(alex: StaffAccount, storage: Storage) -> None:
    stranger = site_administrator()
    own, second, third = sign_in(FIREFOX, "192.0.2.1"), sign_in(EDGE, "2001:db8::1"), sign_in("curl", "192.0.2.3")
    page = text_of(own.get(PAGE))
    for text in ("Firefox, Windows", "192.0.2.1", "this session", "Edge, macOS", "2001:db8::/64", "unknown browser"):
        assert text in page
    AccountSession.objects.update(last_on=timezone.now() - timedelta(hours=1))
    second.get(PAGE, REMOTE_ADDR="192.0.2.9")
    write_session_uses()
    used = AccountSession.objects.get(session_key=second.session.session_key)
    assert (used.network, used.last_on > timezone.now() - timedelta(minutes=1)) == ("192.0.2.9", True)
    foreign = AccountSession.objects.get(session_key=stranger.session.session_key)
    for number in (used.pk, foreign.pk, "9" * 5000):
        assert own.post(PAGE, {"end": str(number)}).status_code == 302
    assert [each.get(PAGE).status_code for each in (own, second, third, stranger)] == [200, 302, 200, 200]
    assert "1 other session has ended." in text_of(own.post(PAGE, {"end": "others"}, follow=True))
    assert [each.get(PAGE).status_code for each in (own, third)] == [200, 302]
    assert Session.objects.filter(session_key=own.session.session_key).exists()
    # Signing out leaves a row, which nobody sees.
    own.post("/admin/logout/")
    assert "Firefox" not in text_of(sign_in(PHONE, "192.0.2.1").get(PAGE))
    AccountSession.objects.update(began_on=timezone.now() - timedelta(hours=13))
    forget_old_sessions()
    assert AccountSession.objects.count() == Session.objects.count() == 2
    Session.objects.all().delete()
    forget_old_sessions()
    assert not AccountSession.objects.exists()


def test_site_administrators_end_all_sessions_of_an_account(alex: StaffAccount) -> None:
    browser, own = sign_in(FIREFOX, "192.0.2.1"), site_administrator()
    page = f"/admin/storage/staffaccount/{alex.pk}/"
    assert "Firefox, Windows, 192.0.2.1" in text_of(own.get(f"{page}change/"))
    assert "must sign in again everywhere" in text_of(own.get(f"{page}end-sessions/"))
    assert browser.get(PAGE).status_code == 200
    assert "1 session has ended." in text_of(own.post(f"{page}end-sessions/", follow=True))
    assert browser.get(PAGE).status_code == 302
    # Also one that no list shows, such as a sign-in that waits for a factor.
    unlisted = sign_in(FIREFOX, "192.0.2.1")
    AccountSession.objects.filter(account=alex).delete()
    own.post(f"{page}end-sessions/")
    assert unlisted.get(PAGE).status_code == 302
    # Django has given the session of the administrator another key.
    given = {"usable_password": "true", "password1": f"{PASSWORD}!", "password2": f"{PASSWORD}!"}
    assert own.post(f"{page}password/", given).status_code == 302
    assert AccountSession.objects.filter(session_key=own.session.session_key).exists()
    # Also those of an account that cannot sign in for a while.
    password = {"username": "alex", "password": f"{PASSWORD}!"}
    assert (again := Client()).post("/admin/login/", password).status_code == 302
    inactive: dict[str, Any] = {"username": "alex", "memberships-TOTAL_FORMS": 0, "memberships-INITIAL_FORMS": 0}
    for given in (inactive, {**inactive, "is_active": "on"}):
        assert own.post(f"{page}change/", given).status_code == 302
        assert again.get(PAGE).status_code == 302
    alex.refresh_from_db()
    assert alex.is_active
    assert signed_in(alex).post(f"{page}end-sessions/").status_code == 403


def test_names_of_browsers() -> None:
    assert [device_of(agent) for agent in (FIREFOX, EDGE, PHONE, "")] == [
        "Firefox, Windows",
        "Edge, macOS",
        "Safari, iPhone",
        "",
    ]
