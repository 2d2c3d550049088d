"""Nothing but a transaction keeps state in the database: PgBouncer gives each transaction another session (D231)."""

from __future__ import annotations

import re
from typing import Any, cast

import pytest
from django.conf import settings
from django.db import connection, transaction
from pytest_django import Settings

from repository_site.core.database.base import DatabaseWrapper
from repository_site.management.commands.migrate import MIGRATION_LOCK, migration_lock
from storage.models import StorageCollection

pytestmark = pytest.mark.django_db(transaction=True)
OF_SESSIONS = re.compile(
    r"pg_(?:try_)?advisory_(?:un)?lock|\bLISTEN\b|\bWITH HOLD\b|set_config\([^)]*, false\)|execute\(\"SET (?!LOCAL|CONSTRAINTS)"
)


def ask(sql: str, database: Any = connection) -> Any:
    with database.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchone()[0]


@pytest.mark.long
@pytest.mark.on_cluster
def test_no_statement_keeps_state_in_the_session() -> None:
    found = []
    for folder in ("repository_site", "storage", "facets", "elements", "release"):
        for path in sorted((settings.PROJECT_DIR / folder).rglob("*.py")):
            found += [f"{path.name}: {each.group()}" for each in OF_SESSIONS.finditer(path.read_text(encoding="utf-8"))]
    # Those who wait for events, and the doctor, have a direct connection of their own (D330).
    assert set(found) == {"database.py: LISTEN", "waking.py: LISTEN"}


@pytest.mark.parametrize(("is_atomic", "cursors"), [(False, 0), (True, 1)])
def test_a_cursor_ends_with_its_transaction(is_atomic: bool, cursors: int) -> None:
    StorageCollection.objects.create(key="acme")

    def look() -> None:
        rows = StorageCollection.objects.iterator()
        assert next(rows).key == "acme"
        assert ask("SELECT count(*) FROM pg_cursors WHERE name <> ''") == cursors
        assert list(rows) == []

    if is_atomic:
        with transaction.atomic():
            look()
    else:
        look()


@pytest.mark.parametrize(("may_prepare", "prepared"), [(True, 1), (False, 0)])
def test_statements_are_prepared_unless_the_settings_forbid_it(
    settings: Settings, may_prepare: bool, prepared: int
) -> None:
    settings.DATABASE_PREPARE = may_prepare
    database = cast("DatabaseWrapper", connection.copy())
    try:
        for number in range(3):
            assert database.look_up("SELECT %s::integer", [number]) == [(number,)]
            assert database.look_up_all([("SELECT %s::text", ["a"])] * 2) == [[("a",)], [("a",)]]
        count = "SELECT count(*) FROM pg_prepared_statements WHERE statement = 'SELECT $1::integer'"
        assert ask(count, database) == prepared
    finally:
        database.close()


def test_the_lock_of_migrations_belongs_to_an_idle_transaction() -> None:
    attempt = f"SELECT pg_try_advisory_xact_lock({MIGRATION_LOCK})"
    holders = f"""SELECT array_agg(a.state || ' ' || (a.pid <> pg_backend_pid()) || ' ' || coalesce(a.backend_xmin::text, '-'))
        FROM pg_locks l JOIN pg_stat_activity a USING (pid)
        WHERE l.locktype = 'advisory' AND (l.classid::bigint << 32) + l.objid::bigint = {MIGRATION_LOCK}"""
    with migration_lock():
        assert ask(attempt) is False
        # Without a snapshot, which CREATE INDEX CONCURRENTLY would wait for.
        assert ask(holders) == ["idle in transaction true -"]
    assert ask(attempt) is True
