"""Errors that mean an unavailable database: a lost connection, and a database that only reads (D230)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import cast

import pytest
from django.db import InternalError, OperationalError, connection, transaction
from psycopg.errors import IdleInTransactionSessionTimeout, ReadOnlySqlTransaction

from repository_site.core.database import commits
from repository_site.core.database.base import DatabaseWrapper
from storage.models import Storage, StorageCollection
from storage.tenancy.scope import tenant_scope

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def reads_only() -> Iterator[None]:
    """Every transaction of this connection is read-only, as on a standby."""
    with connection.cursor() as cursor:
        cursor.execute("SET default_transaction_read_only = on")
    yield
    connection.close()


def test_a_read_only_database_is_unavailable_for_a_write(reads_only: None) -> None:
    driver = connection.connection
    with pytest.raises(OperationalError) as raised, transaction.atomic():
        StorageCollection.objects.create(key="acme")
    assert isinstance(raised.value.__cause__, ReadOnlySqlTransaction)
    # The next statement gets another connection, which may lead to the new primary.
    assert driver.closed
    assert list(StorageCollection.objects.all()) == []


def test_looking_up_is_no_exception(reads_only: None) -> None:
    with pytest.raises(OperationalError), transaction.atomic():
        cast("DatabaseWrapper", connection).look_up("SELECT nextval(%s::regclass)", ["django_migrations_id_seq"])


def test_a_write_in_our_own_read_only_transaction_is_an_internal_error(storage: Storage) -> None:
    with pytest.raises(InternalError), tenant_scope(storage, snapshot=True):
        StorageCollection.objects.create(key="other")
    assert not connection.connection.closed


def test_a_connection_that_postgres_has_ended_is_unavailable() -> None:
    """The driver calls this an internal error."""
    with pytest.raises(OperationalError) as raised, transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL idle_in_transaction_session_timeout = '10ms'")
        time.sleep(0.2)
        cursor.execute("SELECT 1")
    assert isinstance(raised.value.__cause__, IdleInTransactionSessionTimeout)


@pytest.mark.parametrize(
    "message",
    [
        "could not commit transaction for shard 102024 on at least one active node",
        "failure on connection marked as essential: 127.0.0.1:5432",
        "failed to prepare transaction citus_0_1 on host 127.0.0.1:5432",
        "postmaster was shut down, exiting",
    ],
)
def test_a_node_that_citus_loses_at_the_end_of_a_transaction_is_unavailable(message: str) -> None:
    with pytest.raises(OperationalError, match=message.partition(":")[0]):
        fail_with(message)


def test_a_node_that_citus_loses_during_a_statement_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Citus has no code for this error. Only its context tells that it is of a node."""
    monkeypatch.setattr(commits, "ON_NODE", "PL/pgSQL function inline_code_block")
    with pytest.raises(OperationalError, match="server closed the connection unexpectedly"):
        fail_with("server closed the connection unexpectedly")


def test_other_internal_errors_stay_internal() -> None:
    with pytest.raises(InternalError):
        fail_with("could not find shard 102024")


def fail_with(message: str) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"DO $$ BEGIN RAISE EXCEPTION '{message}' USING ERRCODE = 'XX000'; END $$")
