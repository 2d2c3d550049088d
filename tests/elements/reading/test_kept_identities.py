"""Targets of references are cached between requests, and responses equal those without the cache."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from elements.models import Element, ElementVersion
from elements.reading import identities
from elements.reading.identities import Identities
from elements.reading.rows import Audience
from storage.models import Storage
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.elements.handbook import ID
from tests.scale import first_quick

pytestmark = pytest.mark.django_db
FACETS = "/acme/handbook/_api/rest/facets"
PROCESSES = f"{FACETS}/processes/views/detail/elements"
READS = [
    PROCESSES,
    f"{PROCESSES}?$pageSize=2",
    f"{PROCESSES}?$expandRelated=systems,owner",
    f"{PROCESSES}?$resources=names",
    f"{PROCESSES}/{ID['order']}",
    f"{PROCESSES}/{ID['order']}/related",
    f"{PROCESSES}/{ID['order']}/content",
    f"{FACETS}/processes/reporting",
]


@pytest.fixture(autouse=True)
def _begin_with_nothing(settings: Settings) -> Iterator[None]:
    settings.ALLOWED_HOSTS = ["*"]
    identities.shelf.clear()
    yield
    identities.shelf.clear()


def read(api: ApiClient, address: str, token: str | None, **headers: str) -> bytes:
    response = api.get(address, token=token, headers=headers)
    assert response.status_code == 200, response.content
    return b"".join(response) if response.streaming else response.content


def change(handbook: Storage) -> None:
    """Write a separate mark, so that there is something to cache."""
    with tenant_scope(handbook):
        Element.objects.filter(id=ID["order"]).update(position=7)


@pytest.mark.parametrize("address", first_quick(READS, 3))
def test_responses_from_the_cache_are_the_same(
    handbook: Storage, api: ApiClient, architect: str, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each audience and each address of the storage has its own cache entry."""
    change(handbook)
    tokens = [architect] if "reporting" in address else [architect, None]
    asked = [(token, host) for token in tokens for host in ("a", "b")]
    kept = [read(api, address, token, Host=host) for _ in range(3) for token, host in asked]
    assert identities.shelf.states
    monkeypatch.setattr(identities, "MOST_KEPT", 0)
    identities.shelf.clear()
    fresh = [read(api, address, token, Host=host) for token, host in asked]
    assert kept == fresh * 3
    assert len(set(fresh)) == len(asked)


def test_targets_are_read_once_in_a_state(handbook: Storage, api: ApiClient, architect: str) -> None:
    def looked() -> int:
        with CaptureQueriesContext(connection) as captured:
            read(api, PROCESSES, architect)
        return sum("v.id = e.newest_id WHERE e.id = ANY" in each["sql"] for each in captured)

    change(handbook)
    assert [looked(), looked()] == [1, 0]
    change(handbook)
    assert [looked(), looked()] == [1, 0]


def test_a_change_of_a_target_is_visible_at_once(handbook: Storage, api: ApiClient, architect: str) -> None:
    change(handbook)
    address = f"{PROCESSES}/{ID['order']}/related"
    before = read(api, address, architect)
    with tenant_scope(handbook):
        target = next(each for each in Element.objects.all() if str(each.id).encode() in before and each.newest_id)
        ElementVersion.objects.filter(element=target).update(stereotype="another kind")
    after = read(api, address, architect)
    assert b"another kind" not in before
    assert b"another kind" in after


def test_the_path_is_read_once_in_a_state(handbook: Storage, api: ApiClient, architect: str) -> None:
    """A move is visible at once, also that of an ancestor."""

    def path() -> tuple[list[str], bool]:
        with CaptureQueriesContext(connection) as captured:
            found = orjson.loads(read(api, f"{PROCESSES}/{ID['ship']}?$resources=rootPath", architect))
        ids = [each["id"] for each in found["elements"][0].get("rootPath", ())]
        return ids, any("RECURSIVE" in each["sql"] for each in captured)

    def move(element: str, parent: str | None) -> None:
        with tenant_scope(handbook):
            Element.objects.filter(id=ID[element]).update(parent_id=parent and ID[parent])

    change(handbook)
    order, sales, house = ID["order"], ID["sales"], ID["house"]
    move("order", None)
    move("ship", "order")
    assert [path(), path()] == [([order], True), ([order], False)]
    move("order", "sales")
    assert [path(), path()] == [([order, sales, house], True), ([order, sales, house], False)]
    move("ship", "sales")
    assert [path(), path()] == [([sales, house], True), ([sales, house], False)]
    move("ship", None)
    assert path() == ([], False)


def test_without_a_state_nothing_is_cached(handbook: Storage, api: ApiClient, architect: str) -> None:
    """Writes return what they have written, and see changes that nobody else may see yet."""
    given: dict[str, Any] = {"elements": [{"id": ID["order"], "attributes": {"scope": {"1033": "wide"}}}]}
    response = api.post(PROCESSES, given, "application/json", token=architect)
    assert response.status_code == 200, response.content
    assert not identities.shelf.states
    with tenant_scope(handbook):
        names = Identities(Audience(sees_drafts=True))
        first = names.read([ID["order"]])
        ElementVersion.objects.filter(element__id=ID["order"]).update(stereotype="another kind")
        assert names.read([ID["order"]]) != first


def weight() -> int:
    return sum(
        len(each.found) + len(each.names) + len(each.parents) + sum(map(len, each.texts.values()))
        for each in identities.shelf.states
    )


@pytest.mark.long
def test_the_cache_keeps_its_limit(
    handbook: Storage, api: ApiClient, architect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Except for what the last request has added."""
    for most in (8, 24):
        monkeypatch.setattr(identities, "MOST_KEPT", most)
        identities.shelf.clear()
        for _ in range(3):
            change(handbook)
            for token in (architect, None):
                for address in READS[:-1]:
                    read(api, address, token)
                    assert weight() <= 2 * most
        assert weight() > 0


@pytest.mark.long
def test_states_without_any_targets_are_forgotten_as_well(
    handbook: Storage, api: ApiClient, architect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(identities, "MOST_STATES", 5)
    for _ in range(10):
        change(handbook)
        read(api, f"{PROCESSES}/{ID['order']}/attributes/name", architect)
        read(api, PROCESSES, architect)
    assert len(identities.shelf.states) == 5


def test_the_number_of_cached_addresses_is_limited(
    handbook: Storage, api: ApiClient, architect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(identities, "MOST_WAYS", 2)
    change(handbook)
    for number in range(5):
        read(api, PROCESSES, architect, Host=f"host-{number}")
    assert [len(each.texts) for each in identities.shelf.states] == [1]


def test_texts_that_another_thread_adds_do_not_disturb_the_weighing() -> None:
    cache, key = identities.IdentityCache(), ("state", Audience(sees_drafts=False))
    known = cache.take(key)

    class Added(dict[str, str]):
        """Texts during whose count another thread adds texts of another form."""

        def __len__(self) -> int:
            known.texts["meanwhile"] = {}
            return 0

    known.texts.update({"first": Added(), "second": {"a": "A"}})
    assert cache.take(key) is known
    assert known.weight == 1
