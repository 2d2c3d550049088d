"""Runs statements that a connection has prepared, by the driver's functions for libpq and without its cursors (D213).

A cursor costs three times as much as everything else that the client does for a statement that finds a few rows. The
driver still prepares the statements, forgets them, and runs whatever is not prepared yet.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from psycopg import Connection
from psycopg._queries import _query2pg_nocache
from psycopg.abc import PQGen, Transformer
from psycopg.adapt import PyFormat
from psycopg.adapt import Transformer as DriverTransformer
from psycopg.errors import InternalError, error_from_result
from psycopg.generators import fetch_many, send
from psycopg.pq import ExecStatus, Format, TransactionStatus

Parameters = Sequence[Any] | Mapping[str, Any]
Row = tuple[Any, ...]
Statement = tuple[str, Parameters]
# Name of the prepared statement, values and their formats.
Command = tuple[bytes, Sequence[Any], Sequence[Format] | None]
# Each connection keeps its transformer, which knows the types of values, under this name.
TRANSFORMER = "transformer_of_prepared_statements"
# Texts of statements whose placeholders are known.
MOST_TEXTS = 1_000
# Seconds for which a thread polls for a result before it sleeps (D652).
ATTENTION = 0.0003
# A poll that takes longer than LOST seconds shows that other processes need the core: threads then do not poll for REST
# seconds.
LOST, REST = 0.0005, 1.0


class Attention(threading.local):
    """CPU seconds that this thread has spent polling for results."""

    seconds = 0.0

    def pay(self, driver: Connection[Any]) -> None:
        """Poll for the result for a moment, if this process answers no other request and has the core to itself."""
        global resting_until
        now = time.perf_counter()
        if now < resting_until or not is_alone():
            return
        pgconn, end, cpu = driver.pgconn, now + ATTENTION, time.thread_time()
        pgconn.consume_input()
        while pgconn.is_busy() and now < end:
            # The database may need this core.
            os.sched_yield()
            before, now = now, time.perf_counter()
            if now - before > LOST:
                resting_until = now + REST
            pgconn.consume_input()
        self.seconds += time.thread_time() - cpu


def _never() -> bool:
    return False


attention = Attention()
is_alone: Callable[[], bool] = _never
resting_until = 0.0


def pay_attention(while_alone: Callable[[], bool]) -> None:
    """Let threads of this process poll for a result if the function returns True when they begin to wait."""
    global is_alone
    is_alone = while_alone


def run_prepared(
    driver: Connection[Any], statements: Sequence[Statement], meanwhile: Callable[[], object] | None = None
) -> list[list[Row]] | None:
    """Run statements in one trip, and begin the transaction in the same trip if it has not begun. Return their rows,
    or None if the driver has not prepared all of them and must run them itself.

    `meanwhile` runs while the database works.
    """
    if getattr(driver, "is_ending", False):
        driver.finish()  # type: ignore[attr-defined]  # of the pool
    values: Transformer = driver.__dict__.get(TRANSFORMER) or driver.__dict__.setdefault(
        TRANSFORMER, DriverTransformer(driver)
    )
    commands = []
    for statement in statements:
        command = _command(driver, values, *statement)
        if command is None:
            return None
        commands.append(command)
    begins = not driver.autocommit and driver.pgconn.transaction_status == TransactionStatus.IDLE
    with driver.lock:
        if len(commands) == 1 and not begins and meanwhile is None:
            _send(driver, commands[0])
            driver.wait(send(driver.pgconn))
            attention.pay(driver)
            results = driver.wait(fetch_many(driver.pgconn))
        else:
            results = _run_together(driver, commands, begins, meanwhile)
    try:
        return [_rows(values, result) for result in results][-len(commands) :]
    finally:
        # Otherwise the connection would keep the last result in memory.
        values.set_pgresult(None)


@lru_cache(MOST_TEXTS)
def _placeholders(sql: str) -> tuple[bytes, tuple[PyFormat, ...], tuple[str, ...] | None]:
    """Return the text for PostgreSQL, the formats of the values, and the names of named values."""
    text, formats, names, _ = _query2pg_nocache(sql.encode(), "utf-8")
    return text, tuple(formats or ()), None if names is None else tuple(names)


def _command(driver: Connection[Any], values: Transformer, sql: str, parameters: Parameters) -> Command | None:
    text, formats, names = _placeholders(sql)
    # Most parameters are lists, and checking for a mapping takes longer.
    if not isinstance(parameters, list) and isinstance(parameters, Mapping):
        if names is None:
            return None
        parameters = [parameters[name] for name in names]
    if len(parameters) != len(formats):
        return None
    dumped = values.dump_sequence(parameters, formats)
    known, key = driver._prepared._names, (text, values.types or ())
    name = known.get(key)
    if name is None:
        return None
    # The driver forgets the statement that was not used for the longest time.
    known.move_to_end(key)
    return name, dumped, values.formats


def _send(driver: Connection[Any], command: Command) -> None:
    name, values, formats = command
    driver.pgconn.send_query_prepared(name, values, param_formats=formats, result_format=Format.BINARY)


def _run_together(
    driver: Connection[Any], commands: Sequence[Command], begins: bool, meanwhile: Callable[[], object] | None
) -> list[Any]:
    pgconn = driver.pgconn
    pgconn.enter_pipeline_mode()
    try:
        if begins:
            pgconn.send_query_params(driver._get_tx_start_command(), None)
        for command in commands:
            _send(driver, command)
        pgconn.pipeline_sync()
        driver.wait(send(pgconn))
        try:
            if meanwhile is not None:
                meanwhile()
            attention.pay(driver)
        finally:
            results = driver.wait(_fetch_all(driver, len(commands) + begins))
            pgconn.exit_pipeline_mode()
    except BaseException:
        if not driver.closed and pgconn.pipeline_status:
            # It is unknown which results are still to come.
            driver.close()
        raise
    return results


def _fetch_all(driver: Connection[Any], count: int) -> PQGen[list[Any]]:
    found = []
    for _ in range(count):
        found.extend((yield from fetch_many(driver.pgconn)))
    # The end of the trip.
    yield from fetch_many(driver.pgconn)
    return found


def _rows(values: Transformer, result: Any) -> list[Row]:
    if result.status == ExecStatus.TUPLES_OK:
        values.set_pgresult(result)
        return values.load_rows(0, result.ntuples, tuple)
    if result.status == ExecStatus.COMMAND_OK:
        return []
    if result.status == ExecStatus.FATAL_ERROR:
        raise error_from_result(result, encoding=values.encoding)
    raise InternalError(f"unexpected result of a prepared statement: {ExecStatus(result.status).name}")


class Preparing:
    """Lets the driver prepare a statement that is sent a second time, unless the settings forbid it (D231).

    Not for all statements: it would keep the last hundred of those with values in their texts. Not a generator: every
    request enters this several times.
    """

    __slots__ = ("wrapper",)

    def __init__(self, wrapper: Any) -> None:
        self.wrapper = wrapper

    def __enter__(self) -> None:
        if self.wrapper.connection is None:
            self.wrapper.ensure_connection()
        self.wrapper.connection.prepare_threshold = self.wrapper.threshold

    def __exit__(self, *error: object) -> None:
        if self.wrapper.connection is not None:
            self.wrapper.connection.prepare_threshold = None
