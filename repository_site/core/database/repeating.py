"""Repetition of a transaction that failed for a reason that is over when it runs again (D308).

The failed transaction is rolled back, so a repetition does no harm. Without a failure it costs nothing.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TypeVar

import structlog
from django.conf import settings
from django.db import NotSupportedError, OperationalError, ProgrammingError, connection
from psycopg.errors import DatatypeMismatch, DeadlockDetected, LockNotAvailable

from repository_site.core.database.commits import ShardMoved
from repository_site.core.database.statements import engine

T = TypeVar("T")
log = structlog.get_logger("database")
# A migration may change several tables, one after the other, while a request is answered.
ATTEMPTS = 5
# More than a pool has connections.
MOST_REPLACED = 100
# Seconds between two attempts.
PAUSE = (0.01, 0.2)


def repeated(work: Callable[[], T], away: Callable[[], AbstractContextManager[object]] = nullcontext) -> T:
    """Return the result of `work`, a whole transaction. Run it again

    - if a migration has changed a table of a statement that this connection had prepared, or a column of a trigger that
      it had compiled (D155),
    - after a deadlock with another transaction,
    - if a shard has moved to another node, or is moving there and cannot be written yet.

    A transaction that waits for the end of a move is repeated for as long as a statement may take. `away` is entered
    while nothing is done, and can give back what others need.
    """
    failures, replaced, end = 0, 0, 0.0
    while True:
        try:
            return work()
        except NotSupportedError:
            failures += 1
            if connection.in_atomic_block or failures >= ATTEMPTS:
                raise
            engine().forget_plans()
        except ProgrammingError as problem:
            is_outdated = isinstance(problem.__cause__, DatatypeMismatch)
            if not is_outdated or connection.in_atomic_block or replaced >= MOST_REPLACED:
                raise
            # The session has compiled a trigger for another type of a column. The pool replaces the connection, but the
            # next one may be as old.
            replaced, failures = replaced + 1, 0
            connection.connection.close()
            connection.close()
        except OperationalError as problem:
            if is_waiting_for_move(problem):
                # Not a failure: at the end of a long wait, the transaction may still meet the moved shard.
                end = end or time.monotonic() + settings.STATEMENT_TIMEOUT
                has_chance = time.monotonic() < end
            else:
                failures += 1
                has_chance = _is_over(problem) and failures < ATTEMPTS
            if not has_chance:
                raise
            log.info("transaction repeated", problem=str(problem).partition("\n")[0])
            with away():
                time.sleep(random.uniform(*PAUSE))  # noqa: S311  not a secret


def is_waiting_for_move(problem: OperationalError) -> bool:
    """Return whether a scope on a distributed database has waited in vain for a lock of the coordinator."""
    return isinstance(problem.__cause__, LockNotAvailable) and engine().is_distributed


def _is_over(problem: OperationalError) -> bool:
    return isinstance(problem, ShardMoved) or isinstance(problem.__cause__, DeadlockDetected)
