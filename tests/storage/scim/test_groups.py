"""Groups of a directory feed the rules at once (D544)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from unittest.mock import ANY
from uuid import uuid4

import pytest
from allauth.socialaccount.models import SocialAccount
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from storage.models import DirectoryMember, IdentityProvider, StaffAccount, Storage
from storage.single_sign_on.linking import drop_stale_roles, person_of, sign_on
from tests.identity_provider import rule
from tests.storage.scim.directory import CORE, TestedDirectory, roles_of

pytestmark = [pytest.mark.django_db, pytest.mark.on_cluster]


def member(directory: TestedDirectory, person: dict[str, Any]) -> dict[str, Any]:
    address = f"http://testserver{directory.base}/Users/{person['id']}"
    return {"value": person["id"], "$ref": address, "type": "User"}


def test_members_follow_the_rules_at_once(
    directory: TestedDirectory, storage: Storage, provider: IdentityProvider
) -> None:
    """The operations of Entra ID and Okta, one after the other."""
    jo, kim = directory.person("jo"), directory.person("kim")
    group = directory.group("staff", externalId="g-1")
    path = f"Groups/{group['id']}"
    accounts = {each.email[:2]: each for each in StaffAccount.objects.all()}

    def editors() -> set[str]:
        return {name for name, account in accounts.items() if roles_of(account) == {"acme/handbook": ["editor"]}}

    directory.patch(path, {"op": "Add", "path": "members", "value": [{"value": jo["id"]}, {"value": kim["id"]}]})
    assert editors() == set()
    # Rules compare names: a new name concerns all members.
    directory.patch(path, {"op": "replace", "value": {"id": group["id"], "displayName": "editors"}})
    assert editors() == {"jo", "ki"}
    found = directory.get(path)
    found["members"].sort(key=lambda each: each["value"] != jo["id"])
    assert found == {
        "schemas": [f"{CORE}:Group"],
        "id": group["id"],
        "externalId": "g-1",
        "displayName": "editors",
        "members": [member(directory, jo), member(directory, kim)],
        "meta": group["meta"] | {"lastModified": ANY, "version": 'W/"3"'},
    }
    assert directory.get(f"Users/{jo['id']}")["groups"] == [
        {"value": group["id"], "$ref": f"http://testserver/acme/scim/v2/{path}", "display": "editors"}
    ]
    directory.patch(path, {"op": "Remove", "path": "members", "value": [{"value": jo["id"]}]})
    assert editors() == {"ki"}
    directory.patch(path, {"op": "remove", "path": f'members[value eq "{kim["id"]}"]'})
    assert editors() == set()
    directory.patch(path, {"op": "add", "value": {"members": [{"value": jo["id"], "display": "J."}]}})
    assert editors() == {"jo"}
    directory.patch(path, {"op": "replace", "path": "members", "value": [{"value": kim["id"]}]})
    assert editors() == {"ki"}
    body = {"schemas": [f"{CORE}:Group"], "displayName": "editors", "members": [{"value": jo["id"]}]}
    assert directory.ask("PUT", path, body).json()["members"] == [member(directory, jo)]
    assert editors() == {"jo"}
    directory.patch(path, {"op": "remove", "path": "members"})
    assert editors() == set()
    directory.patch(path, {"op": "add", "path": "members", "value": [{"value": jo["id"]}]})
    # Rules can also name the external id, as the groups claim of Entra ID does.
    rule(provider, storage, "viewer", value="g-2")
    directory.group("others", kim["id"], externalId="g-2")
    assert roles_of(accounts["ki"]) == {"acme/handbook": ["viewer"]}
    assert directory.ask("DELETE", path).status_code == 204
    assert editors() == set()


def test_sign_in_and_directory_agree(directory: TestedDirectory, provider: IdentityProvider, storage: Storage) -> None:
    rule(provider, storage, "approver", value="from-the-token")
    jo = directory.person("jo")
    group = directory.group("editors", jo["id"])
    claims = {"sub": "1", "email": "jo@example.org", "email_verified": True, "groups": ["from-the-token", "editors"]}
    account = sign_on(provider, person_of(provider, claims))
    assert SocialAccount.objects.get().user_id == account.pk
    assert roles_of(account) == {"acme/handbook": ["editor", "approver"]}
    # The sign-in has named both groups. The directory manages one of them, and the person leaves it.
    directory.patch(f"Groups/{group['id']}", {"op": "remove", "path": "members"})
    assert roles_of(account) == {"acme/handbook": ["approver"]}
    sign_on(provider, person_of(provider, claims))
    assert roles_of(account) == {"acme/handbook": ["approver"]}
    # A sign-in with a password keeps the roles of the directory only (D562).
    directory.patch(f"Groups/{group['id']}", {"op": "add", "path": "members", "value": [{"value": jo["id"]}]})
    SocialAccount.objects.update(last_login=timezone.now() - timedelta(hours=13))
    drop_stale_roles(account)
    assert roles_of(account) == {"acme/handbook": ["editor"]}
    directory.patch(f"Users/{jo['id']}", {"op": "add", "path": "title", "value": "Clerk"})
    assert roles_of(account) == {"acme/handbook": ["editor"]}
    sign_on(provider, person_of(provider, claims))
    assert roles_of(account) == {"acme/handbook": ["editor", "approver"]}
    # A group that the directory deletes does not live on in the claims of the sign-in.
    directory.ask("DELETE", f"Groups/{group['id']}")
    assert roles_of(account) == {"acme/handbook": ["approver"]}


def test_attributes_are_claims(directory: TestedDirectory, provider: IdentityProvider, storage: Storage) -> None:
    rule(provider, storage, "viewer", claim="department", value="Quality")
    extension = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"
    fields: dict[str, Any] = {extension: {"department": "Quality"}}
    jo = directory.person("jo", schemas=[f"{CORE}:User", extension], **fields)
    account = StaffAccount.objects.get()
    assert roles_of(account) == {"acme/handbook": ["viewer"]}
    directory.patch(f"Users/{jo['id']}", {"op": "replace", "path": f"{extension}:department", "value": "Sales"})
    assert roles_of(account) == {}


@pytest.mark.long
def test_the_number_of_statements_does_not_depend_on_the_people(directory: TestedDirectory) -> None:
    few, many = (
        [directory.person(f"{name}{number}")["id"] for number in range(count)] for name, count in (("a", 2), ("b", 12))
    )
    group = directory.group("editors")

    def statements(people: list[str], op: str) -> int:
        with CaptureQueriesContext(
            connection,
        ) as found:
            directory.patch(
                f"Groups/{group['id']}", {"op": op, "path": "members", "value": [{"value": each} for each in people]}
            )
        return len(found)

    assert statements(few, "add") == statements(many, "add")
    assert statements(few, "remove") == statements(many, "remove")
    assert DirectoryMember.objects.count() == 0


@pytest.mark.parametrize(
    ("operation", "kind"),
    [
        ({"op": "remove", "path": 'members[display co "x"]'}, "invalidPath"),
        ({"op": "replace", "path": 'members[value eq "x"].display', "value": "x"}, "invalidPath"),
        ({"op": "replace", "path": f'members[value eq "{uuid4()}"]', "value": "x"}, "invalidPath"),
        ({"op": "move", "path": "members", "value": []}, "invalidValue"),
        ({"op": "remove", "path": "displayName"}, "mutability"),
        ({"op": "add", "path": "x" * 3000, "value": "x"}, "invalidPath"),
        ("add", "invalidValue"),
    ],
)
def test_wrong_changes(directory: TestedDirectory, operation: Any, kind: str) -> None:
    path = f"Groups/{directory.group('staff')['id']}"
    response = directory.ask("PATCH", path, {"schemas": [], "Operations": [operation]})
    assert (response.status_code, response.json()["scimType"]) == (400, kind), response.content


def test_members_are_people_of_the_directory(directory: TestedDirectory) -> None:
    group = directory.group("staff")
    for value in (str(uuid4()), group["id"], "bulkId:x", ""):
        body = {"schemas": [], "Operations": [{"op": "add", "path": "members", "value": [{"value": value}]}]}
        response = directory.ask("PATCH", f"Groups/{group['id']}", body)
        assert (response.status_code, response.json()["scimType"]) == (400, "invalidValue")
