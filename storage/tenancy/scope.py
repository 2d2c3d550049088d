"""The tenant scope: the only access to tenant tables, enforced by row-level security.

Without a scope the parameter is missing or empty, the policy cannot compute its value and the query fails. A forgotten
scope is an error, never a leak.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import cast
from uuid import UUID

from django.apps import apps
from django.db import connection, transaction
from psycopg import IsolationLevel

from repository_site.core.database.statements import engine, look_up
from storage.models import Storage, TenantModel
from storage.models.tenant import SCOPE_PARAMETER

# Wraps the models of a long operation, so that a command can show its progress.
ModelProgress = Callable[[list[type[TenantModel]]], Iterable[type[TenantModel]]]


@contextmanager
def tenant_scope(storage: Storage | UUID, *, snapshot: bool = False, timeout: int | None = None) -> Iterator[None]:
    """Open a transaction inside one storage. PostgreSQL cancels statements that exceed `timeout` seconds.

    With `snapshot` all statements read the same read-only snapshot. Only the scope that begins the transaction can
    request it; inside a running transaction (a nested scope, a test) the isolation level does not change.

    The statement that enters the scope also begins the snapshot, and it reads the revision of the configuration: a
    `Storage` that was read before the transaction gets the revision that belongs to the data of its scope (D207).

    The parameter is set for the transaction only, so a pooled connection cannot carry it to the next request. A
    nested scope restores the outer value; after an exception the rollback to the savepoint restores it.
    """
    tenant = str(storage.id if isinstance(storage, Storage) else storage)
    begins = not connection.in_atomic_block
    with _reading_one_snapshot() if snapshot and begins else nullcontext(), transaction.atomic():
        outer, revision = _enter(tenant, timeout)
        if isinstance(storage, Storage) and revision is not None and (begins or storage.configuration_revision < 0):
            storage.configuration_revision = revision
        if outer and outer != tenant:
            _refuse_open_cursors()
        with _naming(tenant):
            yield
        # The end of the transaction restores the parameter of an outermost scope.
        if not begins and not connection.needs_rollback:
            if outer and outer != tenant:
                _refuse_open_cursors()
            _enter(outer)


@contextmanager
def _naming(tenant: str) -> Iterator[None]:
    """Add the storage to all statements on tenant tables."""
    database = engine()
    outer, database.tenant = database.tenant, tenant
    try:
        yield
    finally:
        database.tenant = outer


def tenant_models() -> list[type[TenantModel]]:
    """Return every tenant model with a table of its own, in a stable order."""
    known = apps.get_models(include_auto_created=True)
    found = [model for model in known if issubclass(model, TenantModel) and not model._meta.proxy]
    return sorted(found, key=lambda model: model._meta.db_table)


def owners_first(found: Iterable[type[TenantModel]]) -> list[type[TenantModel]]:
    """Sort models: tables with a foreign key to the storage first, then their parts, then the parts of those."""

    def depth(model: type[TenantModel]) -> int:
        if model.storage_through is None:
            return 0
        owner = model._meta.get_field(model.storage_through).related_model
        return 1 + depth(cast("type[TenantModel]", owner))

    return sorted(found, key=depth)


@contextmanager
def _reading_one_snapshot() -> Iterator[None]:
    """Let the next transaction begin as a read-only snapshot; its BEGIN says so, at no extra round trip."""
    connection.ensure_connection()
    driver = connection.connection
    usual = driver.isolation_level, driver.read_only
    driver.isolation_level, driver.read_only = IsolationLevel.REPEATABLE_READ, True
    try:
        yield
    finally:
        if not driver.closed:
            driver.isolation_level, driver.read_only = usual


def _refuse_open_cursors() -> None:
    """Raise if a cursor is open: it would silently continue with the rows of the other storage."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_cursors WHERE name <> '' AND NOT is_holdable")
        row = cursor.fetchone()
    if row and row[0]:
        raise RuntimeError("A cursor of one storage is still open while another storage's scope begins or ends.")


# A subquery reads the old value, because the order of evaluation within one select list is undefined. Prepared
# statements find rows by ids, and the ids never influence the plan: one generic plan serves all values.
_ENTER = f"""WITH earlier AS MATERIALIZED (SELECT current_setting('{SCOPE_PARAMETER}', true) AS value)
    SELECT earlier.value,
        (SELECT r.configuration_revision FROM storage_storagerevision r WHERE r.storage_id = nullif(%s, '')::uuid),
        set_config('{SCOPE_PARAMETER}', %s, true), set_config('plan_cache_mode', 'force_generic_plan', true)"""  # noqa: S608  a constant
_FROM_EARLIER = " FROM earlier"
_AND_LIMIT = ", set_config('statement_timeout', %s, true)"


# Unlike `set_config`, SET LOCAL reaches all nodes of a distributed database, if it is told so. Citus has no generic
# plans for joins: it must know the storage to find the node.
_PROPAGATE = "SET LOCAL citus.propagate_set_commands = 'local'"
_REVISION = "SELECT configuration_revision FROM storage_storagerevision WHERE storage_id = %s::uuid"


def _enter(value: str, timeout: int | None = None) -> tuple[str, int | None]:
    """Set the parameter for this transaction. Return its old value, or an empty text, and the revision of the
    configuration."""
    if engine().is_distributed:
        return _enter_everywhere(value, timeout)
    if timeout:
        rows = look_up(f"{_ENTER}{_AND_LIMIT}{_FROM_EARLIER}", [value, value, f"{timeout}s"])
    else:
        rows = look_up(f"{_ENTER}{_FROM_EARLIER}", [value, value])
    return rows[0][0] or "", rows[0][1]


def _enter_everywhere(value: str, timeout: int | None) -> tuple[str, int | None]:
    """Send all statements in one trip. Like on PostgreSQL, Django counts one.

    One text with several statements would not do: Citus sends the whole text to the nodes when it finds SET in it.
    """
    storage = str(UUID(value)) if value else ""
    with connection.cursor() as cursor, engine().wrap_database_errors, connection.connection.pipeline():
        driver = connection.connection
        if timeout:
            driver.execute(f"SET LOCAL statement_timeout = '{int(timeout)}s'")
        driver.execute(_PROPAGATE)
        cursor.execute(f"SET LOCAL {SCOPE_PARAMETER} = '{storage}'")
        found = driver.execute(_REVISION, [storage]) if storage else None
    row = found.fetchone() if found else None
    return engine().tenant, row[0] if row else None
