"""Django's PostgreSQL backend, with two differences: a first connection starts the embedded server, and there
are statements that are prepared.

Starting lazily here, and not in the settings, keeps `--help`, type checking and schema tools free of a database.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from django.conf import settings
from django.db import DatabaseError, NotSupportedError
from django.db.backends.postgresql import base, operations, schema
from django.db.backends.utils import CursorWrapper
from psycopg import DataError
from psycopg.pq import Format
from psycopg_pool import PoolTimeout

from repository_site.core.database.pool import PATIENCE, Turnstile, WarmPool
from repository_site.core.database.revival import Revival

Parameters = Sequence[Any] | Mapping[str, Any]
Row = tuple[Any, ...]
Statement = tuple[str, Parameters]
# A cursor of psycopg, which the type stubs do not know; some are kept with each connection under this name.
psycopg_cursor: Any = base.ServerBindingCursor
KEPT = "cursors_for_looking_up"
_revival = Revival()
_turnstile = Turnstile()
_serial = itertools.count()
# For each lock; a migration that needs several may hold the first for as long as it waits for the others.
LONGEST_WAIT_OF_MIGRATIONS = "400ms"
# Cursors hold their last result; one of so many rows is not held until the next request.
MOST_HELD = 2_000


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
    """The driver looks at what a statement has done only the first time that it meets its text."""
    return f"{sql} -- {next(_serial)}"


class DatabaseOperations(operations.DatabaseOperations):
    def last_executed_query(self, cursor: Any, sql: str, params: Any) -> Any:
        """For those who look at statements: with its values, though they were sent apart."""
        if isinstance(cursor, base.ServerBindingCursor):
            try:
                return self.compose_sql(sql, params)
            except DataError:
                return None
        return super().last_executed_query(cursor, sql, params)


class DatabaseSchemaEditor(schema.DatabaseSchemaEditor):
    """No migration waits for a lock for long: everybody who came after it would wait as long (D155)."""

    def __enter__(self) -> DatabaseSchemaEditor:
        super().__enter__()
        if self.atomic_migration and not self.collect_sql:
            with self.connection.cursor() as cursor:
                cursor.execute("SELECT set_config('lock_timeout', %s, true)", [LONGEST_WAIT_OF_MIGRATIONS])
        return self


class MeasuredCursor(CursorWrapper):
    """Times each statement, for `/metrics`."""

    def _execute(self, sql: str, params: Any, *ignored: Any) -> Any:
        return self._measured(
            super()._execute,  # type: ignore[misc]  # the stubs do not know it
            sql,
            params,
        )

    def _executemany(self, sql: str, param_list: Any, *ignored: Any) -> Any:
        return self._measured(
            super()._executemany,  # type: ignore[misc]
            sql,
            param_list,
        )

    def _measured(self, send: Callable[[str, Any], Any], sql: str, params: Any) -> Any:
        started = time.perf_counter()
        try:
            answer = send(sql, params)
        except DatabaseError as problem:
            _tell("statement", [sql], started, problem)
            raise
        _tell("statement", [sql], started, None)
        return answer


class DatabaseWrapper(base.DatabaseWrapper):
    ops_class = DatabaseOperations
    SchemaEditorClass = DatabaseSchemaEditor

    @property
    def pool(self) -> Any:
        """Django's, but of our kind: it finds one that is there already. CONN_HEALTH_CHECKS, which are off, would need
        more."""
        options = self.settings_dict["OPTIONS"].get("pool")
        known: dict[str, Any] = self._connection_pools  # type: ignore[attr-defined]  # the stubs lack it
        if options and self.alias not in known:
            configure = self._configure_connection  # type: ignore[attr-defined]
            parameters = {**self.get_connection_params(), "autocommit": True}
            # Of threads that make one at the same time the first wins; none has been opened yet.
            known.setdefault(self.alias, WarmPool(kwargs=parameters, open=False, configure=configure, **options))
        return super().pool

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

    def make_cursor(self, cursor: Any) -> MeasuredCursor:
        return MeasuredCursor(cursor, self)

    def _take_from_pool(self, conn_params: dict[str, Any]) -> Any:
        """What every request of a server does: it is refused rather than kept waiting for long (D153).

        Asked again and again meanwhile: the pool gives up on a database that is away, and looks for it when asked next.
        """
        end = time.monotonic() + PATIENCE
        _turnstile.pass_to(self.pool)
        while True:
            if settings.EMBEDDED_POSTGRES is not None:
                _revival.see_that_it_runs(settings.EMBEDDED_POSTGRES)
            try:
                taken = super().get_new_connection(conn_params)
            except PoolTimeout:
                if time.monotonic() < end:
                    continue
                _turnstile.close()
                raise
            _turnstile.open()
            return taken

    def look_up(self, sql: str, parameters: Parameters) -> list[Row]:
        """For statements of a fixed text that are sent again and again: parsed and planned once a connection.

        Django's cursors put the values into the text, so that each statement is planned anew, for just these values;
        and they are made anew for each. What is found comes in binary form, which is quicker to read; JSON has to be
        asked for as text.
        """
        return self.look_up_all([(sql, parameters)])[0]

    def look_up_all(
        self, statements: Sequence[Statement], meanwhile: Callable[[], None] | None = None
    ) -> list[list[Row]]:
        """The same for several that do not wait for each other's rows: sent in one trip.

        `meanwhile` is done while the database works. It must not ask the database for anything.
        """
        try:
            return self._look_up_all(statements, meanwhile)
        except NotSupportedError:
            # A table has changed since the statement was prepared. A transaction has failed by that, and is for whoever
            # began it to try again.
            if self.in_atomic_block:
                raise
            self.forget_plans()
            return self._look_up_all(statements, meanwhile)

    def forget_plans(self) -> None:
        """Prepared statements of this connection are prepared anew when they are sent next; outside of transactions."""
        with self._preparing(), self.wrap_database_errors:
            self.connection.execute(_never_seen("DEALLOCATE ALL"))

    def _savepoint_rollback(self, sid: str) -> None:
        """Seen by the driver as an end of what was prepared: of several statements in one trip those after one that
        fails were not, though it takes them for prepared. Of whole transactions it knows that by itself."""
        with self._preparing(), self.cursor() as cursor:
            cursor.execute(_never_seen(self.ops.savepoint_rollback_sql(sid)))

    @contextmanager
    def _preparing(self) -> Iterator[None]:
        """What is sent a second time is prepared. Not always: of all other statements, texts with their values in them,
        the driver would keep the last hundred."""
        self.ensure_connection()
        self.connection.prepare_threshold = 1
        try:
            yield
        finally:
            if self.connection is not None:
                self.connection.prepare_threshold = None

    def _look_up_all(self, statements: Sequence[Statement], meanwhile: Callable[[], None] | None) -> list[list[Row]]:
        with self._preparing():
            cursors = self._kept_cursors(len(statements))
            if self.queries_logged or self.execute_wrappers:
                return self._look_up_watched(statements, cursors, meanwhile)
            self.validate_no_broken_transaction()
            started = time.perf_counter()
            try:
                with self.wrap_database_errors:
                    if len(statements) == 1 and meanwhile is None:
                        found = [cursors[0].execute(*statements[0]).fetchall()]
                    else:
                        found = self._look_up_together(statements, cursors, meanwhile)
            except DatabaseError as problem:
                if _watchers:
                    _tell("look_up", [sql for sql, _ in statements], started, problem)
                raise
            if _watchers:
                _tell("look_up", [sql for sql, _ in statements], started, None)
            if sum(map(len, found)) > MOST_HELD:
                delattr(self.connection, KEPT)
            return found

    def _look_up_together(
        self, statements: Sequence[Statement], cursors: Sequence[Any], meanwhile: Callable[[], None] | None
    ) -> list[list[Row]]:
        with self.connection.pipeline():
            for cursor, statement in zip(cursors, statements, strict=True):
                cursor.execute(*statement)
            if meanwhile is not None:
                meanwhile()
        return [cursor.fetchall() for cursor in cursors]

    def _look_up_watched(
        self, statements: Sequence[Statement], cursors: Sequence[Any], meanwhile: Callable[[], None] | None
    ) -> list[list[Row]]:
        """One by one, for those who count or log statements."""
        if meanwhile is not None:
            meanwhile()
        found = []
        for cursor, statement in zip(cursors, statements, strict=True):
            watched = self.make_debug_cursor(cursor) if self.queries_logged else self.make_cursor(cursor)
            watched.execute(*statement)
            found.append(list(watched.fetchall()))
        return found

    def _kept_cursors(self, count: int) -> list[Any]:
        kept: list[Any] = self.connection.__dict__.setdefault(KEPT, [])
        while len(kept) < count:
            cursor = psycopg_cursor(self.connection)
            cursor.format = Format.BINARY
            kept.append(cursor)
        return kept[:count]
