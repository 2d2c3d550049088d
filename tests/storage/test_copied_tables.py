"""Requests write no table that a distributed database copies to every node (D261).

Every test checks this for its requests, see `watch_requests`. Here is what is recorded about sign-ins and requests.
"""

from __future__ import annotations

import pytest
from django.test import Client

from storage import traffic
from storage.models import ApiToken, FailedSignIn, RequestCount, StaffAccount, Storage, StorageMembership
from storage.options import Role
from tests.api_client import ApiClient
from tests.copied_tables import copied_tables_are_not_written
from tests.factories import StaffAccountFactory, issued_token

pytestmark = pytest.mark.django_db
PASSWORD = "correct horse battery staple"
INFO = "/acme/handbook/_api/rest/info"


@pytest.fixture
def account(storage: Storage) -> StaffAccount:
    found: StaffAccount = StaffAccountFactory.create(username="ada")
    found.set_password(PASSWORD)
    found.save()
    StorageMembership.objects.create(account=found, storage=storage, roles=[Role.ARCHITECT])
    return found


def sign_in(client: Client, password: str) -> int:
    address = "/acme/handbook/admin/login/"
    return client.post(address, {"username": "ada", "password": password, "next": "/acme/handbook/admin/"}).status_code


def test_sign_ins_and_sessions_stay_on_the_coordinator(account: StaffAccount) -> None:
    client = Client()
    with copied_tables_are_not_written():
        assert sign_in(client, "wrong") == 200
        assert FailedSignIn.objects.count() == 2
        assert sign_in(client, PASSWORD) == 302
        assert client.get("/acme/handbook/admin/").status_code == 200
        assert client.get("/acme/handbook/1033/").status_code == 200
        assert client.post("/acme/handbook/admin/logout/").status_code in (200, 302)
    account.refresh_from_db()
    assert account.last_login is not None


def test_use_of_tokens_and_request_counts_stay_on_the_coordinator(api: ApiClient, storage: Storage) -> None:
    token = issued_token(storage, Role.VIEWER)
    with copied_tables_are_not_written():
        assert api.get(INFO, token=token).status_code == 200
        traffic.counter.take()
        traffic.counter.count(storage.pk, 200, 0.1)
        assert traffic.write_counts()
    assert ApiToken.objects.filter(storage=storage, last_used_on__isnull=False).exists()
    assert RequestCount.objects.filter(storage=storage).exists()


def test_a_write_of_a_copied_table_is_found(storage: Storage) -> None:
    with pytest.raises(AssertionError, match="storage_storage"), copied_tables_are_not_written():
        Storage.objects.filter(pk=storage.pk).update(title="New")
    with pytest.raises(AssertionError, match="FOR UPDATE"), copied_tables_are_not_written():
        list(Storage.objects.select_for_update().filter(pk=storage.pk))
