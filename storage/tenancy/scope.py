"""The one door to tenant tables: a scope that the database itself enforces by row-level security.

Without a scope the parameter is missing or empty, the policy cannot compute its value and the query fails:
forgetting the scope is an error, never a leak.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import cast
from uuid import UUID

from django.apps import apps
from django.db import connection, transaction
from psycopg import IsolationLevel

from repository_site.core.database.statements import look_up
from storage.models import Storage, TenantModel
from storage.models.tenant import SCOPE_PARAMETER


@contextmanager
def tenant_scope(storage: Storage | UUID, *, snapshot: bool = False, timeout: int | None = None) -> Iterator[None]:
    """One transaction inside one storage. No statement in it takes longer than `timeout` seconds.

    With `snapshot` all statements see the storage as it was at the first, and nothing can be written: for reading in
    several steps that belong together. Only the scope that begins the transaction can ask for it; inside a transaction
    that runs already (a nested scope, a test) the isolation stays as it is.

    The parameter is set for the transaction only, so a pooled connection cannot carry it to the next request. A
    nested scope puts the outer value back; after an exception, or when the transaction is to be rolled back, the
    rollback to the savepoint does that by itself.
    """
    tenant = str(storage.id if isinstance(storage, Storage) else storage)
    begins = not connection.in_atomic_block
    with _reading_one_snapshot() if snapshot and begins else nullcontext(), transaction.atomic():
        outer = _enter(tenant, timeout)
        if outer and outer != tenant:
            _refuse_open_cursors()
        yield
        # The end of the transaction puts back by itself what was set for it.
        if not begins and not connection.needs_rollback:
            if outer and outer != tenant:
                _refuse_open_cursors()
            _enter(outer)


def current_scope() -> UUID | None:
    """The storage of the open scope, asked of the database, or None."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT nullif(current_setting(%s, true), '')", [SCOPE_PARAMETER])
        row = cursor.fetchone()
    return UUID(row[0]) if row and row[0] else None


def tenant_models() -> list[type[TenantModel]]:
    """Every tenant model that has a table of its own, in a stable order."""
    known = apps.get_models(include_auto_created=True)
    found = [model for model in known if issubclass(model, TenantModel) and not model._meta.proxy]
    return sorted(found, key=lambda model: model._meta.db_table)


def owners_first(found: Iterable[type[TenantModel]]) -> list[type[TenantModel]]:
    """Tables with the key to the storage, then those that are part of their rows, then the parts of these."""

    def depth(model: type[TenantModel]) -> int:
        if model.storage_through is None:
            return 0
        owner = model._meta.get_field(model.storage_through).related_model
        return 1 + depth(cast("type[TenantModel]", owner))

    return sorted(found, key=depth)


@contextmanager
def _reading_one_snapshot() -> Iterator[None]:
    """The transaction that begins inside says so in its BEGIN, which costs no trip to the database of its own."""
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
    """A cursor that is half read would go on with the rows of the other storage, in silence."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_cursors WHERE name <> '' AND NOT is_holdable")
        row = cursor.fetchone()
    if row and row[0]:
        raise RuntimeError("A cursor of one storage is still open while another storage's scope begins or ends.")


# A subquery, not two expressions: the order of evaluation within one select list is not promised. Of statements that
# are prepared, one plan serves all values: they find rows by ids, and which ids never decides about the plan.
_ENTER = f"""WITH earlier AS MATERIALIZED (SELECT current_setting('{SCOPE_PARAMETER}', true) AS value)
    SELECT earlier.value, set_config('{SCOPE_PARAMETER}', %s, true),
        set_config('plan_cache_mode', 'force_generic_plan', true)"""
_FROM_EARLIER = " FROM earlier"
_AND_LIMIT = ", set_config('statement_timeout', %s, true)"


def _enter(value: str, timeout: int | None = None) -> str:
    """Set the parameter for this transaction; answer what it was (empty when there was none)."""
    if timeout:
        rows = look_up(f"{_ENTER}{_AND_LIMIT}{_FROM_EARLIER}", [value, f"{timeout}s"])
    else:
        rows = look_up(f"{_ENTER}{_FROM_EARLIER}", [value])
    return rows[0][0] or ""
