"""Limits of a directory (D540, D541, D543): its collection, its mail domains, never site administrators."""

from __future__ import annotations

from io import StringIO
from typing import Any
from urllib.parse import urlencode

import pytest
from django.core.management import call_command
from django.test import Client

from repository_site.core.problems import Invalid, Unauthenticated
from storage.access.tokens import issue_token
from storage.models import ApiToken, DirectoryPerson, IdentityProvider, StaffAccount, Storage
from storage.options import Role
from storage.scim.people import PersonTerms, change_person, create_person
from storage.tenancy.addresses import key_problem
from storage.tenancy.contexts import Context, ContextType
from tests.factories import StaffAccountFactory
from tests.identity_provider import rule
from tests.scale import first_quick
from tests.storage.scim.directory import CORE, TestedDirectory, directory_of, roles_of

pytestmark = pytest.mark.django_db


def test_tokens_are_valid_for_their_directory_only(
    directory: TestedDirectory, provider: IdentityProvider, storage: Storage, other_storage: Storage
) -> None:
    refused = {
        "of another collection": TestedDirectory(directory.token, "rival"),
        "of no collection": TestedDirectory(directory.token, "nowhere"),
        "unknown": TestedDirectory("crt_unknown"),
        "of the API": TestedDirectory(
            issue_token(Context(ContextType.COLLECTION, storage.collection), "api", [Role.ADMINISTRATOR]).value
        ),
        "of a storage": TestedDirectory(
            issue_token(Context(ContextType.STORAGE, storage.collection, storage), "api", [Role.ADMINISTRATOR]).value
        ),
        "empty": TestedDirectory(""),
    }
    bodies = set()
    for reason, attacker in refused.items():
        response = attacker.ask("GET", "Users")
        assert (response.status_code, response["WWW-Authenticate"]) == (401, "Bearer"), reason
        bodies.add(response.content)
    assert len(bodies) == 2  # without a token, the text asks for one
    # The API does not know the token of the directory.
    for place in ("_admin", "handbook"):
        headers = {"Authorization": f"Bearer {directory.token}"}
        assert Client().get(f"/acme/{place}/_api/rest/info", headers=headers).status_code == 401
    provider.is_enabled = False
    provider.save()
    assert directory.ask("GET", "Users").status_code == 401
    provider.is_enabled, provider.collection = True, other_storage.collection
    provider.save()
    assert directory.ask("GET", "Users").status_code == 401


def test_a_token_is_issued_for_the_provider_of_a_collection(provider: IdentityProvider, storage: Storage) -> None:
    out = StringIO()
    call_command("issue_token", "acme", "_admin", name="Entra ID", scim="acme", stdout=out, stderr=StringIO())
    assert TestedDirectory(out.getvalue().strip()).get("Users")["totalResults"] == 0
    token = ApiToken.objects.get()
    assert (token.provider, token.collection, token.roles) == (provider, storage.collection, [])
    assert out.getvalue().strip().encode() not in bytes(token.digest)
    listed = StringIO()
    call_command("list_tokens", "acme", "_admin", stdout=listed)
    assert "scim=acme" in listed.getvalue()
    call_command("revoke_token", "acme", "_admin", "Entra ID", stdout=StringIO(), stderr=StringIO())
    assert TestedDirectory(out.getvalue().strip()).ask("GET", "Users").status_code == 401
    with pytest.raises(Invalid) as refused:
        issue_token(Context(ContextType.SITE), "x", [Role.VIEWER], provider=provider)
    assert [each.partition(":")[0] for each in refused.value.details] == ["provider", "roles", "roles"]


def test_accounts_out_of_reach_are_left_alone(directory: TestedDirectory, provider: IdentityProvider) -> None:
    """The answers do not tell which accounts exist."""
    boss = StaffAccountFactory.create(email="boss@example.org", is_superuser=True, first_name="The")
    stranger = StaffAccountFactory.create(email="sam@elsewhere.example", first_name="Sam")
    twins = [StaffAccountFactory.create(email="twin@example.org") for _ in range(2)]
    before = list(StaffAccount.objects.order_by("pk").values())
    for name, domain in (("boss", "example.org"), ("sam", "elsewhere.example"), ("twin", "example.org")):
        made = directory.person(name, domain, name={"givenName": "Mallory"}, active=True)
        directory.group("editors", made["id"])
        assert directory.patch(f"Users/{made['id']}", {"op": "replace", "path": "active", "value": False})
        assert directory.ask("DELETE", f"Users/{made['id']}").status_code == 204
    assert list(StaffAccount.objects.order_by("pk").values()) == before
    assert [roles_of(each) for each in (boss, stranger, *twins)] == [{}] * 4


def test_an_account_that_moves_out_of_reach_is_left_alone(
    directory: TestedDirectory, provider: IdentityProvider
) -> None:
    jo = directory.person("jo")
    directory.group("editors", jo["id"])
    account = StaffAccount.objects.get()
    kim = directory.person("kim")
    # Neither a foreign domain nor the address of somebody else.
    for address in ("jo@elsewhere.example", "kim@example.org", "not an address"):
        mails = [{"value": address, "primary": True}]
        directory.patch(f"Users/{jo['id']}", {"op": "replace", "path": "emails", "value": mails})
        account.refresh_from_db()
        assert account.email == "jo@example.org"
    StaffAccount.objects.filter(pk=account.pk).update(is_superuser=True)
    directory.patch(f"Users/{jo['id']}", {"op": "replace", "value": {"active": False, "displayName": "Mallory"}})
    account.refresh_from_db()
    assert (account.is_active, account.last_name) == (True, "")
    StaffAccount.objects.filter(pk=account.pk).update(is_superuser=False, email="jo@elsewhere.example")
    directory.ask("DELETE", f"Users/{jo['id']}")
    account.refresh_from_db()
    assert (account.is_active, roles_of(account)) == (True, {})
    assert DirectoryPerson.objects.get().pk.hex == kim["id"].replace("-", "")


def test_a_change_that_has_waited_applies_the_provider_as_it_is(provider: IdentityProvider) -> None:
    held = IdentityProvider.objects.filter(pk=provider.pk)
    held.update(mail_domains=["other.example"])
    jo = PersonTerms("jo@example.org", "", True, {})
    person = create_person(provider, jo)
    assert not StaffAccount.objects.exists()
    # Sending the same person again is enough when the domain is assigned.
    held.update(mail_domains=["example.org"])
    change_person(provider, str(person.pk), 'W/"1"', lambda _: jo)
    assert DirectoryPerson.objects.get().account == StaffAccount.objects.get(email="jo@example.org")
    held.update(is_enabled=False)
    with pytest.raises(Unauthenticated):
        change_person(provider, str(person.pk), "", lambda _: jo)


def test_directories_of_one_collection_are_apart(
    directory: TestedDirectory, provider: IdentityProvider, storage: Storage, other_storage: Storage
) -> None:
    second = IdentityProvider.objects.create(
        key="second", name="Second", collection=storage.collection, issuer="x", client_id="r", mail_domains=["two.example"]
    )  # fmt: skip
    # A rule for a storage elsewhere does nothing, whatever is stored.
    rule(provider, other_storage, "administrator")
    other = directory_of(second)
    jo = directory.person("jo")
    group = directory.group("editors", jo["id"])
    assert roles_of(StaffAccount.objects.get()) == {"acme/handbook": ["editor"]}
    assert (other.get("Users")["totalResults"], other.get("Groups")["totalResults"]) == (0, 0)
    for path in (f"Users/{jo['id']}", f"Groups/{group['id']}"):
        body: dict[str, Any] = {"schemas": [], "Operations": [{"op": "replace", "value": {"displayName": "x"}}]}
        assert {other.ask(method, path, body).status_code for method in ("GET", "PATCH", "DELETE")} == {404}
    response = other.ask(
        "POST", "Groups", {"schemas": [f"{CORE}:Group"], "displayName": "x", "members": [{"value": jo["id"]}]}
    )
    assert (response.status_code, response.json()["scimType"]) == (400, "invalidValue")


@pytest.mark.parametrize(
    "text",
    first_quick(
        [
            'userName eq "' + "x" * 2000 + '"',
            " or ".join(['title eq "x"'] * 51),
            "not (" * 40 + "title pr" + ")" * 40,
            "(" * 1900,
            'title eq "\\u0000"',
            'nothing eq "x"',
            'title eq "x" and',
            'emails[type eq "work"',
            'meta.version eq "1"',
            'schemas eq "x"',
            'id co "a"',
            "active gt true",
            'members[value eq "x"]',
            "title co 5",
        ],
        5,
    ),
)
def test_hostile_filters(directory: TestedDirectory, text: str) -> None:
    response = directory.ask("GET", f"Users?{urlencode({'filter': text})}")
    assert (response.status_code, response.json()["scimType"]) == (400, "invalidFilter")


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "kind"),
    [
        ("POST", "Users", b"{", 400, "invalidSyntax"),
        ("POST", "Users", b"[]", 400, "invalidSyntax"),
        ("POST", "Users", b'{"userName":"a\\u0000b"}', 400, "invalidValue"),
        ("POST", "Users", b'{"userName":"\\ud800"}', 400, "invalidSyntax"),
        ("POST", "Users", {"schemas": [f"{CORE}:User"]}, 400, "invalidValue"),
        ("POST", "Users", {"schemas": [f"{CORE}:User"], "userName": "x" * 256}, 400, "invalidValue"),
        ("POST", "Users", {"schemas": [f"{CORE}:User"], "userName": "x", "title": "x" * 20_000}, 400, "invalidValue"),
        ("POST", "Users", b" " * (1024 * 1024 + 1), 413, None),
        ("POST", "Users", {"schemas": [f"{CORE}:User"], "userName": "x", "emails": [{"value": "x"}] * 3000}, 413, None),
        ("POST", "Groups", {"schemas": [f"{CORE}:Group"], "displayName": ""}, 400, "invalidValue"),
        ("GET", "Users?startIndex=x", None, 400, "invalidValue"),
        ("GET", "Users/not-an-id", None, 404, None),
        ("GET", "Nothing", None, 404, None),
        ("DELETE", "Users", None, 405, None),
        ("POST", ".search", {}, 501, None),
        ("GET", "Schemas?filter=x", None, 403, None),
    ],
)  # fmt: skip
def test_wrong_requests(
    directory: TestedDirectory, method: str, path: str, body: Any, status: int, kind: str | None
) -> None:
    response = directory.ask(method, path, body)
    assert (response.status_code, response.json().get("scimType")) == (status, kind), response.content


def test_names_are_unique_without_regard_to_letter_case(directory: TestedDirectory) -> None:
    directory.person("jo")
    response = directory.ask("POST", "Users", {"schemas": [f"{CORE}:User"], "userName": "JO@example.org"})
    assert (response.status_code, response.json()["scimType"]) == (409, "uniqueness")


def test_scim_is_a_reserved_storage_id() -> None:
    assert key_problem("SCIM", "storage") is not None
    assert key_problem("scim", "collection") is None
