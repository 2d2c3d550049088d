"""Django's PostgreSQL backend with three additions: the first connection starts the embedded server, statements can be
prepared, and a standby counts as an unavailable database.

The embedded server starts here and not in the settings, so that `--help`, type checking and schema tools need no
database.
"""

from __future__ import annotations

import itertools
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from typing import Any, Protocol

from django.conf import settings
from django.db import DatabaseError, NotSupportedError
from django.db.backends.postgresql import base, operations, schema
from django.db.backends.utils import CursorDebugWrapper, CursorWrapper, debug_transaction
from django.db.models import Model
from django.utils.functional import cached_property
from psycopg import DataError
from psycopg.pq import Format, TransactionStatus
from psycopg_pool import PoolTimeout

from repository_site.core.database.commits import DriverErrors, follow_nodes
from repository_site.core.database.narrowing import Narrowing
from repository_site.core.database.pool import (
    PATIENCE,
    REPLICA,
    REPLICA_PATIENCE,
    PooledConnection,
    ReplicaPool,
    Turnstile,
    WarmPool,
)
from repository_site.core.database.prepared import Parameters, Preparing, Row, Statement, run_prepared
from repository_site.core.database.revival import Revival
from repository_site.core.database.routing import with_storage
from repository_site.core.database.warming import HotStatements

# A cursor class of psycopg, which the type stubs do not know.
psycopg_cursor: Any = base.ServerBindingCursor
_revival = Revival()
_turnstiles: dict[str, Turnstile] = defaultdict(Turnstile)
_serial = itertools.count()
_hot = HotStatements()
# Whether databases are distributed, by their addresses.
_distributed: dict[tuple[str, ...], bool] = {}
# A table of ours that a distributed database has in shards.
IS_DISTRIBUTED = """SELECT EXISTS (SELECT FROM pg_dist_partition
    WHERE logicalrelid = to_regclass('storage_storagerevision') AND partmethod = 'h')"""
BEGIN_SNAPSHOT = b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
# For each lock. A migration that needs several keeps the first one while it waits for the others.
LONGEST_WAIT_OF_MIGRATIONS = "400ms"
MIGRATION_OF_NODES = (
    "SET LOCAL citus.enable_unsafe_triggers = on",
    "SET LOCAL citus.multi_shard_modify_mode = 'sequential'",
)


class TripWatcher(Protocol):
    """A function that is called after each trip to the database, for metrics and traces.

    `kind` is `look_up`, `statement` or `connection` (only when it failed), `statements` are the texts without their
    values, `started` is the value of `time.perf_counter` at the start.
    """

    def __call__(
        self, kind: str, statements: Sequence[str], started: float, problem: BaseException | None, /
    ) -> None: ...


_watchers: tuple[TripWatcher, ...] = ()


def watch_trips(watcher: TripWatcher) -> Callable[[], None]:
    """Call the watcher after each trip, and return a function that ends this.

    Django's `execute_wrapper` would send statements that share a trip one by one.
    """
    global _watchers
    _watchers = (*_watchers, watcher)

    def end() -> None:
        global _watchers
        _watchers = tuple(each for each in _watchers if each != watcher)

    return end


def _tell(kind: str, statements: Sequence[str], started: float, problem: BaseException | None) -> None:
    for watcher in _watchers:
        watcher(kind, statements, started, problem)


def _never_seen(sql: str) -> str:
    """Return the statement with a unique text: the driver inspects the effect of each text only once."""
    return f"{sql} -- {next(_serial)}"


class DatabaseOperations(operations.DatabaseOperations):
    def last_executed_query(self, cursor: Any, sql: str, params: Any) -> Any:
        """Return the statement with its values, which were sent separately, for debugging."""
        if isinstance(cursor, base.ServerBindingCursor):
            try:
                return self.compose_sql(sql, params)
            except DataError:
                return None
        return super().last_executed_query(cursor, sql, params)


class DatabaseSchemaEditor(schema.DatabaseSchemaEditor):
    """Limits how long a migration waits for a lock: all requests after it would wait as long (D155).

    On a distributed database it permits triggers, and changes shards one after the other: after a change of several at
    once, Citus refuses a change of a table that every node has in the same transaction.
    """

    connection: DatabaseWrapper

    def __enter__(self) -> DatabaseSchemaEditor:
        super().__enter__()
        if self.atomic_migration and not self.collect_sql:
            with self.connection.cursor() as cursor:
                cursor.execute("SELECT set_config('lock_timeout', %s, true)", [LONGEST_WAIT_OF_MIGRATIONS])
                for statement in MIGRATION_OF_NODES if self.connection.is_distributed else ():
                    cursor.execute(statement)
        return self

    def add_field(self, model: type[Model], field: Any) -> None:
        """Add a column. On a distributed database its check follows: Citus refuses both in one statement."""
        check = field.db_parameters(self.connection)["check"] if self.connection.is_distributed else None
        if check:
            field = copy(field)
            field.db_check = lambda connection: None
        super().add_field(model, field)
        if check:
            name = self._create_index_name(model._meta.db_table, [field.column], suffix="_check")  # type: ignore[attr-defined]
            self.execute(self._create_check_sql(model, name, check))  # type: ignore[attr-defined]


class MeasuredCursor(CursorWrapper):
    """Adds the storage to each statement, and times it for metrics and traces."""

    def _execute(self, sql: str, params: Any, *ignored: Any) -> Any:
        if self.db.tenant:
            sql, params = with_storage(sql, params, self.db.tenant, self.db.hidden, self.db.as_of)
        return self._measured(super()._execute, sql, params)  # type: ignore[misc]  # the stubs do not know it

    def _executemany(self, sql: str, param_list: Any, *ignored: Any) -> Any:
        scope = self.db.tenant, self.db.hidden, self.db.as_of
        routed = [with_storage(sql, each, *scope) for each in param_list] if self.db.tenant else []
        if routed:
            sql, param_list = routed[0][0], [parameters for _, parameters in routed]
        return self._measured(super()._executemany, sql, param_list)  # type: ignore[misc]

    def _measured(self, send: Callable[[str, Any], Any], sql: str, params: Any) -> Any:
        started = time.perf_counter()
        try:
            answer = send(sql, params)
        except DatabaseError as problem:
            _tell("statement", [sql], started, problem)
            raise
        _tell("statement", [sql], started, None)
        return answer


class LoggedCursor(CursorDebugWrapper, MeasuredCursor):
    """Also logs each statement, while Django counts or logs statements."""


class DatabaseWrapper(base.DatabaseWrapper):
    ops_class = DatabaseOperations
    SchemaEditorClass = DatabaseSchemaEditor
    tenant = ""
    """Id of the storage of the scope, which every statement on tenant tables names (D250)."""
    narrowing: Narrowing | None = None
    """Limits of the caller of the scope; None without a caller, or without permission sets (D491)."""
    hidden = ""
    """Those sets of the narrowing whose elements the statements leave out; empty while a change needs all content."""
    _waits = False
    reading: Any = None
    """The connection to the database whose transaction only reads. A stream may take it away from this wrapper."""
    as_of = ""
    """Time in ISO 8601 whose content the statements read; empty for that of today (D564)."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.threshold = 1 if settings.DATABASE_PREPARE else None

    @cached_property
    def wrap_database_errors(self) -> DriverErrors:
        return DriverErrors(self)

    @property
    def pool(self) -> Any:
        """Return the pool of Django's backend, but as a `WarmPool`. (CONN_HEALTH_CHECKS would need more code.)"""
        options = self.settings_dict["OPTIONS"].get("pool")
        known: dict[str, Any] = self._connection_pools  # type: ignore[attr-defined]  # the stubs lack it
        if options and self.alias not in known:
            configure = self._configure_pooled
            parameters = {**self.get_connection_params(), "autocommit": True}
            # If several threads create one at the same time, the first one wins; none has been opened yet.
            kind = ReplicaPool if self.alias == REPLICA else WarmPool
            known.setdefault(self.alias, kind(kwargs=parameters, open=False, configure=configure, **options))
        return super().pool

    @property
    def is_distributed(self) -> bool:
        """Return whether Citus distributes the tables of this database (D251). Each process asks once."""
        address = self._address
        if address not in _distributed:
            self.ensure_connection()
            with self.wrap_database_errors:
                found = self.connection.execute("SELECT to_regclass('pg_catalog.pg_dist_partition')").fetchone()[0]
                _distributed[address] = bool(found and self.connection.execute(IS_DISTRIBUTED).fetchone()[0])
        return _distributed[address]

    @property
    def _address(self) -> tuple[str, ...]:
        where = self.settings_dict
        return where["HOST"], where["PORT"], where["NAME"]

    def forget_distribution(self) -> None:
        """Ask again, after the tables have been distributed."""
        _distributed.clear()

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        started = time.perf_counter()
        try:
            if self.pool:
                return self._take_from_pool(conn_params)
            if settings.EMBEDDED_POSTGRES is not None:
                settings.EMBEDDED_POSTGRES.ensure_running()
            return super().get_new_connection(conn_params)
        except Exception as problem:
            _tell("connection", [], started, problem)
            raise

    def _configure_connection(self, connection: Any) -> Any:
        follow_nodes(connection)
        return super()._configure_connection(connection)  # type: ignore[misc]  # the stubs lack it

    def _configure_pooled(self, connection: Any) -> None:
        self._configure_connection(connection)
        # Citus plans statements for their values (D253).
        _hot.warm(connection, plan=_distributed.get(self._address) is False)

    def chunked_cursor(self) -> Any:
        """Return a cursor that fetches its rows in parts. Outside a transaction it fetches all at once: a cursor that
        outlives its transaction belongs to the session, which PgBouncer shares between clients (D231)."""
        return super().chunked_cursor() if self.in_atomic_block else self.cursor()

    def make_cursor(self, cursor: Any) -> MeasuredCursor:
        return MeasuredCursor(cursor, self)

    def make_debug_cursor(self, cursor: Any) -> LoggedCursor:
        return LoggedCursor(cursor, self)

    def _take_from_pool(self, conn_params: dict[str, Any]) -> Any:
        """Take a connection for a request, which is refused rather than kept waiting for long (D153).

        The pool is asked repeatedly: it gives up on an unreachable database, and tries again when it is asked again.
        """
        end = time.monotonic() + (REPLICA_PATIENCE if self.alias == REPLICA else PATIENCE)
        turnstile = _turnstiles[self.alias]
        turnstile.pass_to(self.pool)
        while True:
            if settings.EMBEDDED_POSTGRES is not None:
                _revival.see_that_it_runs(settings.EMBEDDED_POSTGRES)
            try:
                taken = super().get_new_connection(conn_params)
            except PoolTimeout:
                if time.monotonic() < end:
                    continue
                turnstile.close()
                raise
            turnstile.open()
            return taken

    def look_up(self, sql: str, parameters: Parameters) -> list[Row]:
        """Run a statement of fixed text, which PostgreSQL parses and plans once in each connection.

        Django's cursors put the values into the text, so that each statement is planned again, and they create a
        cursor for each statement. Results have the binary format, which is faster to read; JSON must be selected as
        text.
        """
        return self.look_up_all([(sql, parameters)])[0]

    def look_up_all(
        self, statements: Sequence[Statement], meanwhile: Callable[[], object] | None = None
    ) -> list[list[Row]]:
        """Run several independent statements in one trip.

        `meanwhile` runs while the database works. It must not use the database.
        """
        try:
            return self._look_up_all(statements, meanwhile)
        except NotSupportedError:
            # A table has changed since the statement was prepared. The caller must retry a failed transaction.
            if self.in_atomic_block:
                raise
            self.forget_plans()
            return self._look_up_all(statements, meanwhile)

    def forget_plans(self) -> None:
        """Deallocate the prepared statements of this connection. Must be called outside a transaction."""
        with self._preparing(), self.wrap_database_errors:
            self.connection.execute(_never_seen("DEALLOCATE ALL"))

    @contextmanager
    def reading_one_snapshot(self, *, waits: bool = False) -> Iterator[None]:
        """Let the next transaction begin as a read-only snapshot; its BEGIN says so, without an extra round trip.

        The properties of the driver for this take as long as a statement. The COMMIT `waits` on Citus, where a node may
        not answer (D309).
        """
        self.ensure_connection()
        driver = self.connection
        driver._begin_statement, self.reading, self._waits = BEGIN_SNAPSHOT, driver, waits
        try:
            yield
        finally:
            driver._begin_statement, self.reading = b"", None

    def _commit(self) -> None:
        """Do not wait for the end of a transaction that has only read, unless statements are logged (D609)."""
        driver = self.connection
        is_free = driver is self.reading and not self._waits and not self.queries_logged
        if is_free and isinstance(driver, PooledConnection):
            with self.wrap_database_errors:
                driver.end_reading()
        else:
            super()._commit()  # type: ignore[misc]  # the stubs do not know it

    def _set_autocommit(self, autocommit: bool) -> None:
        driver = self.connection
        if driver.autocommit == autocommit:
            return
        if isinstance(driver, PooledConnection) and driver.is_ending:
            # The property would wait for the end of the transaction.
            driver._autocommit = autocommit
        else:
            super()._set_autocommit(autocommit)  # type: ignore[misc]

    def _rollback(self) -> None:
        """Keep the prepared statements, as PostgreSQL does; the driver forgets them after each rollback (D221)."""
        if self._is_healthy():
            with debug_transaction(self, "ROLLBACK"), self.wrap_database_errors:
                self.connection.execute("ROLLBACK")
        else:
            super()._rollback()  # type: ignore[misc]  # the stubs do not know it

    def _savepoint_rollback(self, sid: str) -> None:
        """Roll back so that the driver forgets its prepared statements if a statement has failed.

        If one of several statements in a trip fails, the later ones were not prepared, but the driver believes so.
        """
        if self._is_healthy():
            super()._savepoint_rollback(sid)  # type: ignore[misc]
        else:
            with self._preparing(), self.cursor() as cursor:
                cursor.execute(_never_seen(self.ops.savepoint_rollback_sql(sid)))

    def _is_healthy(self) -> bool:
        """Return whether a transaction is open in which no statement has failed."""
        driver = self.connection
        return driver is not None and driver.info.transaction_status == TransactionStatus.INTRANS

    def _preparing(self) -> Preparing:
        return Preparing(self)

    def _look_up_all(self, statements: Sequence[Statement], meanwhile: Callable[[], object] | None) -> list[list[Row]]:
        if self.connection is None:
            self.ensure_connection()
        if self.queries_logged or self.execute_wrappers:
            return self._look_up_watched(statements, meanwhile)
        self.validate_no_broken_transaction()
        if self.tenant:
            scope = self.tenant, self.hidden, self.as_of
            statements = [with_storage(*statement, *scope) for statement in statements]
        started = time.perf_counter()
        try:
            with self.wrap_database_errors:
                found = run_prepared(self.connection, statements, meanwhile)
                if found is None:
                    found = self._look_up_by_cursors(statements, meanwhile)
        except DatabaseError as problem:
            if _watchers:
                _tell("look_up", [sql for sql, _ in statements], started, problem)
            raise
        if _watchers:
            _tell("look_up", [sql for sql, _ in statements], started, None)
        return found

    def _look_up_by_cursors(
        self, statements: Sequence[Statement], meanwhile: Callable[[], object] | None
    ) -> list[list[Row]]:
        """Let the driver run the statements and prepare those that it sees for the second time."""
        with self._preparing():
            cursors = self._cursors(len(statements))
            if len(statements) == 1 and meanwhile is None:
                cursors[0].execute(*statements[0])
            else:
                self._execute_together(statements, cursors, meanwhile)
            _hot.note(self.connection)
            return [_fetch_all(cursor) for cursor in cursors]

    def _execute_together(
        self, statements: Sequence[Statement], cursors: Sequence[Any], meanwhile: Callable[[], object] | None
    ) -> None:
        with self.connection.pipeline():
            for cursor, statement in zip(cursors, statements, strict=True):
                cursor.execute(*statement)
            if meanwhile is not None:
                meanwhile()

    def _look_up_watched(
        self, statements: Sequence[Statement], meanwhile: Callable[[], object] | None
    ) -> list[list[Row]]:
        """Run the statements one by one, while statements are counted or logged."""
        if meanwhile is not None:
            meanwhile()
        found = []
        with self._preparing():
            for cursor, statement in zip(self._cursors(len(statements)), statements, strict=True):
                watched = self.make_debug_cursor(cursor) if self.queries_logged else self.make_cursor(cursor)
                watched.execute(*statement)
                found.append(_fetch_all(cursor))
        return found

    def _cursors(self, count: int) -> list[Any]:
        found = [psycopg_cursor(self.connection) for _ in range(count)]
        for cursor in found:
            cursor.format = Format.BINARY
        return found


def _fetch_all(cursor: Any) -> list[Row]:
    """Return the rows of a statement; none of a change that returns none."""
    return list(cursor.fetchall()) if cursor.description else []
