"""The storage and the caller of a request, as far as they are known before the database is asked (D195)."""

from __future__ import annotations

import threading

import pytest
from django.http import HttpRequest
from django.test import RequestFactory

from repository_site.core.fairness import origin
from repository_site.core.fairness.origin import (
    Known,
    RequestOrigin,
    credential_was_accepted,
    origin_of,
    storage_was_found,
)
from storage.models import Storage
from storage.options import Role
from tests.api_client import ApiClient
from tests.factories import token_for

INFO = "/acme/handbook/_api/rest/info"


@pytest.fixture(autouse=True)
def _nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(origin, "_storages", Known())
    monkeypatch.setattr(origin, "_credentials", Known())


def get(path: str = INFO, **meta: str) -> HttpRequest:
    return RequestFactory().get(path, **meta)  # type: ignore[arg-type]  # names of environ, not of parameters


def found(path: str = INFO, **meta: str) -> RequestOrigin:
    return origin_of(get(path, **meta))


def test_a_storage_counts_once_it_was_found() -> None:
    assert [found(path).storage for path in (INFO, "/", "/acme", "/acme/handbook", "/x/y/z")] == [""] * 5
    storage_was_found(get())
    paths = (INFO, "/acme/handbook", "/acme/handbook/1033/", "/acme/other/_api", "/", "/acme")
    assert [found(path).storage for path in paths] == [*["acme/handbook"] * 3, "", "", ""]


@pytest.mark.parametrize(
    "meta",
    [
        {"HTTP_AUTHORIZATION": "Bearer abc"},
        {"HTTP_SYMBIO_AUTH_TOKEN": "abc"},
        {"HTTP_COOKIE": "csrftoken=1; sessionid=abc; other=2"},
        {"HTTP_COOKIE": "sessionid=abc"},
    ],
)
def test_a_credential_counts_once_it_was_accepted(meta: dict[str, str]) -> None:
    network = found().caller
    assert found(**meta).caller == network
    credential_was_accepted(get(**meta), "token:1")
    caller = found(**meta).caller
    assert caller != network
    assert found(**{name: value.replace("abc", "abd") for name, value in meta.items()}).caller == network
    # It was accepted in one storage, and says nothing about another one.
    assert found("/rival/handbook/_api/rest/info", **meta).caller == network
    assert found(**meta, REMOTE_ADDR="192.0.2.1").caller == caller


def test_anonymous_callers_are_one_for_each_network() -> None:
    credential_was_accepted(get(), "token:1")
    first = found(REMOTE_ADDR="2001:db8::1").caller
    assert found(REMOTE_ADDR="2001:db8::2").caller == first
    assert found(REMOTE_ADDR="2001:db8:1::2").caller != first
    assert found(REMOTE_ADDR="2001:db8::1", HTTP_COOKIE="csrftoken=sessionid; mysessionid=abc").caller == first


def test_the_oldest_keys_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(origin, "MOST_KNOWN", 2)
    known = Known()
    for key in ("a", "b", "a", "c"):
        known.add(key)
    assert [key in known for key in ("a", "b", "c")] == [False, True, True]


def test_spellings_of_a_credential_are_one_caller() -> None:
    spellings: list[dict[str, str]] = [
        {"HTTP_AUTHORIZATION": "Bearer abc"},
        {"HTTP_AUTHORIZATION": "bearer  abc"},
        {"HTTP_AUTHORIZATION": "random", "HTTP_COOKIE": "sessionid=abc"},
        {"HTTP_COOKIE": "sessionid=x; sessionid=abc"},
    ]
    for each in spellings:
        assert not found(**each).is_accepted
        credential_was_accepted(get(**each), "staff:1")
    assert {(found(**each).caller, found(**each).is_accepted) for each in spellings} == {
        (hash(("acme/handbook", "staff:1")), True)
    }


def test_threads_can_add_keys_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking for the oldest key fails if another thread adds one meanwhile, so a lock is held."""
    monkeypatch.setattr(origin, "MOST_KNOWN", 2)
    known = Known()
    with known._lock:
        thread = threading.Thread(target=known.add, args=("a",))
        thread.start()
        thread.join(0.05)
        assert "a" not in known
    thread.join(60)
    assert "a" in known


@pytest.mark.django_db
def test_requests_make_storages_and_credentials_known(api: ApiClient, storage: Storage) -> None:
    assert api.get(INFO, headers={"Authorization": "Bearer wrong"}).status_code == 401
    assert api.get("/nowhere/at-all/_api/rest/info").status_code == 404
    assert api.get("/nowhere/at-all/").status_code == 404
    assert origin._storages._keys.keys() == {"acme/handbook"}
    assert origin._credentials._keys == {}
    token = token_for(storage, Role.VIEWER)
    assert api.get(INFO, headers={"Authorization": f"Bearer {token}"}).status_code == 200
    assert len(origin._credentials._keys) == 1
    assert found(HTTP_AUTHORIZATION=f"Bearer {token}").is_accepted
    # Other spellings of the same token are the same caller.
    for spelling in ({"Authorization": f"bearer   {token}"}, {"symbio-auth-token": token}):
        assert api.get(INFO, headers=spelling).status_code == 200
    assert len(origin._credentials._keys) == 3
    assert len(set(origin._credentials._keys.values())) == 1
