"""Django's PostgreSQL backend, with two differences: a first connection starts the embedded server, and there are
cursors whose statements are prepared.

Starting lazily here, and not in the settings, keeps `--help`, type checking and schema tools free of a database.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db.backends.postgresql import base, operations
from psycopg.pq import Format

# A cursor of psycopg, which the type stubs do not know.
psycopg_cursor: Any = base.ServerBindingCursor


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

    def prepared_cursor(self) -> Any:
        """For statements of a fixed text that are sent again and again: parsed and planned once a connection.

        Other cursors put the values into the text, so that each statement is planned anew, for just these values. What
        is found comes in binary form, which is quicker to read; JSON has to be asked for as text.
        """
        self.validate_thread_sharing()
        self.ensure_connection()
        with self.wrap_database_errors:
            cursor = psycopg_cursor(self.connection)
            cursor.format = Format.BINARY
            return self.make_debug_cursor(cursor) if self.queries_logged else self.make_cursor(cursor)
