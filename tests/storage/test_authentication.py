"""Authentication (D4): API tokens and their scope, back-office sessions, anonymous readers."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.test import override_settings
from django.utils import timezone

from repository_site.core.problems import Invalid, Unauthenticated
from storage.access.tokens import issue_token, recognise_token, revoke_token, token_digest
from storage.extension import StorageExtension, UserGrant, storage_extensions
from storage.models import ApiToken, Storage, StorageMembership
from storage.options import Role
from storage.tenancy.contexts import Context, ContextType, find_context
from tests.api_client import ApiClient
from tests.factories import (
    StaffAccountFactory,
    StorageFactory,
    collection_token,
    issued_token,
    site_token,
    storage_context,
)

pytestmark = pytest.mark.django_db
INFO = "/acme/handbook/_api/rest/info"
REFUSED = {
    "message": "The token is unknown here, expired or revoked.",
    "output": "volatile",
    "type": "unauthorized",
    "data": [{"error": "The token is unknown here, expired or revoked."}],
}


def test_no_credential_where_one_is_needed(api: ApiClient, storage: Storage) -> None:
    response = api.get(INFO)
    message = "This needs a credential. Send an API token: Authorization: Bearer <token>."
    assert response.status_code == 401
    assert response["WWW-Authenticate"] == "Bearer"
    assert response.json() == {
        "message": message,
        "output": "volatile",
        "type": "unauthorized",
        "data": [{"error": message}],
    }


@pytest.mark.parametrize("header", ["Authorization", "symbio-auth-token"])
def test_a_token_in_a_header(api: ApiClient, storage: Storage, header: str) -> None:
    value = issued_token(storage)
    sent = f"Bearer {value}" if header == "Authorization" else value
    assert api.get(INFO, headers={header: sent}).status_code == 200


@pytest.mark.parametrize(
    "header", ["Basic YTpi", "Bearer", "Bearer ", "bearer nonsense", "Bearer crt_wrong", "Bearer ü"]
)
def test_a_bad_authorization_header(api: ApiClient, storage: Storage, header: str) -> None:
    assert api.get(INFO, headers={"Authorization": header}).status_code == 401


def test_a_bad_token_is_refused_even_where_anonymous_may_read(api: ApiClient, open_storage: Storage) -> None:
    response = api.get("/acme/open/_api/rest/info", token="crt_wrong")
    assert (response.status_code, response.json()) == (401, REFUSED)


def test_a_token_is_valid_in_its_own_context_only(
    api: ApiClient, storage: Storage, other_storage: Storage, open_storage: Storage
) -> None:
    addresses = {
        INFO: issued_token(storage, Role.ADMINISTRATOR),
        "/rival/handbook/_api/rest/info": issued_token(other_storage, Role.ADMINISTRATOR),
        "/acme/_admin/_api/rest/info": collection_token(storage),
        "/rival/_admin/_api/rest/info": collection_token(other_storage),
        "/_sysadmin/_admin/_api/rest/info": site_token(),
    }
    for address in addresses:
        for home, token in addresses.items():
            response = api.get(address, token=token)
            if address == home:
                assert response.status_code == 200
            else:
                assert (response.status_code, response.json()) == (401, REFUSED)


def test_the_query_parameter_only_where_the_storage_allows_it(api: ApiClient, storage: Storage) -> None:
    value = issued_token(storage)
    assert api.get(f"{INFO}?symbio-auth-token={value}").status_code == 401
    storage.token_in_query = True
    storage.save()
    assert api.get(f"{INFO}?symbio-auth-token={value}").status_code == 200


def test_expired_revoked_and_future_tokens(api: ApiClient, storage: Storage) -> None:
    now = timezone.now()
    issued = issue_token(storage_context(storage), "t", [Role.VIEWER])
    for changes in (
        {"valid_until": now - timedelta(seconds=1)},
        {"revoked_on": now},
        {"valid_from": now + timedelta(hours=1)},
    ):
        fresh = {"valid_from": issued.token.valid_from, "valid_until": None, "revoked_on": None}
        ApiToken.objects.update(**{**fresh, **changes})
        response = api.get(INFO, token=issued.value)
        assert (response.status_code, response.json()) == (401, REFUSED), changes
    ApiToken.objects.update(**fresh)
    assert api.get(INFO, token=issued.value).status_code == 200


def test_revoking_takes_effect_at_once_and_fails_the_second_time(api: ApiClient, storage: Storage) -> None:
    issued = issue_token(storage_context(storage), "t", [Role.VIEWER])
    assert revoke_token(issued.token) is True
    assert revoke_token(issued.token) is False
    assert api.get(INFO, token=issued.value).status_code == 401


def test_only_a_keyed_digest_is_stored(storage: Storage) -> None:
    issued = issue_token(storage_context(storage), "t", [Role.VIEWER])
    row = ApiToken.objects.filter(pk=issued.token.pk).values().get()
    assert issued.value not in repr(row)
    assert bytes(row["digest"]) == token_digest(issued.value, settings.SECRET_KEY)
    assert token_digest(issued.value, "another key") != bytes(row["digest"])


def test_a_new_secret_key_takes_tokens_over_while_the_old_one_is_a_fallback(storage: Storage) -> None:
    issued = issue_token(storage_context(storage), "t", [Role.VIEWER])
    with override_settings(SECRET_KEY="new" * 20), pytest.raises(Unauthenticated):
        recognise_token(issued.value, storage_context(storage))
    with override_settings(SECRET_KEY="new" * 20, SECRET_KEY_FALLBACKS=[settings.SECRET_KEY]):
        recognise_token(issued.value, storage_context(storage))
    with override_settings(SECRET_KEY="new" * 20):
        assert recognise_token(issued.value, storage_context(storage)).element_id == issued.token.id


def test_the_time_of_use_is_noted_once_a_minute(storage: Storage, django_assert_num_queries: Any) -> None:
    issued = issue_token(storage_context(storage), "t", [Role.VIEWER])
    with django_assert_num_queries(2):
        recognise_token(issued.value, storage_context(storage))
    first = ApiToken.objects.get().last_used_on
    assert first is not None
    with django_assert_num_queries(1):
        recognise_token(issued.value, storage_context(storage))
    ApiToken.objects.update(last_used_on=first - timedelta(minutes=2))
    recognise_token(issued.value, storage_context(storage))
    assert ApiToken.objects.get().last_used_on > first  # type: ignore[operator]  # set above


def test_all_problems_of_a_token_are_reported_at_once(storage: Storage) -> None:
    with pytest.raises(Invalid) as caught:
        issue_token(
            storage_context(storage), " ", [], user_id=uuid.UUID(int=7), valid_until=timezone.now() - timedelta(days=1)
        )
    assert caught.value.details == (
        "name: a token needs a name.",
        "roles: a token needs at least one of viewer, analyzer, editor, approver, architect, administrator.",
        "valid until: the end is before the start or in the past.",
        "user: there is no user 00000000-0000-0000-0000-000000000007 in acme/handbook.",
    )
    assert not ApiToken.objects.exists()


def test_an_administrative_context_needs_an_administrator(storage: Storage) -> None:
    with pytest.raises(Invalid, match="cannot be issued") as caught:
        issue_token(Context(ContextType.SITE), "t", [Role.ARCHITECT])
    assert caught.value.details == ("roles: a token of an administrative context needs the role administrator.",)


USER = uuid.UUID(int=42)


@pytest.fixture
def users() -> Iterator[dict[uuid.UUID, UserGrant]]:
    """A user lookup, as the elements app registers it."""
    known = {USER: UserGrant(frozenset({Role.VIEWER, Role.EDITOR}), is_inactive=False)}
    with storage_extensions.extended_by(StorageExtension(find_user=lambda storage, user_id: known.get(user_id))):
        yield known


def test_a_users_token_has_the_roles_that_both_grant(storage: Storage, users: dict[uuid.UUID, UserGrant]) -> None:
    value = issued_token(storage, Role.EDITOR, Role.APPROVER, user_id=USER)
    caller = recognise_token(value, storage_context(storage))
    assert (caller.element_id, caller.roles) == (USER, frozenset({Role.EDITOR}))


def test_an_inactive_or_vanished_user_cannot_call(
    api: ApiClient, storage: Storage, users: dict[uuid.UUID, UserGrant]
) -> None:
    value = issued_token(storage, Role.EDITOR, user_id=USER)
    assert api.get(INFO, token=value).status_code == 200
    users[USER] = UserGrant(frozenset({Role.EDITOR}), is_inactive=True)
    assert api.get(INFO, token=value).status_code == 401
    del users[USER]
    assert api.get(INFO, token=value).status_code == 401


def test_staff_with_a_membership_read_and_need_csrf_to_post(storage: Storage, other_storage: Storage) -> None:
    account = StaffAccountFactory.create()
    StorageMembership.objects.create(account=account, storage=storage, roles=["viewer"])
    api = ApiClient(enforce_csrf_checks=True)
    api.force_login(account)
    assert api.get(INFO).status_code == 200
    refused = api.post(INFO)
    assert (refused.status_code, refused.json()["type"]) == (403, "unauthorized")
    assert api.get("/rival/handbook/_api/rest/info").status_code == 401


def test_staff_write_with_their_session(other_storage: Storage) -> None:
    """A page script sends the CSRF cookie as a header. The body is read only once, whatever its type."""
    storage = StorageFactory.create(collection="acme", key="handbook", template="standard")
    account = StaffAccountFactory.create()
    StorageMembership.objects.create(account=account, storage=storage, roles=["architect"])
    api = ApiClient(enforce_csrf_checks=True)
    api.force_login(account)
    api.get("/acme/handbook/admin/")
    headers = {"X-CSRFToken": api.cookies["csrftoken"].value}
    elements = "/acme/handbook/_api/rest/facets/tags/views/detail/elements"
    body = b'{"elements": [{"type": "tag", "attributes": {"name": {"1033": "Tried"}}}]}'
    made = api.generic("POST", elements, body, "application/json", headers=headers)
    assert made.status_code == 200, made.content
    read = api.get(f"{elements}/{made.json()['elements'][0]['id']}").json()["elements"][0]
    assert read["attributes"]["name"] == {"1033": "Tried"}
    part = b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--x--\r\n'
    for sent, kind, status in (
        (b"", "application/json", 200),
        (b"{", "application/json", 400),
        (part, "multipart/form-data; boundary=x", 415),
        (b"a=1", "application/x-www-form-urlencoded", 415),
    ):
        assert (api.generic("POST", elements, sent, kind, headers=headers).status_code, kind) == (status, kind)
        assert api.generic("POST", elements, sent, kind).status_code == 403


def test_superusers_reach_every_context_by_session(api: ApiClient, storage: Storage) -> None:
    api.force_login(StaffAccountFactory.create(is_superuser=True))
    for address in (INFO, "/acme/_admin/_api/rest/info", "/_sysadmin/_admin/_api/rest/info"):
        assert api.get(address).status_code == 200


def test_sessions_of_other_accounts_are_ignored(api: ApiClient, storage: Storage) -> None:
    account = StaffAccountFactory.create(is_staff=False)
    StorageMembership.objects.create(account=account, storage=storage, roles=["viewer"])
    api.force_login(account)
    assert api.get(INFO).status_code == 401


def test_a_prefetched_token_is_invalid_in_other_storages(
    api: ApiClient, storage: Storage, other_storage: Storage
) -> None:
    """Not in another storage, not in one with the same name in another collection, and not after it has expired."""
    own, foreign = issued_token(storage), issued_token(other_storage)
    digest = token_digest(own, settings.SECRET_KEY)
    assert find_context("acme", "handbook").token is None
    assert find_context("acme", "handbook", token_digest(foreign, settings.SECRET_KEY)).token is None
    assert find_context("rival", "handbook", digest).token is None
    found = find_context("acme", "handbook", digest)
    assert found.token == ApiToken.objects.get(storage=storage)
    assert recognise_token(own, found).label == f"token:{found.token.id}"
    with pytest.raises(Unauthenticated):
        recognise_token(foreign, found)
    for name in ("Authorization", "symbio-auth-token"):
        for value, status in ((own, 200), (foreign, 401), (f"{own} x", 401), (f" {own} ", 200)):
            headers = {name: f"Bearer {value}" if name == "Authorization" else value}
            response = api.get("/acme/handbook/_api/rest/info", headers=headers)
            assert (name, value, response.status_code) == (name, value, status)
    revoke_token(found.token)
    assert api.get("/acme/handbook/_api/rest/info", token=own).status_code == 401
