"""The site's back office: every page opens for site administrators only."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Permission
from django.test import Client

from storage.access.tokens import issue_token
from storage.models import StaffAccount, Storage, StorageMembership
from storage.options import Role
from tests.factories import StaffAccountFactory, storage_context
from tests.storage.office import signed_in, site_administrator

pytestmark = pytest.mark.django_db
PAGES = ("storagecollection", "storage", "apitoken", "staffaccount")


def rows(storage: Storage) -> dict[str, object]:
    """Return one object of each model, by its page."""
    token = issue_token(storage_context(storage), "importer", [Role.EDITOR]).token
    account = StaffAccountFactory.create()
    StorageMembership.objects.create(account=account, storage=storage, roles=["viewer"])
    return dict(zip(PAGES, (storage.collection_id, storage.pk, token.pk, account.pk), strict=True))


@pytest.mark.long
def test_every_list_and_page_opens(storage: Storage) -> None:
    browser = site_administrator()
    for page, row in rows(storage).items():
        for address in ("", "add/", f"{row}/change/"):
            assert browser.get(f"/admin/storage/{page}/{address}").status_code == 200, (page, address)
        assert browser.get(f"/admin/storage/{page}/00000000-0000-4000-8000-000000000001/change/").status_code == 404


def test_a_storage_or_token_cannot_be_deleted(storage: Storage) -> None:
    browser = site_administrator()
    found = rows(storage)
    for page in ("storagecollection", "storage", "apitoken"):
        assert browser.post(f"/admin/storage/{page}/{found[page]}/delete/", {"post": "yes"}).status_code == 403
        browser.post(f"/admin/storage/{page}/", {"action": "delete_selected", "_selected_action": [str(found[page])]})
    assert Storage.objects.filter(pk=storage.pk).exists()


def test_permissions_of_django_open_no_page(storage: Storage) -> None:
    account = StaffAccountFactory.create()
    account.user_permissions.set(Permission.objects.all())
    plain, found = signed_in(StaffAccount.objects.get(pk=account.pk)), rows(storage)
    for page, row in found.items():
        for address in ("", "add/", f"{row}/change/", f"{row}/delete/"):
            assert plain.get(f"/admin/storage/{page}/{address}").status_code == 403, (page, address)
            assert plain.post(f"/admin/storage/{page}/{address}").status_code == 403, (page, address)
    assert plain.post(f"/admin/storage/storage/{storage.pk}/measure/").status_code == 403
    assert plain.post(f"/admin/storage/apitoken/{found['apitoken']}/revoke/").status_code == 403
    assert Client().get("/admin/").status_code == 302
