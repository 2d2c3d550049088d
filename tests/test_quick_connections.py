"""Savepoints and ends of scopes wait for the next statement in tests, and every statement finds them done (D600)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction
from django.test.utils import CaptureQueriesContext

from repository_site.core.database.statements import engine, look_up
from storage.models import Storage, StorageCollection
from storage.tenancy.scope import tenant_scope
from tests.quick_connections import WAITING

pytestmark = pytest.mark.one_node("nothing waits on Citus")
SCOPE = "SELECT current_setting('repository.storage', true)"


class Stop(Exception):
    pass


@pytest.fixture(autouse=True)
def begun(db: None) -> None:
    """Begin the transaction of the test: nothing waits before."""
    by_cursor()


def waiting() -> list[str]:
    return list(vars(connection.connection).get(WAITING, []))


def keys() -> set[str]:
    return set(StorageCollection.objects.values_list("key", flat=True))


def by_cursor() -> Any:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 41 + %s", [1])
        return cursor.fetchone()[0]


def by_executemany() -> Any:
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMPORARY TABLE numbers (number int) ON COMMIT DROP")
        with transaction.atomic():
            cursor.executemany("INSERT INTO numbers VALUES (%s)", [[40], [2]])
        cursor.execute("SELECT sum(number) FROM numbers")
        return cursor.fetchone()[0]


def by_copying() -> Any:
    with connection.cursor() as cursor, cursor.copy("COPY (SELECT 42) TO STDOUT") as rows:
        return int(b"".join(rows))


def by_pipeline() -> Any:
    with connection.connection.pipeline():
        found = connection.connection.execute("SELECT 42")
    return found.fetchone()[0]


WAYS: list[Callable[[], Any]] = [
    by_cursor,
    by_executemany,
    by_copying,
    by_pipeline,
    lambda: look_up("SELECT 42")[0][0],
    lambda: engine().look_up_all([("SELECT 41", []), ("SELECT 42", [])])[1][0][0],
    lambda: connection.connection.execute("SELECT 42").fetchone()[0],
    lambda: next(iter(StorageCollection.objects.values_list("key", flat=True).iterator()), 42),
]


@pytest.mark.parametrize("send", WAYS)
def test_every_way_to_send_a_statement_sends_what_waits(send: Callable[[], Any]) -> None:
    # The driver prepares a statement that it sees for the second time.
    for _ in range(3):
        with transaction.atomic():
            assert len(waiting()) == 1
            assert send() == 42
            assert waiting() == []
            StorageCollection.objects.create(key="inside")
            transaction.set_rollback(True)
        assert keys() == set()


def test_a_savepoint_without_statements_is_never_sent() -> None:
    with transaction.atomic(), transaction.atomic():
        pass
    assert waiting() == []
    with pytest.raises(Stop), transaction.atomic():
        raise Stop
    assert waiting() == []


def test_rollbacks_end_at_their_savepoints() -> None:
    with transaction.atomic():
        StorageCollection.objects.create(key="outer")
        with pytest.raises(Stop), transaction.atomic():
            StorageCollection.objects.create(key="inner")
            with transaction.atomic():
                StorageCollection.objects.create(key="innermost")
            raise Stop
        with transaction.atomic():
            StorageCollection.objects.create(key="later")
    assert keys() == {"outer", "later"}


@pytest.mark.parametrize("fail", [lambda: connection.cursor().execute("SELECT 1 / 0"), lambda: look_up("SELECT 1 / 0")])
def test_a_failed_statement_is_rolled_back_to_a_savepoint_that_has_waited(fail: Callable[[], Any]) -> None:
    StorageCollection.objects.create(key="before")
    for _ in range(3):
        with pytest.raises(DatabaseError), transaction.atomic():
            fail()
        assert keys() == {"before"}


def test_a_statement_with_wrong_values_leaves_what_waits() -> None:
    with transaction.atomic():
        with pytest.raises(TypeError), connection.cursor() as cursor:
            cursor.execute("SELECT %s", 5)  # type: ignore[arg-type]  # the mistake
        assert len(waiting()) == 1
        StorageCollection.objects.create(key="inside")
        transaction.set_rollback(True)
    assert keys() == set()


def test_scopes_end_for_the_next_statement(storage: Storage, other_storage: Storage) -> None:
    with tenant_scope(storage):
        with tenant_scope(other_storage):
            assert look_up(SCOPE) == [(str(other_storage.id),)]
        assert look_up(SCOPE) == [(str(storage.id),)]
        with pytest.raises(Stop), tenant_scope(other_storage):
            by_cursor()
            raise Stop
        with connection.cursor() as cursor:
            cursor.execute(SCOPE)
            assert cursor.fetchone() == (str(storage.id),)
    assert look_up(SCOPE) == [("",)]


def test_counted_statements_do_not_wait() -> None:
    with CaptureQueriesContext(connection) as counted, transaction.atomic():
        by_cursor()
    assert [each["sql"].split(" ")[0] for each in counted.captured_queries] == ["SAVEPOINT", "SELECT", "RELEASE"]
