"""Pages of a storage read session, account and membership with the storage (D590), and check all that Django checks."""

from __future__ import annotations

import pytest
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from storage.accounts.sessions import write_session_uses
from storage.models import AccountSession, StaffAccount, Storage, StorageMembership
from storage.options import Role
from tests.factories import StaffAccountFactory

pytestmark = pytest.mark.django_db
PAGE = "/acme/handbook/1033/"


@pytest.fixture
def visitor(storage: Storage) -> Client:
    account = StaffAccountFactory.create(password="!")
    StorageMembership.objects.create(account=account, storage=storage, roles=[Role.VIEWER.value])
    client = Client()
    client.force_login(account)
    return client


def status(client: Client) -> int:
    return client.get(PAGE).status_code


def test_the_session_needs_no_statement_of_its_own(visitor: Client) -> None:
    AccountSession.objects.update(last_on="2026-01-01T00:00:00Z")
    with CaptureQueriesContext(connection) as captured:
        response = visitor.get(PAGE)
    sent = [each["sql"] for each in captured.captured_queries]
    tables = ("django_session", "storage_staffaccount", "storage_storagemembership", "storage_storage s")
    assert [sum(table in sql for sql in sent) for table in tables] == [1, 1, 1, 1]
    assert (response.status_code, "Cookie" in response["Vary"]) == (200, True)
    write_session_uses()
    assert AccountSession.objects.get().last_on.year == timezone.now().year


def test_accounts_that_lose_access_are_refused_at_once(visitor: Client, storage: Storage) -> None:
    assert status(visitor) == 200
    StorageMembership.objects.filter(storage=storage).delete()
    assert status(visitor) == 404
    StaffAccount.objects.update(is_active=False)
    assert status(visitor) == 302


@pytest.mark.parametrize("change", [{"password": "!other"}, {"ended_sessions": 1}, {"is_staff": False}])
def test_a_session_ends_when_its_account_changes(visitor: Client, change: dict[str, object]) -> None:
    assert status(visitor) == 200
    StaffAccount.objects.update(**change)
    assert status(visitor) in (302, 404)


def test_an_expired_session_is_ignored(visitor: Client) -> None:
    Session.objects.update(expire_date=timezone.now())
    assert status(visitor) == 302


def test_the_session_and_not_its_row_names_the_account(visitor: Client, storage: Storage) -> None:
    """A row can be missing, or belong to somebody else after a mistake."""
    stranger = StaffAccountFactory.create(password="!", is_superuser=True)
    AccountSession.objects.update(account=stranger)
    assert "Back office" not in visitor.get(PAGE).content.decode()
    AccountSession.objects.all().delete()
    assert status(visitor) == 200
    StorageMembership.objects.filter(storage=storage).delete()
    assert status(visitor) == 404


@pytest.mark.parametrize("cookie", ["", "x", "' OR 1", "a" * 41, "a" * 32])
def test_cookies_of_others_are_ignored(storage: Storage, cookie: str) -> None:
    client = Client()
    client.cookies["sessionid"] = cookie
    assert status(client) == 302
