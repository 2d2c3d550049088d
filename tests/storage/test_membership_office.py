"""Staff of a storage in its back office (D120): adding, changing and removing members."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from storage.access.memberships import admission_code
from storage.models import StaffAccount, Storage, StorageMembership
from storage.options import Role
from tests.factories import StaffAccountFactory
from tests.scale import first_quick
from tests.storage.office import errors, member, signed_in

pytestmark = pytest.mark.django_db
UNKNOWN = "No account with this name and code can be added here; ask the owner of the account."
STAFF = "/acme/handbook/admin/storage/storagemembership/"


@pytest.fixture
def browser(storage: Storage) -> Client:
    return member(storage, Role.ADMINISTRATOR, username="chief")


def membership(storage: Storage, account: StaffAccount, *roles: Role) -> StorageMembership:
    return StorageMembership.objects.create(account=account, storage=storage, roles=[role.value for role in roles])


def test_an_account_is_added_by_its_exact_name_and_its_code(browser: Client, storage: Storage) -> None:
    anna = StaffAccountFactory.create(username="anna")
    given = {"username": "anna", "code": admission_code(anna), "roles": ["editor", "viewer"]}
    response = browser.post(f"{STAFF}add/", given)
    assert response["Location"] == STAFF
    made = StorageMembership.objects.get(account=anna)
    assert (made.storage, made.roles, made.user_id) == (storage, ["viewer", "editor"], None)
    assert "anna" in browser.get(STAFF).content.decode()


@pytest.mark.parametrize(
    ("given", "told"),
    first_quick(
        [
            ({"username": "Anna"}, [UNKNOWN]),
            ({"username": "gone"}, [UNKNOWN]),
            ({"username": "chief"}, ["Chief is already a member."]),
            ({"username": "root"}, [UNKNOWN]),
            ({"username": "anna", "code": ""}, [UNKNOWN]),
            ({"username": "anna", "code": "AAAA-AAAA"}, [UNKNOWN]),
            ({"username": "anna", "roles": []}, ["Choose at least one role."]),
            (
                {"username": "anna", "user_id": "00000000-0000-4000-8000-000000000001"},
                ["There is no user 00000000-0000-4000-8000-000000000001 in acme/handbook."],
            ),
        ],
        3,
    ),
)
def test_invalid_members_are_refused(browser: Client, given: dict[str, Any], told: list[str]) -> None:
    StaffAccountFactory.create(username="anna")
    StaffAccountFactory.create(username="gone", is_active=False)
    StaffAccountFactory.create(username="root", is_superuser=True)
    account = StaffAccount.objects.filter(username=given["username"]).first()
    code = admission_code(account) if account else "K5TF-QX2A"
    page = browser.post(f"{STAFF}add/", {"roles": ["editor"], "code": code, **given}).content.decode()
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
    assert "Only site administrators can change this membership." in page
    assert browser.post(f"{STAFF}{held.pk}/dismiss/").status_code == 403
    held.refresh_from_db()
    assert held.roles == ["viewer"]
    signed_in(root).post(f"{STAFF}{held.pk}/change/", {"roles": ["editor"]})
    held.refresh_from_db()
    assert held.roles == ["editor"]


def test_the_name_of_an_account_tells_nothing_else_about_it(browser: Client, storage: Storage) -> None:
    """An administrator of a storage can add any account; its person, sign-ins and site role stay with the site."""
    seen = timezone.now() - timedelta(days=3)
    person = {"first_name": "Annabel", "last_name": "Mountain", "last_login": seen}
    anna = StaffAccountFactory.create(username="anna", **person)
    root = StaffAccountFactory.create(username="root", is_superuser=True, **person)
    browser.post(f"{STAFF}add/", {"username": "anna", "code": admission_code(anna), "roles": ["viewer"]})
    held = StorageMembership.objects.get(account__username="anna")
    theirs = membership(storage, root, Role.VIEWER)
    pages = [STAFF, f"{STAFF}?o=-4", f"{STAFF}?o=-5", f"{STAFF}{held.pk}/change/", f"{STAFF}{held.pk}/dismiss/"]
    for address in (*pages, f"{STAFF}{theirs.pk}/change/"):
        page = browser.get(address).content.decode()
        assert "anna" in page or "root" in page
        for hidden in ("Annabel", "Mountain", "3 days ago", seen.isoformat(), "Site administrator"):
            assert hidden not in page, (address, hidden)
    assert "No entry matches" in browser.get(f"{STAFF}?q=Mountain").content.decode()
    all_of_it = signed_in(root).get(STAFF).content.decode()
    assert all(each in all_of_it for each in ("Annabel Mountain", "3 days ago", "Site administrator"))


def test_nobody_learns_whether_an_account_exists(browser: Client) -> None:
    """The response is the same for all names, as long as the owner of the account has not told the code (D218)."""
    StaffAccountFactory.create(username="overseer", is_superuser=True)
    StaffAccountFactory.create(username="retired1", is_active=False)
    StaffAccountFactory.create(username="present1")

    def answer(name: str) -> str:
        given = {"username": name, "code": "K5TF-QX2A", "roles": ["viewer"]}
        response = browser.post(f"{STAFF}add/", given)
        assert response.status_code == 200
        return re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "", response.content.decode()).replace(name, "NAME")

    assert answer("present1") == answer("overseer") == answer("retired1") == answer("nobody_1")
    assert StorageMembership.objects.count() == 1


@pytest.mark.parametrize("spelling", ["{}", " {} ", "lower", "without"])
def test_a_code_can_be_typed_in_several_ways(browser: Client, spelling: str) -> None:
    code = admission_code(StaffAccountFactory.create(username="anna"))
    typed = {"lower": code.lower(), "without": code.replace("-", "")}.get(spelling, spelling.format(code))
    assert browser.post(f"{STAFF}add/", {"username": "anna", "code": typed, "roles": ["viewer"]}).status_code == 302


def test_site_administrators_need_no_code(storage: Storage) -> None:
    anna = StaffAccountFactory.create(username="anna")
    root = signed_in(StaffAccountFactory.create(username="root", is_superuser=True))
    assert root.post(f"{STAFF}add/", {"username": "anna", "roles": ["viewer"]}).status_code == 302
    assert StorageMembership.objects.get().account == anna
    assert admission_code(anna) in root.get(f"/admin/storage/staffaccount/{anna.pk}/change/").content.decode()


def test_the_owner_of_an_account_sees_the_code(browser: Client) -> None:
    anna, ben = (StaffAccountFactory.create(username=name) for name in ("anna", "ben"))
    assert admission_code(anna) != admission_code(ben)
    page = signed_in(anna).get("/").content.decode()
    assert admission_code(anna) in page
    assert admission_code(anna) not in browser.get("/").content.decode() + Client().get("/").content.decode()


def test_memberships_of_another_storage_are_not_found(browser: Client, other_storage: Storage) -> None:
    theirs = membership(other_storage, StaffAccountFactory.create(username="rival"), Role.EDITOR)
    assert f"/{theirs.pk}/change/" not in browser.get(STAFF).content.decode()
    assert "No entry matches" in browser.get(f"{STAFF}?q=rival").content.decode()
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
