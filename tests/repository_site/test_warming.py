"""Statements that new connections of a pool prepare before their first request (D300)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import psycopg
import pytest
from django.db import connection, transaction
from psycopg.pq import TransactionStatus

from repository_site.core.database import base, warming
from repository_site.core.database.base import DatabaseWrapper
from repository_site.core.database.prepared import run_prepared
from repository_site.core.database.statements import engine, look_up
from repository_site.core.database.warming import HotStatements
from storage.models import Storage
from storage.tenancy.scope import tenant_scope

TENANT_ROWS = "SELECT count(*) FROM facets_facet WHERE name = %s"
NUMBERS = "SELECT number FROM generate_series(1, %s::integer) AS number"
SETTINGS = "SELECT current_setting('repository.storage', true), current_setting('plan_cache_mode')"
PLANS = "SELECT statement, generic_plans FROM pg_prepared_statements ORDER BY 1"


@pytest.fixture
def hot(db: None, monkeypatch: pytest.MonkeyPatch) -> HotStatements:
    engine().forget_plans()
    subject = HotStatements()
    monkeypatch.setattr(base, "_hot", subject)
    return subject


@contextmanager
def new_connection() -> Iterator[psycopg.Connection[Any]]:
    """Yield the first connection of a pool as Django creates it for a server process."""
    wrapper = cast("DatabaseWrapper", connection.copy("warming"))
    wrapper.settings_dict["OPTIONS"] = {**wrapper.settings_dict["OPTIONS"], "pool": {"min_size": 1, "max_size": 1}}
    try:
        wrapper.pool.open(wait=True)
        with wrapper.pool.connection() as driver:
            yield driver
    finally:
        wrapper.close_pool()


def use(sql: str, value: object) -> None:
    """Send a statement until it is prepared."""
    for _ in range(2):
        look_up(sql, [value])


def prepared(driver: psycopg.Connection[Any]) -> list[tuple[str, int]]:
    return [(text.split(" WHERE ")[0], plans) for text, plans in driver.execute(PLANS).fetchall()]


@pytest.mark.one_node("a cluster plans statements for their values (D253)")
def test_a_new_connection_has_prepared_and_planned_the_statements_of_others(
    hot: HotStatements, storage: Storage
) -> None:
    with tenant_scope(storage):
        use(TENANT_ROWS, "processes")
    use(NUMBERS, 3)
    with new_connection() as driver:
        found = dict(prepared(driver))
        assert found["SELECT count(*) FROM facets_facet"] == 1
        assert found[NUMBERS.replace("%s", "$1")] == 1
        assert run_prepared(driver, [(NUMBERS, [2])]) == [[(1,), (2,)]]


def test_warming_leaves_neither_a_scope_nor_a_transaction(hot: HotStatements, storage: Storage) -> None:
    with tenant_scope(storage):
        use(TENANT_ROWS, "processes")
    # Texts only: not even the id of the storage is remembered.
    assert not any(str(storage.id).encode() in text or b"processes" in text for text, _ in hot._keys)
    with new_connection() as driver:
        assert driver.info.transaction_status == TransactionStatus.IDLE
        row = driver.execute(SETTINGS).fetchone()
        assert row == (None, "auto")


@pytest.mark.one_node("a cluster plans statements for their values (D253)")
@pytest.mark.django_db(transaction=True)
def test_statements_on_tables_that_are_gone_are_forgotten(hot: HotStatements) -> None:
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE short_lived (id integer)")
    try:
        use(NUMBERS, 1)
        use("SELECT id FROM short_lived WHERE id = %s", 1)
        use("SELECT 1 + %s::integer", 1)
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP TABLE short_lived")
    one, two = NUMBERS.replace("%s", "$1"), "SELECT 1 + $1::integer"
    with new_connection() as driver:
        # The transaction of the others has failed.
        assert prepared(driver) == [(one, 0)]
        assert driver.info.transaction_status == TransactionStatus.IDLE
    with new_connection() as driver:
        assert prepared(driver) == [(two, 1), (one, 1)]
        assert run_prepared(driver, [(NUMBERS, [1])]) == [[(1,)]]


@pytest.mark.long
@pytest.mark.django_db(transaction=True)
def test_a_locked_table_delays_a_new_connection_briefly(hot: HotStatements) -> None:
    use("SELECT count(*) FROM storage_storage WHERE key = %s", "x")
    began = time.monotonic()
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("LOCK TABLE storage_storage")
        with new_connection() as driver:
            assert prepared(driver) == []
    assert 0.4 < time.monotonic() - began < 30


def test_only_the_statements_that_were_prepared_last_are_remembered(
    hot: HotStatements, monkeypatch: pytest.MonkeyPatch
) -> None:
    subject = HotStatements(2)
    monkeypatch.setattr(base, "_hot", subject)
    for number in range(4):
        use(f"SELECT {number} + %s::integer", 1)
    assert [text for text, _ in subject._keys] == [b"SELECT 2 + $1::integer", b"SELECT 3 + $1::integer"]


def test_unknown_names_end_the_planning(hot: HotStatements, monkeypatch: pytest.MonkeyPatch) -> None:
    """A PgBouncer renames prepared statements."""
    use(NUMBERS, 1)
    usual = warming._plans
    monkeypatch.setattr(warming, "_plans", lambda names, keys: usual([b"other"], keys))
    with new_connection() as driver:
        assert prepared(driver) == [(NUMBERS.replace("%s", "$1"), 0)]
    monkeypatch.setattr(warming, "_plans", None)
    with new_connection() as driver:
        assert prepared(driver) == [(NUMBERS.replace("%s", "$1"), 0)]


def test_distributed_databases_plan_for_values(hot: HotStatements, monkeypatch: pytest.MonkeyPatch) -> None:
    use(NUMBERS, 1)
    monkeypatch.setattr(base, "_distributed", {cast("DatabaseWrapper", connection)._address: True})
    with new_connection() as driver:
        assert prepared(driver) == [(NUMBERS.replace("%s", "$1"), 0)]
