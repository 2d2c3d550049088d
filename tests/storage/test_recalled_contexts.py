"""Contexts that a process recalls from an earlier request with the same token (D589)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import OperationalError, connection
from django.http import HttpRequest
from django.test.utils import CaptureQueriesContext
from psycopg.errors import DeadlockDetected
from psycopg_pool import PoolTimeout

from repository_site.core.environment.values import Rate
from repository_site.core.rest.throttling import Throttle
from storage.access.tokens import revoke_token
from storage.api import throttling, viewset
from storage.models import ApiToken, Storage
from storage.options import Role
from storage.tenancy.contexts import recall_context
from tests.api_client import ApiClient
from tests.factories import issued_token

pytestmark = [pytest.mark.django_db, pytest.mark.one_node("on a cluster every request reads its context")]
INFO = "/acme/handbook/_api/rest/info"
FACETS = "/acme/handbook/_api/rest/facets"
WEBHOOKS = "/acme/handbook/_api/rest/webhooks"


def is_recalled(token: ApiToken) -> bool:
    return recall_context("acme", "handbook", bytes(token.digest)) is not None


def test_every_change_counts_at_once(api: ApiClient, storage: Storage) -> None:
    value = issued_token(storage, Role.VIEWER)
    token = ApiToken.objects.get()
    recalled = []
    for _ in range(4):
        assert api.get(WEBHOOKS, token=value).status_code == 403
        recalled.append(is_recalled(token))
    # The second request finds the time of use that the first one has written.
    assert recalled == [False, True, True, True]
    # A refusal is never that of the past.
    ApiToken.objects.update(roles=[Role.ADMINISTRATOR.value])
    assert api.get(WEBHOOKS, token=value).status_code == 200
    ApiToken.objects.update(roles=[Role.VIEWER.value])
    assert api.get(WEBHOOKS, token=value).status_code == 403
    assert api.get(FACETS, token=value).status_code == 200
    revoke_token(ApiToken.objects.get())
    assert api.get(FACETS, token=value).status_code == 401


def test_settings_of_the_storage_are_those_of_now(api: ApiClient, storage: Storage) -> None:
    value = issued_token(storage)
    for _ in range(3):
        before = api.get(INFO, token=value).json()
    with CaptureQueriesContext(connection) as recalled:
        assert api.get(INFO, token=value).json() == before
    Storage.objects.filter(pk=storage.pk).update(time_zone="Asia/Tokyo")
    with CaptureQueriesContext(connection) as changed:
        after = api.get(INFO, token=value).json()
    assert after != before
    # What the recalled context began is given up, and begins again.
    assert len(changed) > len(recalled)


def test_a_request_that_begins_again_counts_once(
    api: ApiClient, storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(throttling, "token_throttle", Throttle(Rate(0.001, 4)))
    value = issued_token(storage)
    statuses = []
    for number in range(5):
        statuses.append(api.get(INFO, token=value).status_code)
        ApiToken.objects.update(name=f"name {number}")
    assert statuses == [200, 200, 200, 200, 429]


def test_a_change_between_two_attempts_counts(
    api: ApiClient, storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    value = issued_token(storage, Role.ADMINISTRATOR)
    for _ in range(2):
        assert api.get(WEBHOOKS, token=value).status_code == 200
    perform, attempts = viewset.ApiViewSet._perform, []

    def fail_first(view: viewset.ApiViewSet, *args: object) -> object:
        attempts.append(view.context.unconfirmed is None)
        if len(attempts) == 1:
            raise OperationalError from DeadlockDetected()
        return perform(view, *args)  # type: ignore[arg-type]

    @contextmanager
    def meanwhile(request: HttpRequest) -> Iterator[None]:
        ApiToken.objects.update(roles=[Role.VIEWER.value])
        yield

    monkeypatch.setattr(viewset.ApiViewSet, "_perform", fail_first)
    monkeypatch.setattr(viewset, "between_attempts", meanwhile)
    assert api.get(WEBHOOKS, token=value).status_code == 403
    # The first attempt was with the recalled context, and the last one with the one that was read.
    assert attempts == [False, True]


def test_a_busy_database_is_asked_once(api: ApiClient, storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    value = issued_token(storage)
    for _ in range(2):
        api.get(INFO, token=value)
    waits = []

    def wait_in_vain(*args: object, **kwargs: object) -> None:
        waits.append(args)
        raise PoolTimeout

    monkeypatch.setattr(viewset, "tenant_scope", wait_in_vain)
    assert api.get(INFO, token=value).status_code == 503
    assert len(waits) == 1
