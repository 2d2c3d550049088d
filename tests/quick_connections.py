"""Less work for each statement of a test, with the same statements.

A test runs inside a transaction, so every transaction of a request is a savepoint there, and one process runs the
statements of all operations in one connection.
"""

from __future__ import annotations

import time

from django.db import DatabaseError
from psycopg._preparing import PrepareManager
from psycopg.errors import error_from_result
from psycopg.generators import execute
from psycopg.pq import ExecStatus

from repository_site.core.database import base

# All statements of fixed text. The driver keeps a hundred, of which the next tests need others.
MOST_PREPARED = 5_000


def make_connections_quick() -> None:
    """Keep all prepared statements, and send savepoints without a cursor, which takes longer than the savepoint."""
    PrepareManager.prepared_max = MOST_PREPARED
    for name, words in (
        ("_savepoint", "SAVEPOINT"),
        ("_savepoint_commit", "RELEASE SAVEPOINT"),
        ("_savepoint_rollback", "ROLLBACK TO SAVEPOINT"),
    ):
        _replace(name, words)


def _replace(name: str, words: str) -> None:
    usual = getattr(base.DatabaseWrapper, name)

    def run(wrapper: base.DatabaseWrapper, sid: str) -> None:
        # Tests that count or break statements, and failed transactions, take the usual way.
        if wrapper.queries_logged or wrapper.execute_wrappers or not wrapper._is_healthy():
            usual(wrapper, sid)
        else:
            _send(wrapper, f"{words} {wrapper.ops.quote_name(sid)}")

    setattr(base.DatabaseWrapper, name, run)


def _send(wrapper: base.DatabaseWrapper, sql: str) -> None:
    driver, started = wrapper.connection, time.perf_counter()
    try:
        with wrapper.wrap_database_errors:
            with driver.lock:
                driver.pgconn.send_query(sql.encode())
                [result] = driver.wait(execute(driver.pgconn))
            if result.status != ExecStatus.COMMAND_OK:
                raise error_from_result(result)
    except DatabaseError as problem:
        base._tell("statement", [sql], started, problem)
        raise
    base._tell("statement", [sql], started, None)
