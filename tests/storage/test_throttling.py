"""Rate limits (D28, D145): one for each token, and one for each address without a valid token."""

from __future__ import annotations

from ipaddress import ip_network
from typing import Any

import pytest

from repository_site.core.environment.values import Rate
from repository_site.core.rest.throttling import Throttle
from storage.api import throttling
from storage.models import Storage
from tests.api_client import ApiClient
from tests.factories import issued_token

pytestmark = pytest.mark.django_db
INFO, OPEN, FOREIGN = (f"/{path}/_api/rest/info" for path in ("acme/handbook", "acme/open", "rival/handbook"))
REFUSED = "Too many requests; try again in 1000 seconds."
BURST = 3


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throttling, "anonymous_throttle", Throttle(Rate(0.001, BURST), lambda: 0.0))


def asked(api: ApiClient, path: str = INFO, token: str = "", address: str = "192.0.2.1", **headers: str) -> int:
    response = api.get(path, token=token or None, REMOTE_ADDR=address, headers=headers)
    return int(response.status_code)


def test_a_flood_of_invalid_tokens_does_not_affect_valid_ones(
    api: ApiClient, storage: Storage, other_storage: Storage
) -> None:
    right, foreign = issued_token(storage), issued_token(other_storage)
    assert [asked(api, token=f"crt_{number}") for number in range(6)] == [401] * BURST + [429] * 3
    response = api.get(INFO, token="crt_wrong", REMOTE_ADDR="192.0.2.1")
    assert (response["Retry-After"], response.json()) == (
        "1000",
        {"message": REFUSED, "output": "volatile", "type": "error", "data": [{"error": REFUSED}]},
    )
    # Valid tokens keep working, for every tenant and from every address.
    for address in ("192.0.2.2", "192.0.2.1"):
        assert asked(api, token=right, address=address) == 200
        assert asked(api, FOREIGN, token=foreign, address=address) == 200
    assert asked(api, token="crt_wrong", address="192.0.2.2") == 401


@pytest.mark.long
def test_every_kind_of_guess_counts(api: ApiClient, storage: Storage, other_storage: Storage) -> None:
    """Tokens, storages, addresses, and a valid token in the wrong context share one limit."""
    nowhere, nothing = "/acme/unknown/_api/rest/info", "/acme/handbook/_api/nothing"
    assert [asked(api, token="crt_x"), asked(api, nowhere), asked(api, nothing)] == [401, 404, 404]
    assert asked(api, token=issued_token(other_storage)) == 429
    assert [asked(api), asked(api, nowhere), asked(api, nothing)] == [429] * 3


@pytest.mark.long
@pytest.mark.parametrize("path", [INFO, OPEN])
def test_a_forged_forwarded_address_does_not_help(
    api: ApiClient, storage: Storage, open_storage: Storage, settings: Any, path: str
) -> None:
    plain = 200 if path == OPEN else 401
    made_up = [{"X-Forwarded-For": f"198.51.100.{number}"} for number in range(5)]
    assert [asked(api, path, **each) for each in made_up] == [plain] * BURST + [429] * 2
    settings.TRUSTED_PROXIES = (ip_network("192.0.2.1"),)
    assert [asked(api, path, **each) for each in made_up] == [plain] * 5
    # The proxy appends the true address to the forged one.
    behind = [{"X-Forwarded-For": f"10.0.0.{number}, 203.0.113.7"} for number in range(5)]
    assert [asked(api, path, **each) for each in behind] == [plain] * BURST + [429] * 2


@pytest.mark.long
@pytest.mark.parametrize("path", [INFO, OPEN])
def test_ipv6_is_counted_by_the_network_of_a_customer(
    api: ApiClient, storage: Storage, open_storage: Storage, path: str
) -> None:
    plain = 200 if path == OPEN else 401
    same = [asked(api, path, address=f"2001:db8:1:2:{number}::1") for number in range(5)]
    assert same == [plain] * BURST + [429] * 2
    assert asked(api, path, address="2001:db8:1:3::1") == plain


@pytest.mark.long
def test_each_token_has_its_own_limit(api: ApiClient, storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throttling, "token_throttle", Throttle(Rate(0.001, 2)))
    one, other = issued_token(storage), issued_token(storage)
    assert [asked(api, token=value) for value in (one, one, one, other, other, other)] == [200, 200, 429] * 2
