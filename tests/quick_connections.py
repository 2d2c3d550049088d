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
SAVEPOINT, RELEASE = "SAVEPOINT", "RELEASE SAVEPOINT"
# The attribute of a connection with the release that it has not sent yet.
WAITING = "_waiting_release"


def make_connections_quick() -> None:
    """Keep all prepared statements, and send savepoints without a cursor, which takes longer than the savepoint.

    A savepoint is released together with the beginning of the next one. Until then, statements run inside it, which
    differs for nothing that they do; rolling back to an outer savepoint or ending the transaction ends it as well.
    """
    PrepareManager.prepared_max = MOST_PREPARED
    for name, words in (
        ("_savepoint", SAVEPOINT),
        ("_savepoint_commit", RELEASE),
        ("_savepoint_rollback", "ROLLBACK TO SAVEPOINT"),
    ):
        _replace(name, words)
    for name in ("_commit", "_rollback", "_close"):
        _forget_before(name)


def _replace(name: str, words: str) -> None:
    usual = getattr(base.DatabaseWrapper, name)

    def run(wrapper: base.DatabaseWrapper, sid: str) -> None:
        sql, waiting, is_healthy = f"{words} {wrapper.ops.quote_name(sid)}", _taken(wrapper), wrapper._is_healthy()
        # Tests that count or break statements, and failed transactions, take the usual way.
        if wrapper.queries_logged or wrapper.execute_wrappers or not is_healthy:
            if waiting and is_healthy:
                _send(wrapper, waiting)
            usual(wrapper, sid)
            return
        started = time.perf_counter()
        if words == RELEASE:
            # This also releases the savepoint that waits, which is inside.
            vars(wrapper.connection)[WAITING] = sql
        else:
            _send(wrapper, f"{waiting}; {sql}" if waiting and words == SAVEPOINT else sql)
        base._tell("statement", [sql], started, None)

    setattr(base.DatabaseWrapper, name, run)


def _taken(wrapper: base.DatabaseWrapper) -> str:
    """Return the release that the connection has not sent yet, and forget it."""
    return vars(wrapper.connection).pop(WAITING, "") if wrapper.connection else ""


def _forget_before(name: str) -> None:
    usual = getattr(base.DatabaseWrapper, name)

    def run(wrapper: base.DatabaseWrapper) -> None:
        _taken(wrapper)
        usual(wrapper)

    setattr(base.DatabaseWrapper, name, run)


def _send(wrapper: base.DatabaseWrapper, sql: str) -> None:
    driver, started = wrapper.connection, time.perf_counter()
    try:
        with wrapper.wrap_database_errors:
            with driver.lock:
                driver.pgconn.send_query(sql.encode())
                results = driver.wait(execute(driver.pgconn))
            for result in results:
                if result.status != ExecStatus.COMMAND_OK:
                    raise error_from_result(result)
    except DatabaseError as problem:
        base._tell("statement", [sql], started, problem)
        raise
