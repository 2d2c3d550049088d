"""Sessions and cookies (D149): attributes, start and end."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings as project_settings
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client, override_settings
from django.test.utils import CaptureQueriesContext
from django.utils import translation

from repository_site.core import environment
from storage.models import StaffAccount, Storage, StorageMembership
from storage.options import Role
from tests.factories import token_for

pytestmark = pytest.mark.django_db
PASSWORD = "the one that is right"
OFFICE = "/acme/handbook/admin/"
SESSION = ("HttpOnly", "Lax", 12 * 3600, "/")
CSRF = ("", "Lax", 364 * 24 * 3600, "/")


@pytest.fixture
def jo(storage: Storage, settings: Any) -> StaffAccount:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    account = StaffAccount.objects.create_user("jo", password=PASSWORD, is_staff=True)
    StorageMembership.objects.create(account=account, storage=storage, roles=["editor"])
    return account


def signed_in(**options: Any) -> Client:
    client = Client(**options)
    client.get(f"{OFFICE}login/", secure=True)
    done = client.post(f"{OFFICE}login/", {"username": "jo", "password": PASSWORD, "next": OFFICE}, secure=True)
    assert (done.status_code, done["Location"]) == (302, f"{OFFICE}my-work/")
    return client


def marks(client: Client, name: str) -> tuple[str, Any, Any, Any, bool]:
    cookie = client.cookies[name]
    only = "HttpOnly" if cookie["httponly"] else ""
    return only, cookie["samesite"], cookie["max-age"], cookie["path"], bool(cookie["secure"])


@pytest.mark.parametrize("https", [True, False])
def test_attributes_of_cookies(jo: StaffAccount, https: bool) -> None:
    with override_settings(SESSION_COOKIE_SECURE=https, CSRF_COOKIE_SECURE=https):
        client = signed_in()
    assert {name: marks(client, name) for name in client.cookies} == {
        "sessionid": (*SESSION, https),
        "csrftoken": (*CSRF, https),
    }


@pytest.mark.long
def test_https_makes_them_secure() -> None:
    """Read the settings in a separate process, for an installation with https and one without."""
    names = ["SESSION_COOKIE_SECURE", "CSRF_COOKIE_SECURE", "SECURE_SSL_REDIRECT", "SECURE_HSTS_SECONDS"]
    code = f"import json; from django.conf import settings; print(json.dumps([getattr(settings, n) for n in {names}]))"
    found = {
        address: json.loads(
            subprocess.run(
                [sys.executable, "-c", code],
                cwd=environment.PROJECT_DIR,
                env={
                    "DJANGO_SETTINGS_MODULE": "repository_site.settings",
                    "REPOSITORY_SECRET_KEY": "x" * 50,
                    "DATABASE_URL": "postgresql://nobody@127.0.0.1/none",
                    "REPOSITORY_PUBLIC_URL": address,
                },
                capture_output=True,
                check=True,
            ).stdout
        )
        for address in ("https://repository.example.org", "http://repository.example.org")
    }
    assert found == {
        "https://repository.example.org": [True, True, True, 365 * 24 * 3600],
        "http://repository.example.org": [False, False, False, 0],
    }


@pytest.mark.long
def test_readers_without_an_account_get_no_cookie(open_storage: Storage) -> None:
    client = Client()
    assert client.get("/acme/open/1033/").status_code == 200
    assert not client.cookies


@pytest.mark.long
def test_signing_in_changes_the_session(jo: StaffAccount) -> None:
    """A planted session is useless after somebody signs in."""
    client = Client()
    planted = client.session
    planted["planted"] = "yes"
    planted.save()
    client.cookies["sessionid"] = str(planted.session_key)
    client.post(f"{OFFICE}login/", {"username": "jo", "password": PASSWORD})
    assert client.cookies["sessionid"].value != str(planted.session_key)
    other = Client()
    other.cookies["sessionid"] = str(planted.session_key)
    assert other.get(OFFICE).status_code == 302


@pytest.mark.long
def test_signing_out_ends_the_session_on_the_server(jo: StaffAccount) -> None:
    client = signed_in()
    stolen = Client()
    stolen.cookies["sessionid"] = client.cookies["sessionid"].value
    assert stolen.get(OFFICE).status_code == 200
    client.post(f"{OFFICE}logout/")
    assert not Session.objects.exists()
    assert stolen.get(OFFICE).status_code == 302


@pytest.mark.long
def test_a_new_password_ends_the_other_sessions(jo: StaffAccount) -> None:
    own, other = signed_in(), signed_in()
    new = "another one that is right"
    given = {"old_password": PASSWORD, "new_password1": new, "new_password2": new}
    assert own.post(f"{OFFICE}password_change/", given).status_code == 302
    assert own.get(OFFICE).status_code == 200
    assert other.get(OFFICE).status_code == 302
    jo.refresh_from_db()
    jo.set_password(PASSWORD)
    jo.save()
    assert own.get(OFFICE).status_code == 302


@pytest.mark.long
def test_a_session_ends_with_the_account(jo: StaffAccount) -> None:
    client = signed_in()
    StaffAccount.objects.update(is_active=False)
    assert client.get(OFFICE).status_code == 302


@pytest.mark.long
def test_a_session_ends_after_half_a_day(jo: StaffAccount) -> None:
    """Use does not prolong a session."""
    client = signed_in()
    before = Session.objects.get().expire_date
    client.get(OFFICE)
    assert Session.objects.get().expire_date == before
    assert project_settings.SESSION_SAVE_EVERY_REQUEST is False
    Session.objects.update(expire_date=before - timedelta(hours=12))
    assert client.get(OFFICE).status_code == 302


def test_a_token_in_a_header_leaves_the_session_unread(jo: StaffAccount, storage: Storage) -> None:
    """A token decides alone, valid or not (D610). Without one, the session does."""
    client, info = signed_in(), "/acme/handbook/_api/rest/info"
    token = token_for(storage, Role.VIEWER)
    answers = {}
    for header in (f"Bearer {token}", "Bearer unknown", ""):
        with CaptureQueriesContext(connection) as queries:
            response = client.get(info, headers={"Authorization": header} if header else {})
        answers[header[:10]] = response.status_code, any("django_session" in each["sql"] for each in queries)
    assert answers == {f"Bearer {token}"[:10]: (200, False), "Bearer unk": (401, False), "": (200, True)}


def test_requests_with_a_token_skip_only_what_pages_need(jo: StaffAccount, storage: Storage) -> None:
    """Responses have the headers of the skipped middleware, the host is checked, and texts are English."""
    client, info = signed_in(), "/acme/handbook/_api/rest/info"
    credential = {"Authorization": f"Bearer {token_for(storage, Role.EDITOR)}", "X-Request-ID": "1"}
    by_session = client.get(info, headers={"X-Request-ID": "1"})
    with translation.override("de"):
        by_token = Client().get(info, headers=credential)
        missing = Client().get("/acme/handbook/_api/rest/facets/nonsense/views/x/elements", headers=credential)
        refused = Client().get(info, headers={**credential, "Host": "elsewhere.example"})
    assert dict(by_token.headers) == {**by_session.headers, "Vary": "Accept-Encoding"}
    assert (by_token.content, missing.json()["message"]) == (
        by_session.content,
        "There is no facet nonsense; similar: notes.",
    )
    assert (refused.status_code, refused.json()["message"]) == (400, "The request is malformed.")
