"""Errors of lost connections (D230), and of the nodes of a distributed database, which Citus raises as internal errors
(D256, D306).

If a node refuses a commit, Citus reports its error as a warning, and then raises one that names only a shard. If a node
is lost while it runs a statement, the error has the text of the driver and the context of the node.
"""

from __future__ import annotations

from typing import Any

from django.db import IntegrityError, OperationalError
from django.db.utils import DatabaseError, DatabaseErrorWrapper
from psycopg.errors import (
    Diagnostic,
    Error,
    InternalError_,
    ReadOnlySqlTransaction,
    SerializationFailure,
    UndefinedTable,
)

REFUSED = (
    "could not commit transaction for shard",
    "failure on connection marked as essential",
    "failed to prepare transaction",
)
# A process of the coordinator that waits for a node notices that the coordinator has ended.
ENDED = "postmaster was shut down"
# While shards move, the coordinator can see the tables of a storage on two nodes for a moment, or a statement that it
# has planned before finds a shard that no longer exists.
MOVED = ("the query contains a join that requires repartitioning", "could not find valid entry for shard")
SPLIT = "shard for the given value does not exist"
# Begin of the context of an error that Citus got from a node.
ON_NODE = "while executing command on "
# Each connection keeps the last violated constraint under this name.
WARNINGS = "warnings_of_nodes"
# First characters of the codes of violated constraints.
VIOLATION = "23"


class ShardMoved(OperationalError):
    """A statement has met a shard at the moment of its move to another node. The next transaction finds it."""


class NodeWarnings:
    """Remembers which constraint a node has found violated."""

    __slots__ = ("violated",)

    def __init__(self) -> None:
        self.violated = ""

    def __call__(self, notice: Diagnostic) -> None:
        if (notice.sqlstate or "").startswith(VIOLATION):
            self.violated = notice.message_primary or ""


def follow_nodes(driver: Any) -> None:
    """Remember the warnings of a new connection."""
    driver.__dict__[WARNINGS] = NodeWarnings()
    driver.add_notice_handler(driver.__dict__[WARNINGS])


def error_of_node(driver: Any, problem: Error) -> DatabaseError | None:
    """Return the error that PostgreSQL would have raised; None if the problem is another one.

    Without a violated constraint the node was lost: the database is unavailable.
    """
    if _has_moved(problem):
        return ShardMoved(*problem.args)
    warnings = driver.__dict__.get(WARNINGS)
    if warnings is None or not isinstance(problem, InternalError_):
        return None
    if _is_of_node(problem) or str(problem).startswith(ENDED):
        return OperationalError(*problem.args)
    if not str(problem).startswith(REFUSED):
        return None
    violated, warnings.violated = warnings.violated, ""
    return IntegrityError(violated) if violated else OperationalError(*problem.args)


def _has_moved(problem: Error) -> bool:
    if isinstance(problem, UndefinedTable):
        return _is_of_node(problem)
    if isinstance(problem, SerializationFailure):
        return str(problem).startswith(SPLIT)
    return isinstance(problem, InternalError_) and str(problem).startswith(MOVED)


def _is_of_node(problem: Error) -> bool:
    return (problem.diag.context or "").startswith(ON_NODE)


class DriverErrors(DatabaseErrorWrapper):
    """Converts the errors of the driver to Django's. A lost connection, or one that cannot write, is an
    `OperationalError`, whatever the driver calls it: the database is unavailable (D230).

    After a fail-over, connections end in several ways, and a new one may lead to a standby.
    """

    wrapper: Any

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, trace: Any) -> None:
        if problem is None:
            return
        if isinstance(problem, Error) and self.wrapper.connection is not None:
            if self._is_lost(problem):
                raise OperationalError(*problem.args).with_traceback(trace) from problem
            if error := error_of_node(self.wrapper.connection, problem):
                raise error.with_traceback(trace) from problem
        super().__exit__(kind, problem, trace)

    def _is_lost(self, problem: Error) -> bool:
        connection = self.wrapper.connection
        # A write in a transaction that we began as read-only is a mistake of ours, and stays an internal error.
        if isinstance(problem, ReadOnlySqlTransaction) and connection is not self.wrapper.reading:
            connection.close()
        return bool(connection.closed)
