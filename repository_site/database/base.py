"""Django's PostgreSQL backend, with two differences: a first connection starts the embedded server, and there
are statements that are prepared.

Starting lazily here, and not in the settings, keeps `--help`, type checking and schema tools free of a database.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.conf import settings
from django.db.backends.postgresql import base, operations
from psycopg.pq import Format

Parameters = Sequence[Any] | Mapping[str, Any]
Row = tuple[Any, ...]
# A cursor of psycopg, which the type stubs do not know; one is kept with each connection under this name.
psycopg_cursor: Any = base.ServerBindingCursor
KEPT = "cursor_for_looking_up"


class DatabaseOperations(operations.DatabaseOperations):
    def last_executed_query(self, cursor: Any, sql: str, params: Any) -> Any:
        """For those who look at statements: with its values, though they were sent apart."""
        if isinstance(cursor, base.ServerBindingCursor):
            return self.compose_sql(sql, params)
        return super().last_executed_query(cursor, sql, params)


class DatabaseWrapper(base.DatabaseWrapper):
    ops_class = DatabaseOperations

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        if settings.EMBEDDED_POSTGRES is not None:
            settings.EMBEDDED_POSTGRES.ensure_running()
        return super().get_new_connection(conn_params)

    def look_up(self, sql: str, parameters: Parameters) -> list[Row]:
        """For statements of a fixed text that are sent again and again: parsed and planned once a connection.

        Django's cursors put the values into the text, so that each statement is planned anew, for just these values;
        and they are made anew for each. What is found comes in binary form, which is quicker to read; JSON has to be
        asked for as text.
        """
        self.ensure_connection()
        # What is sent a second time is prepared. For these statements alone: of all others, texts with their values in
        # them, the driver would keep the last hundred.
        self.connection.prepare_threshold = 1
        try:
            return self._look_up(sql, parameters)
        finally:
            if self.connection is not None:
                self.connection.prepare_threshold = None

    def _look_up(self, sql: str, parameters: Parameters) -> list[Row]:
        cursor = getattr(self.connection, KEPT, None) or self._make_cursor()
        if self.queries_logged or self.execute_wrappers:
            watched = self.make_debug_cursor(cursor) if self.queries_logged else self.make_cursor(cursor)
            watched.execute(sql, parameters)
            return list(watched.fetchall())
        self.validate_no_broken_transaction()
        with self.wrap_database_errors:
            found: list[Row] = cursor.execute(sql, parameters).fetchall()
            return found

    def _make_cursor(self) -> Any:
        cursor = psycopg_cursor(self.connection)
        cursor.format = Format.BINARY
        setattr(self.connection, KEPT, cursor)
        return cursor
