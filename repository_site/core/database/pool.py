"""The pool of connections of a server process."""

from __future__ import annotations

import threading
import time
from typing import Any

from django.db import connections
from psycopg import Connection
from psycopg_pool import ConnectionPool, PoolTimeout

# Seconds that a request waits for a connection before it is refused (D153).
PATIENCE = 5.0
# While there is none, one request after the other tries; the others are refused at once for so long.
RESPITE = 1.0
# How long a request waits before it asks the pool once more, and how long the pool looks for a database that is away.
TURN = 1.0
# Seconds after which one that nobody has needed is closed, and then the next: firewalls forget those that are silent.
MAX_IDLE = 120.0


def enable_pool(size: int) -> None:
    """Give this process a pool of connections; a request takes one and hands it back when it is done."""
    pool = {"min_size": 1, "max_size": size, "max_idle": MAX_IDLE, "timeout": TURN, "reconnect_timeout": TURN}
    connections.settings["default"]["OPTIONS"]["pool"] = pool


class WarmPool(ConnectionPool[Connection]):
    """Hands out the connection that came back last; the driver's own would take them in turns (D164).

    The process behind that connection has just run, with plans and rows at hand. Those that nobody needs stay idle, and
    are closed after a while, the one that was used least recently first.
    """

    def _get_ready_connection(self, timeout: float | None) -> Connection | None:
        self._pool.rotate(1)
        return super()._get_ready_connection(timeout)


class Turnstile:
    """Lets requests wait for a connection while that makes sense.

    When somebody has waited in vain, all threads of the process would soon wait, one request after the other, and
    nobody would be left to say so; `/healthz` among them.
    """

    def __init__(self) -> None:
        self._closed_until = 0.0

    def pass_to(self, pool: Any) -> None:
        now = time.monotonic()
        if now < self._closed_until and not pool.get_stats()["pool_available"]:
            raise PoolTimeout("there is no connection to the database, and others wait for one already")
        if self._closed_until:
            # Whoever comes first after the respite tries; the others wait for what becomes of that.
            self._closed_until = now + RESPITE

    def close(self) -> None:
        self._closed_until = time.monotonic() + RESPITE

    def open(self) -> None:
        self._closed_until = 0.0


def renew_pool() -> None:
    """After a failure: look at the idle connections and replace the dead ones, aside from the request.

    Otherwise each of them would fail one more request; looking at each before use would cost every request.
    """
    threading.Thread(target=check_pool, daemon=True).start()


def check_pool() -> None:
    pool = getattr(connections["default"], "pool", None)
    if pool is not None:
        pool.check()
