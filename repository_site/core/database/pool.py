"""The connection pool of a server process."""

from __future__ import annotations

import select
import threading
import time
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connection, connections
from psycopg import Connection, OperationalError
from psycopg.generators import fetch_many
from psycopg.pq import ExecStatus
from psycopg_pool import ConnectionPool, PoolTimeout
from psycopg_pool.pool import ReturnConnection

# Alias of the replica, if there is one (D238).
REPLICA = "replica"
# Seconds that a request waits for a connection before it is refused (D153).
PATIENCE = 5.0
# The same for a connection to the replica, whose requests the primary can answer.
REPLICA_PATIENCE = 0.5
# While no connection is available, one request tries, and the others are refused at once, for this long.
RESPITE = 1.0
# Seconds until a request asks the pool again, and for which the pool tries to reach an unreachable database.
TURN = 1.0
# Seconds after which an idle connection is closed: firewalls forget idle connections.
MAX_IDLE = 120.0
# Of what PostgreSQL has sent to an idle connection, until it counts as closed. The reason of an end takes one or two.
MOST_READS = 5


def enable_pool(size: int) -> None:
    """Give this process a connection pool for each database. A request takes a connection and returns it at its end.

    Call this before the first use of a database. Only threads may use a database, not coroutines (D612).
    """
    connections._connections = threading.local()  # type: ignore[attr-defined]  # the stubs do not know it
    for alias, database in connections.settings.items():
        turn = TURN if alias == DEFAULT_DB_ALIAS else REPLICA_PATIENCE
        pool = {"min_size": 1, "max_size": size, "max_idle": MAX_IDLE, "timeout": turn, "reconnect_timeout": TURN}
        database["OPTIONS"]["pool"] = pool


def release_connection() -> None:
    """Return the connection of this thread to the pool before the end of the request. The next statement takes one
    again."""
    if connection.settings_dict["OPTIONS"].get("pool") and not connection.in_atomic_block:
        connection.close()


class PooledConnection(Connection[Any]):
    """A connection that can end a read without waiting for the database (D609).

    Everything that uses the connection calls `wait`, which reads the result of the COMMIT first.
    """

    is_ending = False

    def end_reading(self) -> None:
        """Send COMMIT. It has nothing to write, so nothing depends on its result."""
        with self.lock:
            self.pgconn.send_query(b"COMMIT")
            self.is_ending = True

    def finish(self) -> None:
        """Read the result of the COMMIT. A connection that failed meanwhile is closed, and the pool replaces it."""
        if not self.is_ending:
            return
        self.is_ending = False
        try:
            results = super().wait(fetch_many(self.pgconn))
        except OperationalError:
            results = []
        if [each.status for each in results] != [ExecStatus.COMMAND_OK]:
            self.close()

    def wait(self, *arguments: Any, **options: Any) -> Any:
        if self.is_ending:
            self.finish()
        return super().wait(*arguments, **options)


class WarmPool(ConnectionPool[PooledConnection]):
    """Hands out the connection that was returned last; the pool of the driver takes turns (D164).

    The PostgreSQL process of that connection has plans and rows in its caches. Unneeded connections stay idle and are
    closed after a while, the least recently used one first. A connection that the database has closed is replaced.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(connection_class=PooledConnection, **options)

    def putconn(self, conn: PooledConnection) -> None:
        conn.finish()
        super().putconn(conn)

    def _get_ready_connection(self, timeout: float | None) -> PooledConnection | None:
        self._pool.rotate(1)
        while self._pool and is_closed_by_server(self._pool[0]):
            # By another thread, since this one holds the lock of the pool.
            self.run_task(ReturnConnection(self, self._pool.popleft(), from_getconn=True))
            self._pool.rotate(1)
        return super()._get_ready_connection(timeout)

    @staticmethod
    def check_connection(conn: Connection) -> None:
        """Raise if an idle connection is dead or leads to a standby, which after a fail-over is of no use (D230)."""
        row = conn.execute("SELECT pg_is_in_recovery()").fetchone()
        if row == (True,):
            conn.close()
            raise OperationalError("the connection leads to a standby")


class ReplicaPool(WarmPool):
    """Connections to the replica, which is a standby."""

    check_connection = staticmethod(ConnectionPool.check_connection)


def is_closed_by_server(idle: Connection) -> bool:
    """Return whether the end of an idle connection has arrived here, as after a restart of the database (D153).

    Asks the operating system, not the database. PostgreSQL also sends notices and changed parameters, which are read.
    """
    try:
        arrived = select.poll()
        arrived.register(idle.fileno(), select.POLLIN)
        for _ in range(MOST_READS):
            if not arrived.poll(0):
                return False
            idle.pgconn.consume_input()
    except OperationalError:
        pass
    return True


class Turnstile:
    """Lets requests wait for a connection, until one of them has waited in vain.

    Otherwise all threads of the process would soon wait, and none would be left to answer, not even for `/healthz`.
    """

    def __init__(self) -> None:
        self._closed_until = 0.0

    def pass_to(self, pool: Any) -> None:
        now = time.monotonic()
        if now < self._closed_until and not pool.get_stats()["pool_available"]:
            raise PoolTimeout("no database connection is available, and other requests already wait for one")
        if self._closed_until:
            # The first request after the respite tries; the others are refused until it has succeeded.
            self._closed_until = now + RESPITE

    def close(self) -> None:
        self._closed_until = time.monotonic() + RESPITE

    def open(self) -> None:
        self._closed_until = 0.0


def renew_pool() -> None:
    """Check the idle connections in a thread after a failure, and replace the dead ones.

    The end of some never arrives, as when a machine is lost, and some lead to a standby. Each would fail one more
    request. A trip before each use would cost every request.
    """
    threading.Thread(target=check_pool, daemon=True).start()


def check_pool(alias: str = DEFAULT_DB_ALIAS) -> None:
    pool = getattr(connections[alias], "pool", None)
    if pool is not None:
        pool.check()
