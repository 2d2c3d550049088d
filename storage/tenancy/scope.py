"""The tenant scope: the only access to tenant tables, enforced by row-level security.

Without a scope the parameter is missing or empty, the policy cannot compute its value and the query fails. A forgotten
scope is an error, never a leak.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import datetime
from typing import cast
from uuid import UUID

from django.apps import apps
from django.db import connection, transaction
from django.utils.translation import gettext
from psycopg.pq import TransactionStatus

from repository_site.core.database.narrowing import Narrowing
from repository_site.core.database.silence import listening
from repository_site.core.database.statements import Inquiry, engine, look_up
from repository_site.core.problems import NotFound
from storage.models import Storage, TenantModel
from storage.models.tenant import SCOPE_PARAMETER
from storage.tenancy.silent_nodes import silent_nodes

# Wraps the models of a long operation, so that a command can show its progress.
ModelProgress = Callable[[list[type[TenantModel]]], Iterable[type[TenantModel]]]


_ADD_REVISION = "Run in psql: INSERT INTO storage_storagerevision (storage_id) VALUES ('{}');"


class StorageGone(NotFound):
    """The storage of a scope does not exist, at least not in this database."""


@contextmanager
def tenant_scope(
    storage: Storage | UUID,
    *,
    snapshot: bool = False,
    timeout: int | None = None,
    inquiry: Inquiry | None = None,
    as_of: datetime | None = None,
) -> Iterator[None]:
    """Open a transaction inside one storage. PostgreSQL cancels statements that exceed `timeout` seconds.

    The questions of an `inquiry` are sent in the trip that enters the scope (D225).

    With `snapshot` all statements read the same read-only snapshot. Only the scope that begins the transaction can
    request it; inside a running transaction (a nested scope, a test) the isolation level does not change.

    With `as_of` all statements that only read see the content of that time (D564).

    The statement that enters the scope also begins the snapshot, and it reads the revision of the configuration: a
    `Storage` that was read before the transaction gets the revision that belongs to the data of its scope (D207).

    The parameter is set for the transaction only, so a pooled connection cannot carry it to the next request. A
    nested scope restores the outer value; after an exception the rollback to the savepoint restores it.
    """
    tenant = str(storage.id if isinstance(storage, Storage) else storage)
    database = engine()
    begins, is_distributed = not database.in_atomic_block, database.is_distributed
    with (
        _listening(tenant, timeout) if is_distributed and begins else nullcontext(),
        database.reading_one_snapshot(waits=is_distributed) if snapshot and begins else nullcontext(),
        transaction.atomic(),
    ):
        with _naming(tenant) as named, read_as_of(as_of) if as_of else nullcontext():
            outer, revision = _enter(tenant, timeout, inquiry)
            if is_distributed:
                outer = named
            if revision is None:
                raise _without_revision(tenant)
            if isinstance(storage, Storage) and (begins or storage.configuration_revision < 0):
                storage.configuration_revision = revision
            if outer and outer != tenant:
                _refuse_open_cursors()
            yield
        # The end of the transaction restores the parameter of an outermost scope.
        if not begins and not database.needs_rollback:
            if outer and outer != tenant:
                _refuse_open_cursors()
            _enter(outer)


def reading_scope(storage: Storage) -> AbstractContextManager[None]:
    """Return the scope of a storage for statements that only read: the open one, if it is that of the storage."""
    return nullcontext() if engine().tenant == str(storage.id) else tenant_scope(storage)


def _without_revision(tenant: str) -> Exception:
    """Return the error of a storage that does not exist, or that no INSERT ... SELECT could write to (D257)."""
    if not Storage.objects.filter(pk=tenant).exists():
        return StorageGone(gettext("There is no storage at this address."))
    return RuntimeError(f"The storage {tenant} has no row in storage_storagerevision. {_ADD_REVISION.format(tenant)}")


@contextmanager
def _naming(tenant: str) -> Iterator[str]:
    """Add the storage to all statements on tenant tables; yield the one that they had before.

    A scope ends its narrowing. A nested scope of the same storage keeps the narrowing and the time of the outer one.
    """
    database = engine()
    outer, limits = database.tenant, (database.narrowing, database.hidden, database.as_of)
    database.tenant = tenant
    if outer != tenant:
        database.narrowing, database.hidden, database.as_of = None, "", ""
    try:
        yield outer
    finally:
        database.tenant = outer
        database.narrowing, database.hidden, database.as_of = limits


@contextmanager
def read_as_of(moment: datetime | None) -> Iterator[None]:
    """Let the statements of the scope that only read see the content of a time, for a while; None means today (D564).

    `recorded_since` tells whether the storage has a record of that time.
    """
    database = engine()
    before, database.as_of = database.as_of, moment.isoformat() if moment else ""
    try:
        yield
    finally:
        database.as_of = before


def recorded_since() -> datetime:
    """Return the time from which on the scope's storage has kept its past rows (D563)."""
    sql = "SELECT r.recorded_since FROM storage_storagerevision r WHERE r.storage_id = %s::uuid"
    found: datetime = look_up(sql, [engine().tenant])[0][0]
    return found


def narrow_scope(narrowing: Narrowing | None) -> None:
    """Hide what the caller of the scope must not see, from all statements until the scope ends (D491)."""
    database = engine()
    database.narrowing, database.hidden = narrowing, narrowing.hidden if narrowing else ""


@contextmanager
def narrowed_to(narrowing: Narrowing | None) -> Iterator[None]:
    """Narrow the scope for a while, in a job that acts for several people."""
    database = engine()
    before = database.narrowing
    narrow_scope(narrowing)
    try:
        yield
    finally:
        narrow_scope(before)


@contextmanager
def as_caller() -> Iterator[None]:
    """Hide content again within a change, for what the caller is told of it."""
    database = engine()
    before, database.hidden = database.hidden, database.narrowing.hidden if database.narrowing else ""
    try:
        yield
    finally:
        database.hidden = before


@contextmanager
def whole_content() -> Iterator[None]:
    """Show hidden content to the statements of a change, which must keep it consistent (D493)."""
    database = engine()
    before, database.hidden = database.hidden, ""
    try:
        yield
    finally:
        database.hidden = before


def tenant_models() -> list[type[TenantModel]]:
    """Return every tenant model with a table of its own, in a stable order."""
    known = apps.get_models(include_auto_created=True)
    found = [model for model in known if issubclass(model, TenantModel) and not model._meta.proxy]
    return sorted(found, key=lambda model: model._meta.db_table)


def owners_first(found: Iterable[type[TenantModel]]) -> list[type[TenantModel]]:
    """Sort models: tables with a foreign key to the storage first, their parts, the parts of those, indexes."""

    def depth(model: type[TenantModel]) -> float:
        if model.is_index:
            return math.inf
        if model.storage_through is None:
            return 0
        owner = model._meta.get_field(model.storage_through).related_model
        return 1 + depth(cast("type[TenantModel]", owner))

    return sorted(found, key=depth)


@contextmanager
def _listening(tenant: str, timeout: int | None) -> Iterator[None]:
    """Refuse a storage whose node does not answer, now or while the transaction waits for it (D309)."""
    silent_nodes.refuse(tenant)
    connection.ensure_connection()
    with listening(connection.connection, silent_nodes.listener(tenant, timeout)):
        yield


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
# A request that would write a shard in the last seconds of its move is repeated, and gives its connection back between
# its attempts (D308). This one reaches the coordinator only: rows are locked on the nodes.
_LONGEST_WAIT = "SET LOCAL lock_timeout = '500ms'"
_PROPAGATE = "SET LOCAL citus.propagate_set_commands = 'local'"
_REVISION = "SELECT configuration_revision FROM storage_storagerevision WHERE storage_id = %s::uuid"


def _enter(value: str, timeout: int | None = None, inquiry: Inquiry | None = None) -> tuple[str, int | None]:
    """Set the parameter for this transaction. Return its old value, or an empty text, and the revision of the
    configuration. A distributed database does not tell the old value."""
    if engine().is_distributed:
        revision = _enter_everywhere(value, timeout)
        if inquiry is not None:
            inquiry.ask()
        return "", revision
    columns, parameters = (f"{_ENTER}{_AND_LIMIT}", [value, value, f"{timeout}s"]) if timeout else (_ENTER, [value] * 2)
    row = (inquiry or Inquiry()).ask_after(columns, parameters, _FROM_EARLIER)
    return row[0] or "", row[1]


def _enter_everywhere(value: str, timeout: int | None) -> int | None:
    """Send all statements in one trip. Like on PostgreSQL, Django counts one.

    One text with several statements would not do: Citus sends the whole text to the nodes when it finds SET in it.
    """
    storage = str(UUID(value)) if value else ""
    with connection.cursor() as cursor, engine().wrap_database_errors:
        driver = connection.connection
        is_first = driver.pgconn.transaction_status == TransactionStatus.IDLE
        with driver.pipeline():
            if timeout:
                driver.execute(f"SET LOCAL statement_timeout = '{int(timeout)}s'")
            if timeout and is_first:
                driver.execute(_LONGEST_WAIT)
            # This one is counted, logged and traced. Its text has no values.
            cursor.execute(_PROPAGATE)
            driver.execute(f"SET LOCAL {SCOPE_PARAMETER} = '{storage}'")
            found = driver.execute(_REVISION, [storage]) if storage else None
        row = found.fetchone() if found else None
    return row[0] if row else None
