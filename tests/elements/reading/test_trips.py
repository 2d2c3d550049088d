"""Trips to the database: statements that depend on nothing share the one that enters the scope (D225)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from repository_site.core.database.base import watch_trips
from storage.models import Storage
from storage.options import Role
from tests.api_client import ApiClient
from tests.elements.handbook import ID
from tests.factories import token_for

pytestmark = pytest.mark.django_db
FACETS = "/acme/handbook/_api/rest/facets"
ENTERS = "set_config('repository.storage'"


def trip_with_scope(work: Callable[[], Any]) -> list[str]:
    """Return the tables of the statements that come with the one that enters the scope."""
    found: list[Sequence[str]] = []
    end = watch_trips(lambda kind, statements, started, problem: found.append(statements))
    try:
        assert work().status_code == 200
    finally:
        end()
    [first] = [trip for trip in found if ENTERS in trip[0]][:1]
    return [each.partition(" FROM ")[2].split()[0] for each in first[1:]]


@pytest.mark.one_node("Citus enters a scope in a trip of its own")
def test_one_element_comes_with_the_scope(api: ApiClient, handbook: Storage) -> None:
    token, address = token_for(handbook, Role.VIEWER), f"{FACETS}/processes/views/detail/elements/{ID['order']}"
    assert trip_with_scope(lambda: api.get(address, token=token)) == ["elements_structuremark", "elements_element"]


@pytest.mark.one_node("Citus enters a scope in a trip of its own")
def test_a_change_locks_with_the_scope(api: ApiClient, handbook: Storage) -> None:
    token, address = token_for(handbook, Role.EDITOR), f"{FACETS}/it/views/detail/elements"
    body = {"elements": [{"type": "system", "attributes": {"name": {"1033": "Wiki"}}}]}

    def write(**headers: str) -> Any:
        return api.post(address, body, content_type="application/json", token=token, headers=headers)

    assert trip_with_scope(write) == ["storage_storagerevision", "elements_element"]
    # A request that may wait for another one with the same key holds no lock meanwhile.
    assert trip_with_scope(lambda: write(**{"Idempotency-Key": "k"})) == []


def test_an_update_comes_with_its_history_and_its_event(api: ApiClient, handbook: Storage) -> None:
    token, address = token_for(handbook, Role.EDITOR), f"{FACETS}/it/views/detail/elements"
    body = {"elements": [{"id": ID["crm"], "attributes": {"name": {"1033": "Another"}}}]}
    found: list[list[str]] = []
    end = watch_trips(lambda kind, statements, *rest: found.append([each.split()[0] for each in statements]))
    try:
        assert api.post(address, body, content_type="application/json", token=token).status_code == 200
    finally:
        end()
    assert ["UPDATE", "INSERT", "INSERT"] in found
