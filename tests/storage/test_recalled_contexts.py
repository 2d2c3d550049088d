"""Contexts that a process recalls from an earlier request with the same token (D589)."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from repository_site.core.environment.values import Rate
from repository_site.core.rest.throttling import Throttle
from storage.access.tokens import revoke_token
from storage.api import throttling
from storage.models import ApiToken, Storage
from storage.options import Role
from storage.tenancy.contexts import recall_context
from tests.api_client import ApiClient
from tests.factories import token_for

pytestmark = [pytest.mark.django_db, pytest.mark.one_node("on a cluster every request reads its context")]
INFO = "/acme/handbook/_api/rest/info"
FACETS = "/acme/handbook/_api/rest/facets"
WEBHOOKS = "/acme/handbook/_api/rest/webhooks"


def is_recalled(token: ApiToken) -> bool:
    return recall_context("acme", "handbook", bytes(token.digest)) is not None


def test_every_change_counts_at_once(api: ApiClient, storage: Storage) -> None:
    value = token_for(storage, Role.VIEWER)
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
    value = token_for(storage)
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
    value = token_for(storage)
    statuses = []
    for number in range(5):
        statuses.append(api.get(INFO, token=value).status_code)
        ApiToken.objects.update(name=f"name {number}")
    assert statuses == [200, 200, 200, 200, 429]
