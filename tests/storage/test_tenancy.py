"""Tenancy: the statements that the database refuses, and the rows that a scope shows."""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.core.handlers.wsgi import WSGIHandler
from django.db import (
    DataError,
    IntegrityError,
    InternalError,
    NotSupportedError,
    ProgrammingError,
    connection,
    connections,
    transaction,
)
from django.test import RequestFactory, override_settings

from repository_site.core.database.pool import enable_pool
from repository_site.core.problems import NotFound
from storage.models import Storage, StorageRevision
from storage.tenancy.scope import tenant_models, tenant_scope
from tests.factories import StorageFactory
from tests.scale import IS_FULL
from tests.shelves.models import Book, Shelf
from tests.storage.scopes import current_scope
from tests.wsgi_call import wsgi_call

NO_SCOPE = (DataError, ProgrammingError)


@pytest.fixture
def filled(storage: Storage, other_storage: Storage) -> None:
    for tenant, names in ((storage, ["a1", "a2"]), (other_storage, ["b1"])):
        with tenant_scope(tenant):
            for name in names:
                Shelf.objects.create(name=name)


def shelf_names() -> list[str]:
    return sorted(Shelf.objects.values_list("name", flat=True))


def test_without_a_scope_reading_raises(filled: None) -> None:
    with pytest.raises(NO_SCOPE), transaction.atomic():
        shelf_names()
    with pytest.raises(NO_SCOPE), transaction.atomic():
        Shelf.objects.count()


def test_without_a_scope_writing_raises(filled: None) -> None:
    for write in (
        lambda: Shelf.objects.create(name="stray"),
        lambda: Shelf.objects.update(name="stray"),
        lambda: Shelf.objects.all().delete(),
    ):
        with pytest.raises(NO_SCOPE), transaction.atomic():
            write()


def test_a_scope_sees_its_own_rows_only(storage: Storage, other_storage: Storage, filled: None) -> None:
    with tenant_scope(storage):
        assert shelf_names() == ["a1", "a2"]
    with tenant_scope(other_storage.id):
        assert shelf_names() == ["b1"]


def test_a_scope_changes_its_own_rows_only(storage: Storage, other_storage: Storage, filled: None) -> None:
    with tenant_scope(storage):
        assert Shelf.objects.all().delete()[0] == 2
    with tenant_scope(other_storage):
        assert shelf_names() == ["b1"]


def test_writing_for_another_storage_is_refused(storage: Storage, other_storage: Storage) -> None:
    with tenant_scope(storage), pytest.raises(ProgrammingError, match="row-level security"), transaction.atomic():
        Shelf.objects.create(name="smuggled", storage_id=other_storage.id)


def test_moving_a_row_to_another_storage_is_refused(storage: Storage, other_storage: Storage, filled: None) -> None:
    # Citus refuses it before row-level security does.
    refused = pytest.raises((ProgrammingError, NotSupportedError), match=r"row-level security|partition value")
    with tenant_scope(storage), refused, transaction.atomic():
        Shelf.objects.update(storage_id=other_storage.id)


@pytest.mark.django_db(transaction=True)
def test_a_reference_across_tenants_is_refused_by_the_database(
    storage: Storage, other_storage: Storage, filled: None
) -> None:
    with tenant_scope(other_storage):
        foreign = Shelf.objects.get()
    # Deferred: the database checks it when the transaction ends.
    with pytest.raises(IntegrityError, match="violates foreign key constraint"), tenant_scope(storage):
        Book.objects.create(shelf_id=foreign.id, title="stolen")
    with tenant_scope(storage):
        assert not Book.objects.exists()


def test_a_scope_of_a_missing_storage_is_refused(storage: Storage) -> None:
    with pytest.raises(NotFound, match=r"^There is no storage at this address\.$"), tenant_scope(uuid.uuid4()):
        pass
    assert current_scope() is None
    with tenant_scope(storage):
        with pytest.raises(NotFound), tenant_scope(uuid.uuid4()):
            pass
        assert current_scope() == storage.id


def test_a_storage_without_a_revision_cannot_be_entered(storage: Storage) -> None:
    """Rows that an INSERT selects would be joined with nothing, and the statement would silently write none."""
    StorageRevision.objects.filter(pk=storage.pk).delete()
    text = f"The storage {storage.pk} has no row in storage_storagerevision. Run in psql: "
    with pytest.raises(RuntimeError, match=f"^{text}") as refused, tenant_scope(storage):
        pass
    with connection.cursor() as cursor:
        cursor.execute(str(refused.value).partition("psql: ")[2])
    with tenant_scope(storage):
        Shelf.objects.bulk_create([Shelf(name="new")])
        assert shelf_names() == ["new"]


@pytest.mark.one_node("a trigger of a table that every node has cannot write a row of one node")
def test_a_storage_has_a_revision_however_it_was_created(storage: Storage) -> None:
    """Release 0.1.0 creates storages without one, while it runs on the tables of this release."""
    [made] = Storage.objects.bulk_create([Storage(collection=storage.collection, key="bulk", template="x")])
    assert StorageRevision.objects.get(pk=made.pk).configuration_revision == 0
    with tenant_scope(made):
        Shelf.objects.bulk_create([Shelf(name="new")])
        assert shelf_names() == ["new"]


def test_the_same_ids_live_in_two_storages(storage: Storage, other_storage: Storage) -> None:
    shelf_id, book_id = uuid.uuid4(), uuid.uuid4()
    for tenant in (storage, other_storage):
        with tenant_scope(tenant):
            Shelf.objects.create(id=shelf_id, name="same")
            Book.objects.create(id=book_id, shelf_id=shelf_id, title=tenant.collection.key)
    for tenant in (storage, other_storage):
        with tenant_scope(tenant):
            book = Book.objects.select_related("shelf").get(id=book_id)
            assert (book.title, book.storage_id, book.shelf.storage_id) == (
                tenant.collection.key,
                tenant.id,
                tenant.id,
            )


def test_the_outer_scope_is_restored(storage: Storage, other_storage: Storage) -> None:
    assert current_scope() is None
    with tenant_scope(storage):
        with tenant_scope(other_storage):
            assert current_scope() == other_storage.id
        assert current_scope() == storage.id
        with pytest.raises(KeyError), tenant_scope(other_storage):
            raise KeyError("inside")
        assert current_scope() == storage.id
        with pytest.raises(IntegrityError), tenant_scope(other_storage):
            Shelf.objects.bulk_create([Shelf(name="twice"), Shelf(name="twice")])
        assert current_scope() == storage.id
    assert current_scope() is None


def test_an_exception_undoes_the_writes_of_its_scope(storage: Storage) -> None:
    with pytest.raises(KeyError), tenant_scope(storage):
        Shelf.objects.create(name="undone")
        raise KeyError("inside")
    with tenant_scope(storage):
        assert shelf_names() == []


@pytest.mark.django_db(transaction=True)
def test_a_scope_ends_with_its_transaction() -> None:
    storage = StorageFactory.create()
    with tenant_scope(storage):
        Shelf.objects.create(name="kept")
    assert current_scope() is None
    with pytest.raises(NO_SCOPE):
        shelf_names()
    with tenant_scope(storage):
        assert shelf_names() == ["kept"]


@pytest.mark.django_db(transaction=True)
def test_a_snapshot_is_stable_and_read_only() -> None:
    storage = StorageFactory.create()

    def write(name: str) -> None:
        try:
            with tenant_scope(storage):
                Shelf.objects.create(name=name)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as another:
        another.submit(write, "before").result()
        with tenant_scope(storage, snapshot=True):
            assert shelf_names() == ["before"]
            another.submit(write, "meanwhile").result()
            assert shelf_names() == ["before"]
            with tenant_scope(storage, snapshot=True):
                assert shelf_names() == ["before"]
            with pytest.raises(InternalError, match="read-only"), transaction.atomic():
                Shelf.objects.create(name="mine")
        another.submit(write, "after").result()
    with tenant_scope(storage):
        assert shelf_names() == ["after", "before", "meanwhile"]
        with tenant_scope(storage, snapshot=True):
            Shelf.objects.create(name="the outer scope may write")


def test_a_transaction_marked_for_rollback_ends_without_error(storage: Storage) -> None:
    with tenant_scope(storage):
        with tenant_scope(storage):
            Shelf.objects.create(name="dry run")
            transaction.set_rollback(True)
        assert current_scope() == storage.id
        assert shelf_names() == []


def test_a_half_read_cursor_cannot_cross_into_another_storage(
    storage: Storage, other_storage: Storage, filled: None
) -> None:
    """Its remaining rows would come from the other storage."""
    with tenant_scope(storage):
        rows: Any = Shelf.objects.iterator(chunk_size=1)
        next(rows)
        with pytest.raises(RuntimeError, match="still open"), tenant_scope(other_storage):
            pass
        with tenant_scope(storage):
            pass
        rows.close()
        with tenant_scope(other_storage):
            assert shelf_names() == ["b1"]


def test_the_planner_uses_the_composite_key_for_an_id(storage: Storage, filled: None) -> None:
    """`WHERE id = x` alone must become an index condition on (storage_id, id), or every read would be a scan."""
    with tenant_scope(storage), connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("EXPLAIN SELECT name FROM shelves_shelf WHERE id = %s", [uuid.uuid4()])
        plan = "\n".join(row[0] for row in cursor.fetchall())
    assert "shelves_shelf_pkey" in plan
    assert "Index Cond: ((storage_id = " in plan
    assert "AND (id = " in plan


def test_tenant_models_are_found() -> None:
    assert {Shelf, Book} <= set(tenant_models())


@pytest.fixture
def pool_of_four(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    connection.close()
    options: dict[str, Any] = connections.settings["default"]["OPTIONS"]
    # `enable_pool` replaces it.
    monkeypatch.setattr(connections, "_connections", connections._connections)  # type: ignore[attr-defined]
    enable_pool(4)
    yield
    for wrapper in connections.all():
        wrapper.close()
    getattr(connection, "close_pool")()  # noqa: B009  PostgreSQL only, so the base class has no such method
    options.pop("pool")


@pytest.mark.django_db(transaction=True)
def test_every_thread_of_a_server_has_its_own_connection(pool_of_four: None) -> None:
    """Django's attribute for them is not documented (D612)."""
    arrived = threading.Barrier(3)

    def use() -> tuple[int, bool]:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            [pid] = cursor.fetchone() or [0]
            arrived.wait(timeout=30)
        is_same = connections["default"] is connections["default"]
        connections.close_all()
        return pid, is_same

    with ThreadPoolExecutor(3) as threads:
        found = [each.result() for each in [threads.submit(use) for _ in range(3)]]
    assert (len({pid for pid, _ in found}), {is_same for _, is_same in found}) == (3, {True})


@pytest.mark.django_db(transaction=True)
@override_settings(ROOT_URLCONF="tests.shelves.urls")
@pytest.mark.long
def test_a_pooled_connection_never_carries_a_scope(pool_of_four: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """At full scale 10,000 interleaved requests over two tenants, eight threads, a pool of four.

    Every fiftieth fails inside its scope. Every tenth asks for tenant rows without one: a connection that has carried
    a scope over would answer it.
    """
    monkeypatch.setattr("storage.api.throttling.anonymous_throttle.rate", None)
    tenants = [StorageFactory.create(collection=name, key="s", anonymous="read") for name in ("one", "two")]
    for tenant in tenants:
        with tenant_scope(tenant):
            Shelf.objects.create(name=tenant.collection.key)
    connection.close()
    monkeypatch.setattr(logging.root.manager, "disable", logging.CRITICAL)
    application = WSGIHandler()
    wrong: list[Any] = []
    backends: set[int] = set()
    lock = threading.Lock()

    def call(number: int) -> None:
        tenant = tenants[(number // 3) % 2].collection.key
        fails = number % 50 == 0 or number % 10 == 7
        path = f"/{tenant}/s/_api/{'unscoped' if number % 10 == 7 else 'shelves'}{'?fail=1' if fails else ''}"
        status, body = wsgi_call(application, RequestFactory(HTTP_HOST="testserver").get(path).environ)
        expected = (500, None) if fails else (200, [tenant])
        answer = (status, None if fails else body["shelves"])
        with lock:
            if not fails:
                backends.add(body["backend"])
            if answer != expected:
                wrong.append((number, answer))

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(call, range(10_000 if IS_FULL else 1_000)))
    assert wrong == []
    assert 1 < len(backends) <= 4
