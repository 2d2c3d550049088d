"""Access tokens of a provider in the API (D508)."""

from __future__ import annotations

from typing import Any

import pytest
from allauth.socialaccount.models import SocialAccount
from django.test import Client

from repository_site.core.problems import Unauthenticated
from storage.access.callers import CallerKind
from storage.models import IdentityProvider, StaffAccount, Storage
from storage.options import Role
from storage.single_sign_on import outgoing_requests
from storage.single_sign_on.access_tokens import recognise_access_token
from storage.single_sign_on.outgoing_requests import forget_providers
from storage.tenancy.contexts import Context, ContextType, find_context
from tests.api_client import ApiClient
from tests.identity_provider import TestedProvider, sign_in
from tests.storage.scim.directory import directory_of

pytestmark = pytest.mark.django_db
AUDIENCE = "api://repository"


@pytest.fixture
def allowed(here: IdentityProvider) -> IdentityProvider:
    here.accepts_tokens, here.audience = True, AUDIENCE
    here.save()
    return here


def token_of(there: TestedProvider, **changes: Any) -> str:
    return there.sign(there.id_claims(**{"aud": AUDIENCE, "sid": None, **changes}))


def test_a_program_of_the_provider(allowed: IdentityProvider, there: TestedProvider, storage: Storage) -> None:
    """Nothing is written: the rules decide with each request."""
    value = token_of(there, sub="importer", email=None, email_verified=None)
    caller = recognise_access_token(value, find_context("acme", "handbook"))
    assert (caller.kind, caller.label, caller.roles) == (
        CallerKind.TOKEN,
        "subject:acme:importer",
        frozenset({Role.EDITOR}),
    )
    assert not StaffAccount.objects.exists()
    allowed.rules.update(roles=["viewer"])
    assert recognise_access_token(value, find_context("acme", "handbook")).roles == {"viewer"}
    allowed.rules.update(value="nobody")
    assert recognise_access_token(value, find_context("acme", "handbook")).roles == frozenset()


def test_a_person_is_the_same_account(allowed: IdentityProvider, there: TestedProvider) -> None:
    sign_in(Client(), there)
    jo = StaffAccount.objects.get()
    caller = recognise_access_token(token_of(there), find_context("acme", "handbook"))
    assert (caller.kind, caller.label, caller.roles) == (CallerKind.STAFF, f"staff:{jo.pk}", frozenset({Role.EDITOR}))
    StaffAccount.objects.update(is_active=False)
    with pytest.raises(Unauthenticated):
        recognise_access_token(token_of(there), find_context("acme", "handbook"))
    # Also somebody who has never signed in at the provider, by address.
    SocialAccount.objects.all().delete()
    with pytest.raises(Unauthenticated):
        recognise_access_token(token_of(there), find_context("acme", "handbook"))
    StaffAccount.objects.update(is_active=True)
    caller = recognise_access_token(token_of(there), find_context("acme", "handbook"))
    assert (caller.label, caller.is_lasting, SocialAccount.objects.exists()) == (f"staff:{jo.pk}", False, False)


def test_long_subjects_are_not_mistaken_for_each_other(allowed: IdentityProvider, there: TestedProvider) -> None:
    IdentityProvider.objects.update(key="a" * 40)
    labels = {
        recognise_access_token(token_of(there, sub="s" * 189 + end, email=None), find_context("acme", "handbook")).label
        for end in ("1", "2")
    }
    assert [len(each) <= 200 for each in labels] == [True, True]


def test_a_provider_whose_keys_cannot_be_loaded(
    allowed: IdentityProvider, there: TestedProvider, api: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody knows whether the token is valid. The provider is not asked again with each request."""
    there.changed_metadata = {"jwks_uri": f"{there.issuer}/away"}
    forget_providers()
    header = {"Authorization": f"Bearer {token_of(there)}"}
    for _ in range(3):
        response = api.get("/acme/handbook/_api/rest/info", headers=header)
        assert (response.status_code, response["Retry-After"]) == (503, "5")
    assert there.asked.count("/away") == 1
    monkeypatch.setattr(outgoing_requests, "FAILED_SECONDS", 0.0)
    forget_providers()
    there.changed_metadata = {}
    assert api.get("/acme/handbook/_api/rest/info", headers=header).status_code == 200


@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
def test_a_person_of_the_directory(allowed: IdentityProvider, there: TestedProvider, method: str) -> None:
    """Somebody who has never signed in with a browser: the directory knows the groups, and ends the access (D545)."""
    directory = directory_of(allowed)
    made = directory.person("jo")
    group = directory.group("editors", made["id"])
    caller = recognise_access_token(token_of(there, groups=[]), find_context("acme", "handbook"))
    assert (caller.label, caller.roles) == (f"staff:{StaffAccount.objects.get().pk}", frozenset({Role.EDITOR}))
    directory.patch(f"Groups/{group['id']}", {"op": "remove", "path": "members"})
    assert recognise_access_token(token_of(there), find_context("acme", "handbook")).roles == frozenset()
    change = {"schemas": [], "Operations": [{"op": "replace", "path": "active", "value": False}]}
    assert directory.ask(method, f"Users/{made['id']}", change).status_code < 300
    with pytest.raises(Unauthenticated):
        recognise_access_token(token_of(there), find_context("acme", "handbook"))


def test_the_api_accepts_it(allowed: IdentityProvider, there: TestedProvider, api: ApiClient, storage: Storage) -> None:
    def status(value: str, path: str = "/acme/handbook/_api/rest/info") -> int:
        return api.get(path, headers={"Authorization": f"Bearer {value}"}).status_code

    value = token_of(there)
    assert status(value) == 200
    assert status(value, "/rival/handbook/_api/rest/info") == 401
    IdentityProvider.objects.update(accepts_tokens=False)
    assert status(value) == 401


WRONG: dict[str, dict[str, Any]] = {
    "audience": {"aud": "repository"},
    "no audience": {"aud": None},
    "issuer": {"iss": "https://elsewhere.example"},
    "expired": {"exp": 1},
    "no end": {"exp": None},
    "no subject": {"sub": None},
    "an ID token": {"nonce": "n"},
    "an ID token of Keycloak": {"typ": "ID"},
    "a logout token": {"events": {}},
    "bound to a key": {"cnf": {"jkt": "thumbprint"}},
    "not valid yet": {"nbf": 99_999_999_999},
}


@pytest.mark.parametrize("changes", WRONG.values(), ids=WRONG)
def test_wrong_access_tokens(allowed: IdentityProvider, there: TestedProvider, storage: Storage, changes: Any) -> None:
    with pytest.raises(Unauthenticated):
        recognise_access_token(token_of(there, **changes), find_context("acme", "handbook"))


def test_malformed_tokens(allowed: IdentityProvider, there: TestedProvider, storage: Storage) -> None:
    good = token_of(there)
    head, body, signature = good.split(".")
    context = find_context("acme", "handbook")
    for value in (
        "eyJ..",
        f"{head}.!.{signature}",
        f"{head}.{body}.",
        f"{head}.{body}.{'A' * 86}",
        "eyJ" + "a" * 20_000 + ".b.c",
    ):
        with pytest.raises(Unauthenticated):
            recognise_access_token(value, context)
    with pytest.raises(Unauthenticated):
        recognise_access_token(good, Context(ContextType.COLLECTION, context.collection))
    assert recognise_access_token(good, context).roles == {"editor"}


def test_other_callers_cost_nothing(
    storage: Storage, api: ApiClient, django_assert_num_queries: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A credential that is not a signed token does not reach the providers."""
    monkeypatch.setattr("storage.api.authentication.recognise_access_token", None)
    assert api.get("/acme/handbook/_api/rest/info", headers={"Authorization": "Bearer crt_unknown"}).status_code == 401
    assert api.get("/acme/handbook/_api/rest/info").status_code == 401
