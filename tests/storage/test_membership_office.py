"""Staff of a storage in its back office (D120): adding, changing and removing members."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from storage.models import StaffAccount, Storage, StorageMembership
from storage.models.roles import Role
from tests.factories import StaffAccountFactory
from tests.storage.office import errors, member, signed_in

pytestmark = pytest.mark.django_db
STAFF = "/acme/handbook/admin/storage/storagemembership/"


@pytest.fixture
def browser(storage: Storage) -> Client:
    return member(storage, Role.ADMINISTRATOR, username="chief")


def membership(storage: Storage, account: StaffAccount, *roles: Role) -> StorageMembership:
    return StorageMembership.objects.create(account=account, storage=storage, roles=[role.value for role in roles])


def test_an_account_is_added_by_its_exact_name(browser: Client, storage: Storage) -> None:
    anna = StaffAccountFactory.create(username="anna")
    response = browser.post(f"{STAFF}add/", {"username": "anna", "roles": ["editor", "viewer"]})
    assert response["Location"] == STAFF
    made = StorageMembership.objects.get(account=anna)
    assert (made.storage, made.roles, made.user_id) == (storage, ["viewer", "editor"], None)
    assert "anna" in browser.get(STAFF).content.decode()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"username": "Anna"}, ["No active staff account has this name; site administrators create accounts."]),
        ({"username": "gone"}, ["No active staff account has this name; site administrators create accounts."]),
        ({"username": "chief"}, ["Chief is already a member."]),
        ({"username": "root"}, ["Root is a site administrator. Only site administrators can change this membership."]),
        ({"username": "anna", "roles": []}, ["Choose at least one role."]),
        (
            {"username": "anna", "user_id": "00000000-0000-4000-8000-000000000001"},
            ["There is no user 00000000-0000-4000-8000-000000000001 in acme/handbook."],
        ),
    ],
)
def test_invalid_members_are_refused(browser: Client, given: dict[str, Any], told: list[str]) -> None:
    StaffAccountFactory.create(username="anna")
    StaffAccountFactory.create(username="gone", is_active=False)
    StaffAccountFactory.create(username="root", is_superuser=True)
    page = browser.post(f"{STAFF}add/", {"roles": ["editor"], **given}).content.decode()
    assert errors(page) == told or told[0] in page
    assert StorageMembership.objects.count() == 1


def test_roles_are_changed_and_a_member_removed(browser: Client, storage: Storage) -> None:
    anna = StaffAccountFactory.create(username="anna")
    held = membership(storage, anna, Role.VIEWER)
    browser.post(f"{STAFF}{held.pk}/change/", {"roles": ["approver"]})
    held.refresh_from_db()
    assert held.roles == ["approver"]
    assert browser.get(f"{STAFF}{held.pk}/dismiss/").status_code == 200
    assert StorageMembership.objects.filter(pk=held.pk).exists()
    browser.post(f"{STAFF}{held.pk}/dismiss/")
    assert not StorageMembership.objects.filter(pk=held.pk).exists()
    assert StaffAccount.objects.filter(pk=anna.pk).exists()


def test_giving_up_the_own_administration_needs_confirmation(browser: Client) -> None:
    own = StorageMembership.objects.get()
    address = f"{STAFF}{own.pk}/change/"
    page = browser.post(address, {"roles": ["editor"]}).content.decode()
    assert "You would no longer be an administrator of this storage" in page
    assert 'name="confirmed"' in page
    own.refresh_from_db()
    assert own.roles == ["administrator"]
    assert "your own account" in browser.get(f"{STAFF}{own.pk}/dismiss/").content.decode()
    browser.post(address, {"roles": ["editor"], "confirmed": "on"})
    own.refresh_from_db()
    assert own.roles == ["editor"]
    assert browser.get(STAFF).status_code == 403


def test_only_site_administrators_change_their_memberships(browser: Client, storage: Storage) -> None:
    root = StaffAccountFactory.create(username="root", is_superuser=True)
    held = membership(storage, root, Role.VIEWER)
    page = browser.post(f"{STAFF}{held.pk}/change/", {"roles": ["administrator"]}).content.decode()
    assert "site administrator" in page
    assert browser.post(f"{STAFF}{held.pk}/dismiss/").status_code == 403
    held.refresh_from_db()
    assert held.roles == ["viewer"]
    signed_in(root).post(f"{STAFF}{held.pk}/change/", {"roles": ["editor"]})
    held.refresh_from_db()
    assert held.roles == ["editor"]


def test_memberships_of_another_storage_are_not_found(browser: Client, other_storage: Storage) -> None:
    theirs = membership(other_storage, StaffAccountFactory.create(username="rival"), Role.EDITOR)
    assert f"/{theirs.pk}/change/" not in browser.get(STAFF).content.decode()
    assert "No results found" in browser.get(f"{STAFF}?q=rival").content.decode()
    for page in ("change", "dismiss", "delete", "history"):
        assert browser.get(f"{STAFF}{theirs.pk}/{page}/").status_code in (403, 404)
        assert browser.post(f"{STAFF}{theirs.pk}/{page}/", {"roles": ["viewer"]}).status_code in (403, 404)
    assert browser.get(f"{STAFF}{theirs.pk}/change/").status_code == 404
    theirs.refresh_from_db()
    assert theirs.roles == ["editor"]


@pytest.mark.parametrize("role", [Role.ANALYZER, Role.ARCHITECT])
def test_only_administrators_see_the_staff(storage: Storage, role: Role) -> None:
    held = membership(storage, StaffAccountFactory.create(), Role.VIEWER)
    browser = member(storage, role)
    for page in ("", "add/", "admit/", f"{held.pk}/change/", f"{held.pk}/dismiss/"):
        assert browser.get(f"{STAFF}{page}").status_code == 403
        assert browser.post(f"{STAFF}{page}", {"roles": ["administrator"]}).status_code == 403
    held.refresh_from_db()
    assert held.roles == ["viewer"]
