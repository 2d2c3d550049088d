"""Databases of a test run: one is migrated and kept as a template, each process of the run gets a copy of it.

The template is found by a digest of everything that decides about the schema, so a second run migrates nothing.
"""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import Any, ClassVar
from unittest.mock import patch
from uuid import UUID

import django
import psycopg
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.backends.utils import CursorWrapper
from django.test import TransactionTestCase
from psycopg import sql

from repository_site.core.embedded_postgres import EmbeddedPostgres
from repository_site.core.embedded_postgres.server import SUPERUSER

PREFIX = "test_template_"
SCHEMA_SOURCES = (
    "*/migrations/*.py",
    "storage/tenancy/migration_operations.py",
    "repository_site/sign_on_apps.py",
    "tests/shelves/**/*.py",
)
# Commits wait for no disk: a crash of the machine may destroy the cluster, and the next run makes a new one.
TURNED_OFF = ("fsync", "synchronous_commit", "full_page_writes")

# Rows that Django writes after migrating.
KEPT = {"auth_permission", "django_content_type"}
# Tables with their bytes. Deleted rows, and those that tests have rolled back, stay in the files, where later tests read
# them.
SIZES = "SELECT relname, pg_relation_size(oid) FROM pg_class WHERE relkind = 'r' AND relname = ANY(%s)"
MOST_BYTES = 20_000_000
TABLES_OF_STORAGES = """SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace AND a.attname = 'storage_id'"""
END_SESSIONS = (
    "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s AND usename = current_user"
    " AND pid <> pg_backend_pid()"
)
# How often to try to drop a database, in which autovacuum may work for some seconds.
TRIES = 4


def make_database(name: str) -> None:
    """Create the database with this name as a copy of the migrated template, and connect to it."""
    with _only_process():
        make_undurable()
        template = PREFIX + _schema_digest()
        with connection._nodb_cursor() as cursor:
            cursor.execute("SELECT datname FROM pg_database WHERE datname LIKE %s", [f"{PREFIX}%"])
            templates = {row[0] for row in cursor.fetchall()}
            for old in templates - {template}:
                _drop(cursor, old)
        if template not in templates:
            _migrate(template)
        with connection._nodb_cursor() as cursor:
            _drop(cursor, name)
            cursor.execute(
                sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), sql.Identifier(template))
            )
    _connect(name)


def drop_database(name: str, original: str) -> None:
    _connect(original)
    with connection._nodb_cursor() as cursor:
        _drop(cursor, name)


@contextmanager
def emptied_by(delete: Callable[[Collection[str]], bool]) -> Iterator[None]:
    """After a test that commits, let a function delete the rows of tables (D298). Django truncates them if it returns
    False."""
    truncate = TransactionTestCase._fixture_teardown  # type: ignore[attr-defined]  # the stubs do not know it

    def empty(case: TransactionTestCase) -> None:
        if not delete({*connection.introspection.django_table_names()} - KEPT):
            truncate(case)

    with patch.object(TransactionTestCase, "_fixture_teardown", empty):
        yield


class Deleting:
    superuser: ClassVar[psycopg.Connection[Any] | None] = None
    """The superuser of the database of the process, if the cluster belongs to the tests."""


@contextmanager
def emptied_by_deleting() -> Iterator[None]:
    """Delete rows as a superuser, where the cluster belongs to the tests and few dead rows are in the tables."""
    if settings.DATABASE_ADDRESS:
        yield
        return
    with _superuser(connection.settings_dict["NAME"]) as superuser, patch.object(Deleting, "superuser", superuser):

        def delete(tables: Collection[str]) -> bool:
            found = superuser.execute(SIZES, [[*tables]]).fetchall()
            if sum(size for _, size in found) > MOST_BYTES:
                return False
            delete_all(superuser, [name for name, _ in found])
            return True

        with emptied_by(delete):
            yield


def delete_storage(superuser: psycopg.Connection[Any], storage: UUID) -> None:
    """Delete a storage with all its rows, without triggers."""
    tables = [name for (name,) in superuser.execute(TABLES_OF_STORAGES)]
    deletions = [f"DELETE FROM {name} WHERE storage_id = '{storage}'" for name in tables]
    superuser.execute("SET session_replication_role = replica")
    superuser.execute("; ".join([*deletions, f"DELETE FROM storage_storage WHERE id = '{storage}'"]).encode())


def delete_all(superuser: psycopg.Connection[Any], tables: Collection[str]) -> None:
    """Delete all rows, without triggers, so that the order is irrelevant. A superuser has no row-level security."""
    superuser.execute("SET session_replication_role = replica")
    superuser.execute("; ".join(f"DELETE FROM {table}" for table in tables).encode())


def make_undurable() -> None:
    """Turn durability off where the cluster belongs to the tests. Elsewhere an operator decides."""
    if settings.DATABASE_ADDRESS:
        return
    EmbeddedPostgres(settings.DATA_DIR / "postgres").ensure_running()
    with _superuser("postgres") as superuser:
        for name in TURNED_OFF:
            superuser.execute(sql.SQL("ALTER SYSTEM SET {} = off").format(sql.Identifier(name)))
        superuser.execute("SELECT pg_reload_conf()")


def _superuser(database: str) -> psycopg.Connection[Any]:
    server = EmbeddedPostgres(settings.DATA_DIR / "postgres")
    return psycopg.connect(
        host=str(server.socket_dir), port=server.PORT, dbname=database, user=SUPERUSER, autocommit=True
    )


@contextmanager
def _only_process() -> Iterator[None]:
    """Let one process at a time look for the template."""
    settings.DATA_DIR.mkdir(parents=True, exist_ok=True)
    with (settings.DATA_DIR / "test-databases.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _migrate(template: str) -> None:
    """Migrate under another name first: an interrupted run must not leave a template with half of the tables."""
    unfinished = f"{template}_unfinished"
    connection.settings_dict["TEST"]["NAME"] = unfinished
    original = connection.settings_dict["NAME"]
    connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
    _connect(original)
    with connection._nodb_cursor() as cursor:
        rename = "ALTER DATABASE {} RENAME TO {}"
        cursor.execute(sql.SQL(rename).format(sql.Identifier(unfinished), sql.Identifier(template)))


def _schema_digest() -> str:
    digest = sha256(django.get_version().encode())
    for pattern in SCHEMA_SOURCES:
        for path in sorted(settings.PROJECT_DIR.glob(pattern)):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _drop(cursor: CursorWrapper, name: str) -> None:
    """Drop a database. PostgreSQL waits five seconds for connections that a test has left open, so they end first; FORCE
    would be refused while a process of autovacuum is in the database."""
    for attempt in range(1, TRIES + 1):
        cursor.execute(END_SESSIONS, [name])
        try:
            cursor.execute(sql.SQL("DROP DATABASE IF EXISTS {}").format(sql.Identifier(name)))
        except DatabaseError:
            if attempt == TRIES:
                raise
        else:
            return


def _connect(name: str) -> None:
    connection.close()
    settings.DATABASES["default"]["NAME"] = connection.settings_dict["NAME"] = name
