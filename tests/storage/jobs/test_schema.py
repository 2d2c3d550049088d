"""The tables of procrastinate, which a migration of ours creates (D334)."""

from __future__ import annotations

from importlib import import_module, resources

import pytest
from django.db import connection, transaction

from repository_site.core.database.statements import engine

MIGRATION = import_module("storage.migrations.0016_jobs")
SCHEMA = MIGRATION.SCHEMA
LAST = "03.04.00_50_post_add_retry_failed_job_procedure.sql"


def test_the_migration_has_the_schema_of_the_installed_release() -> None:
    """After an upgrade, add a migration that runs the files of its `sql/migrations` after LAST."""
    installed = resources.files("procrastinate.sql").joinpath("schema.sql").read_text(encoding="utf-8")
    assert SCHEMA.read_text(encoding="utf-8").partition("\n\n")[2] == installed
    files = resources.files("procrastinate.sql.migrations").iterdir()
    assert max(each.name for each in files if each.name.endswith(".sql")) == LAST


@pytest.mark.django_db
def test_failures_are_deleted_with_their_job() -> None:
    sql = "SELECT confdeltype::text FROM pg_constraint WHERE conname = 'job_failure_of_job'"
    with connection.cursor() as cursor:
        cursor.execute(sql)
        assert cursor.fetchall() == [("c",)]


@pytest.mark.django_db
def test_an_existing_installation_gets_the_tables() -> None:
    """Also on a cluster whose tables are distributed already; and the migration can be undone."""
    tables = "SELECT count(*) FROM pg_class WHERE relkind = 'r' AND relname LIKE 'procrastinate\\_%'"
    functions = "SELECT count(*) FROM pg_proc WHERE proname LIKE 'procrastinate\\_%'"
    found = []
    with transaction.atomic(), connection.cursor() as cursor:
        for step in ("", MIGRATION.DROP, SCHEMA.read_text(encoding="utf-8"), MIGRATION.ADD_KEY):
            if step:
                cursor.execute(step)
            cursor.execute(f"SELECT ({tables}), ({functions})")
            found.append(cursor.fetchone())
        cursor.execute("SELECT (procrastinate_fetch_job_v2(NULL, NULL)).id")
        assert cursor.fetchone() == (None,)
        transaction.set_rollback(True)
    assert found == [(4, found[0][1]), (0, 0), found[0], found[0]]


@pytest.mark.django_db
def test_the_tables_are_not_distributed() -> None:
    """Row-level security and shards are for tenant tables; the queue is on one node (D333)."""
    if not engine().is_distributed:
        pytest.skip("only on Citus")
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_dist_partition WHERE logicalrelid::text ~ 'procrastinate|jobfailure'")
        assert cursor.fetchone() == (0,)
