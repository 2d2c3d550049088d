"""A rebuild of the search index while others change or remove the storage. Its transactions are real ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from threading import Event
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from elements.models import Lane, SearchDocument, SearchPosting, SearchWord
from elements.search import rebuilding
from storage.models import Storage, TenantModel
from storage.options import Role
from storage.provisioning.provision import remove_storage
from storage.tenancy.bulk import copy_rows
from storage.tenancy.scope import StorageGone, tenant_scope
from tests.api_client import ApiClient
from tests.factories import StorageFactory, token_for
from tests.removed_storages import rows_left

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long, pytest.mark.on_cluster]
SYSTEMS = "/acme/busy/_api/rest/facets/it/views/detail/elements"
# Seconds that nothing here takes.
LONG = 60


@pytest.fixture
def busy() -> Iterator[Storage]:
    storage = StorageFactory.create(collection="acme", key="busy", template="standard")
    body = {"elements": [{"type": "system", "attributes": {"name": {"1033": "Zeppelin"}}}]}
    token = token_for(storage, Role.ADMINISTRATOR)
    assert ApiClient().post(SYSTEMS, body, "application/json", token=token).status_code == 200
    yield storage
    if Storage.objects.filter(pk=storage.pk).exists():
        remove_storage(storage)


@pytest.fixture(autouse=True)
def no_repetition(monkeypatch: pytest.MonkeyPatch) -> None:
    """A deadlock fails the test."""
    monkeypatch.setattr(rebuilding, "repeated", lambda work: work())


class PausePoint:
    """A place where a thread waits until the test lets it go on."""

    def __init__(self) -> None:
        self.reached, self.left = Event(), Event()

    def __call__(self) -> None:
        self.reached.set()
        assert self.left.wait(LONG)


@pytest.fixture
def threads() -> Iterator[Callable[..., Future[Any]]]:
    with ThreadPoolExecutor(2) as both:

        def run(work: Callable[..., Any], *given: Any) -> Any:
            try:
                return work(*given)
            finally:
                connection.close()

        yield lambda work, *given: both.submit(run, work, *given)


def rebuild(storage: Storage) -> None:
    with suppress(StorageGone):
        for _ in rebuilding.rebuild_search(storage):
            pass


def is_waiting(future: Future[Any]) -> bool:
    return bool(wait([future], timeout=1).not_done)


def assert_nothing_is_left(storage_id: UUID) -> None:
    assert {model.__name__: rows_left(storage_id, model) for model in (SearchDocument, SearchPosting, SearchWord)} == {
        "SearchDocument": 0,
        "SearchPosting": 0,
        "SearchWord": 0,
    }


def test_a_removal_waits_for_a_portion_of_postings(
    busy: Storage, threads: Callable[..., Future[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that the portion commits later would stay for ever."""
    pause, tenant = PausePoint(), busy.id

    def paused(*given: Any) -> Any:
        pause()
        return copy_rows(*given)

    monkeypatch.setattr(rebuilding, "copy_rows", paused)
    rebuilt = threads(rebuild, busy)
    assert pause.reached.wait(LONG)
    removed = threads(remove_storage, Storage.objects.get(pk=busy.pk))
    assert is_waiting(removed)
    pause.left.set()
    removed.result(LONG)
    rebuilt.result(LONG)
    assert_nothing_is_left(tenant)


def test_a_rebuild_waits_for_a_removal(busy: Storage, threads: Callable[..., Future[Any]]) -> None:
    pause, tenant = PausePoint(), busy.id

    def progress(models: Sequence[type[TenantModel]]) -> Iterator[type[TenantModel]]:
        pause()
        yield from models

    removed = threads(remove_storage, Storage.objects.get(pk=busy.pk), progress)
    assert pause.reached.wait(LONG)
    rebuilt = threads(rebuild, busy)
    assert is_waiting(rebuilt)
    pause.left.set()
    removed.result(LONG)
    rebuilt.result(LONG)
    assert_nothing_is_left(tenant)


def test_a_diagram_that_changes_during_a_rebuild(
    busy: Storage, threads: Callable[..., Future[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rebuild has replaced the document that the change wants to update."""
    pause, run = PausePoint(), rebuilding._run

    def paused(sql: str, *given: Any) -> None:
        run(sql, *given)
        if sql == rebuilding.ADD_DOCUMENTS:
            pause()

    def draw() -> None:
        with tenant_scope(busy):
            Lane.objects.create(version_id=document(), position=0, name={"1033": "Warehouse"})

    def document() -> UUID:
        return SearchDocument.objects.get(names__contains="zeppelin").id

    monkeypatch.setattr(rebuilding, "_run", paused)
    rebuilt = threads(rebuild, busy)
    assert pause.reached.wait(LONG)
    drawn = threads(draw)
    assert is_waiting(drawn)
    pause.left.set()
    drawn.result(LONG)
    rebuilt.result(LONG)
    with tenant_scope(busy):
        assert SearchDocument.objects.get(names__contains="zeppelin").drawn == "\n warehouse \n"
        assert SearchPosting.objects.filter(word="warehouse").exists()
