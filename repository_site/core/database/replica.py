"""Reads from a replica (D238), if `DATABASE_REPLICA_URL` names one.

While a thread reads from the replica, its `connections["default"]` is the connection to the replica. So the ORM,
transactions, tenant scopes and the statement layer need no second way, and reads from the primary cost nothing more.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import structlog
from django.db import DEFAULT_DB_ALIAS, InterfaceError, OperationalError, connections
from psycopg.errors import DeadlockDetected, QueryCanceled, SerializationFailure
from psycopg_pool import PoolTimeout

from repository_site.core.database.held_connections import as_default
from repository_site.core.database.pool import REPLICA, check_pool
from repository_site.core.problems import Invalid

# The preference of a request, in the header `Prefer`.
PREFERENCE = "replica"
# Seconds in which no request tries a replica that has failed.
RESPITE = 10.0
# Seconds that a command waits until the replica has everything that the primary had when the command began.
CATCH_UP_SECONDS = 30.0
# PostgreSQL cancels a statement of a replica that keeps it from replaying changes. The next one may succeed.
CONFLICTS = (SerializationFailure, DeadlockDetected)
CAUGHT_UP_SQL = "SELECT NOT pg_is_in_recovery() OR pg_last_wal_replay_lsn() >= %s::pg_lsn"
log = structlog.get_logger("replica")
_away_until = 0.0
_outcomes: Counter[str] = Counter()
_lock = threading.Lock()


class ReplicaUnavailable(Exception):
    """The replica failed, or is not tried after a failure: the primary must answer."""


class ReplicaBehind(Exception):
    """The replica does not have the state of the primary: the primary must answer."""


def has_replica() -> bool:
    return REPLICA in connections.settings


def count_outcome(outcome: str) -> None:
    """Count a request that allowed the replica, for metrics: answered, behind or unavailable."""
    with _lock:
        _outcomes[outcome] += 1


def take_outcomes() -> Counter[str]:
    """Return the counts of this process since the last call."""
    global _outcomes
    with _lock:
        taken, _outcomes = _outcomes, Counter()
    return taken


@contextmanager
def reading_from_replica() -> Iterator[None]:
    """Send all statements of this thread to the replica. Raise ReplicaUnavailable instead of its failures.

    A statement that exceeds its timeout is not a failure: the primary would take as long.
    """
    global _away_until
    if time.monotonic() < _away_until:
        raise ReplicaUnavailable
    try:
        with replica_as_default():
            yield
    except (OperationalError, InterfaceError, PoolTimeout) as problem:
        if isinstance(problem.__cause__, QueryCanceled):
            raise
        if not isinstance(problem.__cause__, CONFLICTS):
            _away_until = time.monotonic() + RESPITE
            log.warning("replica unavailable", problem=" ".join(str(problem).split()))
            threading.Thread(target=check_pool, args=(REPLICA,), daemon=True).start()
        raise ReplicaUnavailable from problem


@contextmanager
def reading_for_command(*, from_replica: bool, say: Callable[[str], object]) -> Iterator[None]:
    """Let a command read from the replica as soon as it has all that the primary has now; else from the primary."""
    if from_replica and not has_replica():
        raise Invalid("--replica: no replica is known. Set DATABASE_REPLICA_URL.")
    problem = catch_up() if from_replica else ""
    if problem:
        say(f"{problem} The command reads from the primary.")
    if from_replica and not problem:
        with replica_as_default():
            yield
    else:
        yield


def catch_up(seconds: float = CATCH_UP_SECONDS) -> str:
    """Wait until the replica has replayed what the primary has written. Return why that failed, or an empty text."""
    with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
        cursor.execute("SELECT pg_current_wal_lsn()::text")
        [written] = cursor.fetchone() or [""]
    end = time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            with connections[REPLICA].cursor() as cursor:
                cursor.execute(CAUGHT_UP_SQL, [written])
                if (cursor.fetchone() or [False])[0]:
                    return ""
            time.sleep(0.1)
    except (OperationalError, InterfaceError) as problem:
        return f"The replica is unreachable: {' '.join(str(problem).split())}."
    return f"The replica has not caught up within {seconds:.0f} seconds."


def replica_as_default() -> AbstractContextManager[None]:
    """Exchange the default connection of this thread for that of the replica. A stream keeps it."""
    return as_default(connections[REPLICA])
