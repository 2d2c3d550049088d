"""Less work for each statement of a test, with the same statements.

A test runs inside a transaction, so every transaction of a request is a savepoint there, and one process runs the
statements of all operations in one connection.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any

from psycopg import ClientCursor, Connection
from psycopg._preparing import PrepareManager
from psycopg.errors import error_from_result
from psycopg.generators import execute
from psycopg.pq import ExecStatus

from repository_site.core.database import base, prepared
from repository_site.core.database.statements import engine
from storage.models.tenant import SCOPE_PARAMETER
from storage.tenancy import scope
from tests.citus import SWITCH

ON_CITUS = bool(os.environ.get(SWITCH))
# All statements of fixed text. The driver keeps a hundred, of which the next tests need others.
MOST_PREPARED = 5_000
SAVEPOINT, RELEASE, ROLLBACK = "SAVEPOINT", "RELEASE SAVEPOINT", "ROLLBACK TO SAVEPOINT"
# The attribute of a connection with the commands that it sends together with the next statement, and that of a cursor
# with the number of those that it has sent.
WAITING, SENT = "_waiting_commands", "_sent_before"


def make_connections_quick() -> None:
    """Keep all prepared statements, and send commands that return nothing in the trip of the next statement (D600).

    These are savepoints and the end of scopes. They wait in their order, so every statement finds them done. Those that
    no statement follows are never sent: the rollback of the test, or of an outer savepoint, ends them as well.
    """
    PrepareManager.prepared_max = MOST_PREPARED
    if ON_CITUS:
        # Citus sends the whole text of a trip to its nodes if one of its commands sets a parameter.
        return
    for name, words in (("_savepoint", SAVEPOINT), ("_savepoint_commit", RELEASE), ("_savepoint_rollback", ROLLBACK)):
        _defer_savepoints(name, words)
    for name in ("_commit", "_rollback", "_close"):
        _forget_before(name)
    _defer_ends_of_scopes()
    _send_before_prepared_statements()
    _send_before_texts()
    _send_before_everything_else()


def _defer_savepoints(name: str, words: str) -> None:
    usual = getattr(base.DatabaseWrapper, name)

    def run(wrapper: base.DatabaseWrapper, sid: str) -> None:
        if not _can_wait(wrapper):
            usual(wrapper, sid)
            return
        name = wrapper.ops.quote_name(sid)
        sql, waiting = f"{words} {name}", vars(wrapper.connection).setdefault(WAITING, [])
        place = _last_place(waiting, f"{SAVEPOINT} {name}")
        if words == SAVEPOINT or (words == RELEASE and place is None):
            waiting.append(sql)
        elif words == RELEASE:
            # Nothing has happened since this savepoint, except the ends of scopes, which remain.
            del waiting[place]
        elif place is None:
            # All commands that wait are inside the savepoint.
            waiting[:] = [sql]
        else:
            del waiting[place + 1 :]
        # Without its name: watchers keep the texts of statements.
        base._tell("statement", [words], time.perf_counter(), None)

    setattr(base.DatabaseWrapper, name, run)


def _last_place(waiting: list[str], sql: str) -> int | None:
    return next((place for place in reversed(range(len(waiting))) if waiting[place] == sql), None)


def _can_wait(wrapper: base.DatabaseWrapper) -> bool:
    """Return whether commands of this connection can wait: only inside a test that rolls back, because elsewhere others
    may wait for locks. Tests that count or break statements, and failed transactions, take the usual way."""
    blocks: list[Any] = wrapper.atomic_blocks
    return (
        bool(blocks)
        and blocks[0]._from_testcase
        and not (wrapper.queries_logged or wrapper.execute_wrappers)
        and wrapper._is_healthy()
    )


def _forget_before(name: str) -> None:
    usual = getattr(base.DatabaseWrapper, name)

    def run(wrapper: base.DatabaseWrapper) -> None:
        if wrapper.connection is not None:
            _take(wrapper.connection)
        usual(wrapper)

    setattr(base.DatabaseWrapper, name, run)


def _take(driver: Connection[Any]) -> list[str]:
    found: list[str] = vars(driver).pop(WAITING, [])
    return found


def _defer_ends_of_scopes() -> None:
    usual, usual_text = scope._return_to, f"{scope._ENTER}{scope._FROM_EARLIER}"

    def run(outer: str) -> None:
        wrapper = engine()
        if not _can_wait(wrapper):
            usual(outer)
        else:
            sql = f"SELECT set_config('{SCOPE_PARAMETER}', '{outer}', true)"
            vars(wrapper.connection).setdefault(WAITING, []).append(sql)
            base._tell("look_up", [usual_text], time.perf_counter(), None)

    scope._return_to = run


def _send_before_prepared_statements() -> None:
    """Send the commands in the trip of statements that the connection has prepared."""
    usual = prepared._commands_before

    def commands_before(driver: Connection[Any]) -> Sequence[bytes]:
        waiting = _take(driver)
        return [sql.encode() for sql in waiting] if waiting else usual(driver)

    prepared._commands_before = commands_before


def _send_before_texts() -> None:
    """Send the commands before the text of a statement with its values, as Django's cursors send it."""
    usual_execute, usual_send, usual_set = ClientCursor.execute, ClientCursor._execute_send, ClientCursor._set_results

    def run(cursor: Any, *arguments: Any, **options: Any) -> Any:
        waiting = _take(cursor._conn)
        if not waiting:
            return usual_execute(cursor, *arguments, **options)
        vars(cursor)[WAITING] = waiting
        try:
            return usual_execute(cursor, *arguments, **options)
        finally:
            vars(cursor).pop(SENT, None)
            # A statement whose values are wrong is not sent.
            if unsent := vars(cursor).pop(WAITING, None):
                vars(cursor._conn)[WAITING] = unsent

    def execute_send(cursor: Any, query: Any, **options: Any) -> None:
        waiting = vars(cursor).pop(WAITING, None)
        if waiting:
            vars(cursor)[SENT] = len(waiting)
            text, query.query = query.query, "; ".join([*waiting, ""]).encode() + query.query
        usual_send(cursor, query, **options)
        if waiting:
            query.query = text

    def set_results(cursor: Any, results: list[Any]) -> None:
        usual_set(cursor, results[vars(cursor).pop(SENT, 0) :])

    for name, function in (("execute", run), ("_execute_send", execute_send), ("_set_results", set_results)):
        setattr(ClientCursor, name, function)


def _send_before_everything_else() -> None:
    """Send the commands in a trip of their own before the driver does anything else, such as copying rows."""
    usual = Connection.wait

    def wait(driver: Connection[Any], *arguments: Any, **options: Any) -> Any:
        if waiting := _take(driver):
            driver.pgconn.send_query("; ".join(waiting).encode())
            for result in usual(driver, execute(driver.pgconn)):
                if result.status not in {ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK}:
                    raise error_from_result(result)
        return usual(driver, *arguments, **options)

    Connection.wait = wait  # type: ignore[method-assign, assignment]
