"""The log of the networks that tokens are used from, and reports of new ones (D487)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from unittest import mock

import pytest
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from storage.access import token_addresses
from storage.access.token_addresses import MOST_KEPT, MOST_TOLD, UseLog, forget_old_addresses, write_addresses
from storage.access.token_limits import TokenLimits
from storage.access.tokens import issue_token
from storage.models import ApiToken, Event, Storage, TokenAddress
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.factories import collection_token, storage_context
from tests.storage.office import member, site_administrator

pytestmark = pytest.mark.django_db
INFO = "/acme/handbook/_api/rest/info"


@pytest.fixture(autouse=True)
def log(monkeypatch: pytest.MonkeyPatch) -> UseLog:
    fresh = UseLog()
    monkeypatch.setattr(token_addresses, "_log", fresh)
    return fresh


@pytest.fixture
def use(api: ApiClient, storage: Storage) -> Any:
    """Return a function that uses a token from addresses, and then writes the log."""
    issued = issue_token(storage_context(storage), "robot", [Role.VIEWER], limits=TokenLimits(["0.0.0.0/1", "::/0"]))

    def send(*addresses: str) -> list[int]:
        found = [api.get(INFO, token=issued.value, REMOTE_ADDR=each).status_code for each in addresses]
        write_addresses()
        return found

    send.token = issued.token  # type: ignore[attr-defined]
    return send


def kept(is_refused: bool = False) -> dict[str, int]:
    return dict(TokenAddress.objects.filter(is_refused=is_refused).order_by("id").values_list("network", "requests"))


def told(storage: Storage) -> list[str]:
    with tenant_scope(storage):
        found = Event.objects.filter(type="token.newAddress").order_by("time")
        return [*found.values_list("data__address", flat=True)]


def test_networks_of_a_token_with_counts(use: Any, storage: Storage, other_storage: Storage) -> None:
    assert use("10.0.0.1", "10.0.0.1", "2001:db8::1", "2001:db8::2", "203.0.113.9") == [200] * 4 + [403]
    assert use("10.0.0.1", "203.0.113.9") == [200, 403]
    assert (kept(), kept(is_refused=True)) == ({"10.0.0.1": 3, "2001:db8::/64": 2}, {"203.0.113.9": 2})
    # The first one is not reported, nor are refused ones.
    assert (told(storage), told(other_storage)) == (["2001:db8::/64"], [])
    with tenant_scope(storage):
        event = Event.objects.get(type="token.newAddress")
    used = event.data.pop("usedOn")
    assert used
    assert event.data == {
        "tokenId": str(use.token.id), "name": "robot", "roles": ["viewer"], "address": "2001:db8::/64",
        "validUntil": event.data["validUntil"],
    }  # fmt: skip
    assert (event.subject_id, event.is_public, event.caller_label) == (use.token.id, False, "")


def test_the_log_costs_a_request_no_statement(use: Any, api: ApiClient, storage: Storage) -> None:
    use("10.0.0.1")
    other = issue_token(storage_context(storage), "other", [Role.VIEWER]).value
    for address in ("10.0.0.1", "10.0.0.2", "10.0.0.3"):
        api.get(INFO, token=other, REMOTE_ADDR=address)
    with CaptureQueriesContext(
        connection,
    ) as before:
        api.get(INFO, token=other, REMOTE_ADDR="10.0.0.1")
    with CaptureQueriesContext(connection) as after:
        api.get(INFO, token=other, REMOTE_ADDR="10.0.0.99")
    assert len(before) == len(after)
    assert not any("tokenaddress" in each["sql"] for each in after.captured_queries)
    write_addresses()
    api.get(INFO, token=other, REMOTE_ADDR="10.0.0.1")
    with CaptureQueriesContext(connection) as writing:
        write_addresses()
    # Known networks of all tokens: which are known, and the counts.
    assert len([each for each in writing.captured_queries if "tokenaddress" in each["sql"]]) == 2


@pytest.mark.long
def test_the_log_and_its_reports_are_bounded(use: Any, storage: Storage) -> None:
    many = [f"10.0.1.{number}" for number in range(MOST_KEPT + 10)]
    for address in many:
        use(address)
    use(*(f"203.0.113.{number}" for number in range(MOST_KEPT + 5)))
    assert [*kept()] == many[-MOST_KEPT:]
    assert len(kept(is_refused=True)) == MOST_KEPT
    # The first one was not reported, but counts.
    assert told(storage) == many[1:MOST_TOLD]
    TokenAddress.objects.update(first_on=timezone.now() - timedelta(days=2))
    use("10.0.0.9", "10.0.1.29")
    assert told(storage)[-1] == "10.0.0.9"
    TokenAddress.objects.exclude(network="10.0.0.9").update(last_on=timezone.now() - timedelta(days=91))
    forget_old_addresses()
    assert kept() == {"10.0.0.9": 1}
    with mock.patch.object(token_addresses, "MAX_WAITING", 3):
        use("10.0.2.1", "10.0.2.2", "10.0.2.3", "10.0.2.4")
    assert "10.0.2.4" not in kept()
    with mock.patch.object(token_addresses, "MAX_OF_TOKEN", 2):
        use("10.0.3.1", "10.0.3.2", "10.0.3.3", "203.0.113.99")
    assert "10.0.3.3" not in kept()
    assert "203.0.113.99" in kept(is_refused=True)


def test_a_failing_database_loses_nothing(use: Any, log: UseLog) -> None:
    use("10.0.0.1", "2001:db8::1")
    with mock.patch.object(token_addresses, "_try_to_add", side_effect=OperationalError("away")):
        use("10.0.0.1", "2001:db8::1", "2001:db8:7::1")
    use("2001:db8:7::1")
    assert kept() == {"10.0.0.1": 2, "2001:db8::/64": 2, "2001:db8:7::/64": 2}


def test_uses_of_a_removed_token_are_forgotten(use: Any, storage: Storage) -> None:
    use("10.0.0.1")
    token_addresses.note_address(use.token.id, "10.0.0.2")
    ApiToken.objects.all().delete()
    write_addresses()
    assert not TokenAddress.objects.exists()


def test_tokens_without_a_storage_have_a_log_and_no_event(api: ApiClient, storage: Storage) -> None:
    value = collection_token(storage)
    for address in ("10.0.0.1", "10.0.0.2"):
        assert api.get("/acme/_admin/_api/rest/info", token=value, REMOTE_ADDR=address).status_code == 200
        write_addresses()
    assert [*kept()] == ["10.0.0.1", "10.0.0.2"]
    assert told(storage) == []
    page = site_administrator().get(f"/admin/storage/apitoken/{ApiToken.objects.get().pk}/change/").content.decode()
    assert "10.0.0.1" in page


def test_only_administrators_see_addresses_in_the_back_office(use: Any, storage: Storage) -> None:
    use("10.0.0.1", "203.0.113.9")
    address = f"/acme/handbook/admin/storage/apitoken/{use.token.pk}/change/"
    page = member(storage, Role.ADMINISTRATOR).get(address).content.decode()
    assert all(each in page for each in ("10.0.0.1", "203.0.113.9", "1 request"))
    refused = member(storage, Role.ARCHITECT).get(address)
    assert refused.status_code == 403
    assert "10.0.0.1" not in refused.content.decode()
