"""Prepares the statements of a process in its new connections, before a request gets them (D300).

A new PostgreSQL process knows no table and no plan: its first request would take five times as long as the next ones.
Only texts of statements are remembered, never values, and no statement runs: the connection is in no scope meanwhile.
"""

from __future__ import annotations

from itertools import takewhile
from typing import Any

from psycopg import Connection
from psycopg.pq import DiagnosticField, ExecStatus
from psycopg.pq.abc import PGresult

Key = tuple[bytes, tuple[int, ...]]
"""Text of a statement, and the types of its values, as the driver knows them."""
# The statements that were prepared last. Each takes the database a millisecond.
MOST = 40
# A migration may have locked a table.
BEGIN = b"BEGIN READ ONLY; SET LOCAL lock_timeout = '500ms'"
# A PgBouncer gives prepared statements names of its own: later connections need not try to plan.
UNKNOWN_NAME = b"26000"


class HotStatements:
    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._keys: dict[Key, None] = {}
        self._can_plan = True

    def note(self, driver: Connection[Any]) -> None:
        """Remember what a connection has prepared. Called when it has just prepared something, which is rare."""
        found: dict[Key, None] = dict.fromkeys(driver._prepared._names)
        merged = [*(each for each in self._keys if each not in found), *found]
        # One assignment, so that threads need no lock. At worst a statement is forgotten.
        self._keys = dict.fromkeys(merged[-self._most :])

    def warm(self, driver: Connection[Any], *, plan: bool) -> None:
        """Prepare the statements in a new connection, and let the database plan them."""
        if not self._keys:
            return
        run = driver.pgconn.exec_
        run(BEGIN)
        try:
            known = list(self._keys)
            prepared = list(takewhile(bool, (_prepare(driver, key) for key in known)))
            if len(prepared) < len(known):
                # A table of this one has changed, or is locked. The others follow when they are used.
                self._keys = {key: None for key in self._keys if key != known[len(prepared)]}
            elif plan and self._can_plan:
                self._can_plan = _state_of(run(_plans(prepared, known))) != UNKNOWN_NAME
        finally:
            # Prepared statements stay.
            run(b"ROLLBACK")


def _prepare(driver: Connection[Any], key: Key) -> bytes:
    """Prepare a statement as the driver would. Return its name, or nothing if that has failed."""
    manager = driver._prepared
    name = f"_pg3_{manager._prepared_idx}".encode()
    if driver.pgconn.prepare(name, *key).status != ExecStatus.COMMAND_OK:
        return b""
    manager._prepared_idx += 1
    manager._names[key] = name
    return name


def _plans(names: list[bytes], keys: list[Key]) -> bytes:
    """Return a text that makes the generic plans, which requests use, and runs nothing."""
    values = (b"(%s)" % b",".join([b"NULL"] * len(types)) if types else b"" for _, types in keys)
    plans = (b"EXPLAIN EXECUTE %s%s;" % pair for pair in zip(names, values, strict=True))
    return b"SET LOCAL plan_cache_mode = force_generic_plan;" + b"".join(plans)


def _state_of(result: PGresult) -> bytes | None:
    return result.error_field(DiagnosticField.SQLSTATE) if result.status == ExecStatus.FATAL_ERROR else None
