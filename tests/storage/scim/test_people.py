"""People of a directory (D543, D545), with the payloads of Entra ID and Okta."""

from __future__ import annotations

from typing import Any
from unittest.mock import ANY

import pytest
from django.test import Client

from storage.models import DirectoryPerson, IdentityProvider, StaffAccount, Storage, StorageMembership
from tests.scale import first_quick
from tests.storage.scim.directory import CORE, ENTERPRISE, JO, TestedDirectory, roles_of

pytestmark = pytest.mark.django_db


def test_entra_creates_and_changes_a_person(directory: TestedDirectory, provider: IdentityProvider) -> None:
    response = directory.ask("POST", "Users", JO)
    made = response.json()
    address = f"http://testserver/acme/scim/v2/Users/{made['id']}"
    assert (response.status_code, response["Location"], response["ETag"]) == (201, address, 'W/"1"')
    assert response["Content-Type"] == "application/scim+json"
    assert made == {
        "schemas": [f"{CORE}:User", ENTERPRISE],
        "id": ANY,
        "externalId": JO["externalId"],
        "userName": "Jo.Doe@example.org",
        "active": True,
        "displayName": "Jo Doe",
        "title": "Head of quality",
        "name": {"formatted": "Jo Doe", "familyName": "Doe", "givenName": "Jo"},
        "emails": [{"value": "Jo.Doe@example.org", "type": "work", "primary": True}],
        ENTERPRISE: {"department": "Quality"},
        "meta": {
            "resourceType": "User",
            "created": ANY,
            "lastModified": ANY,
            "location": address,
            "version": 'W/"1"',
        },
    }
    jo = StaffAccount.objects.get()
    assert (jo.username, jo.email, jo.get_full_name()) == ("jo.doe@example.org", "jo.doe@example.org", "Jo Doe")
    assert (jo.is_active, jo.has_usable_password(), jo.is_superuser) == (True, False, False)
    changed = directory.patch(
        f"Users/{made['id']}",
        {"op": "Replace", "path": 'emails[type eq "work"].value', "value": "jo.roe@example.org"},
        {"op": "Replace", "path": "name.familyName", "value": "Roe"},
        {"op": "Add", "path": f"{ENTERPRISE}:employeeNumber", "value": "4711"},
        {"op": "Add", "path": 'phoneNumbers[type eq "mobile"].value', "value": "+49 30 5678"},
        {"op": "Add", "path": f"{ENTERPRISE}:manager", "value": "4712"},
        {"op": "Remove", "path": "title"},
    )
    expected = {
        **made,
        "name": {"formatted": "Jo Doe", "familyName": "Roe", "givenName": "Jo"},
        "emails": [{"value": "jo.roe@example.org", "type": "work", "primary": True}],
        ENTERPRISE: {"department": "Quality", "employeeNumber": "4711"},
        "meta": made["meta"] | {"lastModified": ANY, "version": 'W/"2"'},
    }
    del expected["title"]
    assert changed == expected
    jo.refresh_from_db()
    assert (jo.email, jo.get_full_name()) == ("jo.roe@example.org", "Jo Roe")


@pytest.mark.parametrize(
    "operation",
    first_quick(
        [
            {"op": "Replace", "path": "active", "value": "False"},
            {"op": "Replace", "path": "active", "value": False},
            {"op": "replace", "value": {"active": False}},
            None,
        ]
    ),
    ids=["Entra ID, text", "Entra ID", "Okta", "deleted"],
)
def test_deactivation_ends_everything_and_can_be_undone(
    directory: TestedDirectory,
    provider: IdentityProvider,
    storage: Storage,
    other_storage: Storage,
    operation: dict[str, Any] | None,
) -> None:
    jo = directory.person()
    editors = directory.group("editors", jo["id"])
    account = StaffAccount.objects.get(email="jo@example.org")
    StorageMembership.objects.create(account=account, storage=other_storage, roles=["approver"])
    assert roles_of(account) == {"acme/handbook": ["editor"], "rival/handbook": ["approver"]}
    # One session by password, and one that will be opened again.
    (browser := Client()).force_login(account)
    page = "/acme/handbook/admin/"
    assert browser.get(page).status_code == 200
    cookies = dict(browser.cookies)
    if operation is None:
        assert directory.ask("DELETE", f"Users/{jo['id']}").status_code == 204
        assert directory.ask("GET", f"Users/{jo['id']}").status_code == 404
        assert "members" not in directory.get(f"Groups/{editors['id']}")
    else:
        assert directory.patch(f"Users/{jo['id']}", operation)["active"] is False
    account.refresh_from_db()
    assert (account.is_active, account.deactivated_by) == (False, provider)
    # Roles that were granted by hand stay, without effect.
    assert roles_of(account) == {"rival/handbook": ["approver"]}
    assert browser.get(page).status_code == 302
    if operation is None:
        again = directory.person()
        directory.patch(f"Groups/{editors['id']}", {"op": "add", "path": "members", "value": [{"value": again["id"]}]})
    else:
        assert directory.patch(f"Users/{jo['id']}", {"op": "Replace", "path": "active", "value": "True"})["active"]
    account.refresh_from_db()
    assert (account.is_active, account.deactivated_by) == (True, None)
    assert roles_of(account) == {"acme/handbook": ["editor"], "rival/handbook": ["approver"]}
    # A session from before the deactivation stays ended.
    browser.cookies.update(cookies)
    assert browser.get(page).status_code == 302


def test_a_person_deactivated_by_hand_stays_inactive(directory: TestedDirectory) -> None:
    jo = directory.person(displayName="Jo")
    account = StaffAccount.objects.get()
    StaffAccount.objects.update(is_active=False)
    directory.patch(f"Users/{jo['id']}", {"op": "replace", "value": {"displayName": "Joe", "active": True}})
    account.refresh_from_db()
    assert (account.is_active, account.last_name) == (False, "Joe")


def test_okta_replaces_a_person_whole(directory: TestedDirectory) -> None:
    made = directory.person(name={"givenName": "Jo", "familyName": "Doe"}, externalId="00u1")
    body = {
        "schemas": [f"{CORE}:User"],
        "id": made["id"],
        "userName": "JO@example.org",
        "name": {"givenName": "Joe"},
        "emails": [{"primary": True, "value": "jo@example.org", "type": "work"}],
        "groups": [],
        "active": True,
        "meta": {"resourceType": "User"},
    }
    found = directory.ask("PUT", f"Users/{made['id']}", body).json()
    assert found == {
        "schemas": [f"{CORE}:User"],
        "id": made["id"],
        "userName": "JO@example.org",
        "name": {"givenName": "Joe"},
        "active": True,
        "emails": [{"value": "jo@example.org", "type": "work", "primary": True}],
        "meta": made["meta"] | {"lastModified": ANY, "version": 'W/"2"'},
    }
    # The same again changes nothing.
    assert directory.ask("PUT", f"Users/{made['id']}", body)["ETag"] == 'W/"2"'
    assert StaffAccount.objects.get().get_full_name() == "Joe"


def test_versions_protect_from_lost_changes(directory: TestedDirectory) -> None:
    made = directory.person()
    path = f"Users/{made['id']}"
    change = {"schemas": [], "Operations": [{"op": "replace", "path": "title", "value": "Boss"}]}
    assert directory.ask("GET", path, If_None_Match='W/"1"').status_code == 304
    assert directory.ask("PATCH", path, change, If_Match='W/"1"').status_code == 200
    assert directory.ask("PATCH", path, change, If_Match='W/"1"').status_code == 412
    assert directory.ask("DELETE", path, If_Match='W/"1"').status_code == 412
    assert directory.ask("DELETE", path, If_Match="*").status_code == 204
    assert DirectoryPerson.objects.count() == 0
