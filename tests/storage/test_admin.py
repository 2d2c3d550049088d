"""The site's back office: every page opens, and nothing can be made half-way."""

from __future__ import annotations

import pytest
from django.test import Client

from storage.models import ApiToken, Storage, StorageMembership
from storage.roles import Role
from storage.tokens import issue_token
from tests.factories import StaffAccountFactory, storage_context

pytestmark = pytest.mark.django_db
PAGES = ("storagecollection", "storage", "apitoken", "staffaccount")


@pytest.fixture
def browser() -> Client:
    client = Client()
    client.force_login(StaffAccountFactory.create(is_superuser=True))
    return client


def test_every_list_and_page_opens(browser: Client, storage: Storage) -> None:
    token = issue_token(storage_context(storage), "importer", [Role.EDITOR]).token
    account = StaffAccountFactory.create()
    StorageMembership.objects.create(account=account, storage=storage, roles=["viewer"])
    for page, row in zip(PAGES, (storage.collection_id, storage.pk, token.pk, account.pk), strict=True):
        assert browser.get(f"/admin/storage/{page}/").status_code == 200
        assert browser.get(f"/admin/storage/{page}/{row}/change/").status_code == 200


@pytest.mark.parametrize("page", ["storagecollection", "storage", "apitoken"])
def test_what_only_a_domain_function_makes_cannot_be_added_or_deleted(
    browser: Client, storage: Storage, page: str
) -> None:
    assert browser.get(f"/admin/storage/{page}/add/").status_code == 403
    row = {"storagecollection": storage.collection_id, "storage": storage.pk}.get(page)
    if row is not None:
        assert browser.post(f"/admin/storage/{page}/{row}/delete/", {"post": "yes"}).status_code == 403
    assert Storage.objects.filter(pk=storage.pk).exists()


def test_tokens_are_revoked_by_who_may_change_them(browser: Client, storage: Storage) -> None:
    token = issue_token(storage_context(storage), "importer", [Role.EDITOR]).token
    action = {"action": "revoke", "_selected_action": [str(token.pk)]}
    plain = Client()
    plain.force_login(StaffAccountFactory.create())
    plain.post("/admin/storage/apitoken/", action)
    assert ApiToken.objects.get().revoked_on is None
    browser.post("/admin/storage/apitoken/", action)
    assert ApiToken.objects.get().revoked_on is not None


def test_staff_without_rights_see_nothing(storage: Storage) -> None:
    plain = Client()
    plain.force_login(StaffAccountFactory.create())
    for page in PAGES:
        assert plain.get(f"/admin/storage/{page}/").status_code == 403
    assert Client().get("/admin/").status_code == 302
