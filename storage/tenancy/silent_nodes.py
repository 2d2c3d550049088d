"""Nodes of a cluster that do not answer (D309). A thread asks them once a statement has waited for seconds, and goes on
until all answer. Meanwhile requests to their storages are refused at once, so that they do not take the connections of
others."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import structlog
from django.db import DEFAULT_DB_ALIAS, OperationalError, connection, connections
from psycopg import Connection, Error
from psycopg import OperationalError as Lost

from repository_site.core.database.servers import CONNECT_SECONDS
from repository_site.core.database.silence import Listener, listening
from repository_site.core.database.statements import engine
from storage.tenancy.nodes import SILENCE, silent_storages

# Seconds of a statement after which the nodes are asked, and between two questions.
SUSPICION = PAUSE = 2.0
# Seconds beyond the timeout of a statement, after which the database must have cancelled it.
MARGIN = 2.0
# Seconds for the coordinator to tell about all nodes. It waits for one after the other.
LONGEST_QUESTION = 60.0
NO_ANSWER = "the node of the storage does not answer"
NO_ANSWER_OF_NODES = "a node of the database does not answer"
log = structlog.get_logger("nodes")


class SilentNodes:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._asked = float("-inf")
        self.storages: frozenset[str] = frozenset()
        """Ids of the storages whose nodes do not answer."""

    def refuse(self, storage: str) -> None:
        if storage in self.storages:
            raise OperationalError(NO_ANSWER)

    def listener(self, storage: str, timeout: int | None) -> Listener:
        """Return the function that ends the statements of a storage whose node does not answer, and all statements that
        the database does not end although their time is over."""
        return partial(self._hear_nothing, storage, timeout)

    def _hear_nothing(self, storage: str, timeout: int | None, seconds: float) -> None:
        if storage in self.storages or (timeout and seconds > timeout + MARGIN):
            raise Lost(NO_ANSWER)
        if seconds > SUSPICION:
            self._ask()

    def hear_nothing_anywhere(self, seconds: float) -> None:
        """End a statement outside a storage that has waited while a node does not answer: it may need all nodes."""
        if seconds > SUSPICION:
            if self.storages:
                raise Lost(NO_ANSWER_OF_NODES)
            self._ask()

    def _ask(self) -> None:
        with self._lock:
            is_asking = self._thread is not None and self._thread.is_alive()
            if is_asking or time.monotonic() < self._asked + PAUSE:
                return
            self._thread = threading.Thread(target=self._watch, daemon=True)
            self._thread.start()

    def _watch(self) -> None:
        try:
            while self._find_again():
                # With many storages, finding those of the nodes takes time. Waiting for a node costs nothing.
                time.sleep(max(PAUSE, 5 * (time.monotonic() - self._asked - SILENCE / 1000)))
        finally:
            # A request that is refused at once does not start this thread again.
            self.storages = frozenset()

    def _find_again(self) -> frozenset[str]:
        self._asked = time.monotonic()
        before, self.storages = self.storages, _find()
        if before != self.storages:
            log.warning("storages of nodes that do not answer", count=len(self.storages))
        return self.storages


def _find() -> frozenset[str]:
    """Ask over a connection of its own: requests that wait for the nodes may have all of the pool."""
    parameters: dict[str, Any] = connections[DEFAULT_DB_ALIAS].get_connection_params()
    try:
        with (
            Connection.connect(**{**parameters, "connect_timeout": CONNECT_SECONDS, "autocommit": True}) as server,
            listening(server, _give_up),
        ):
            return silent_storages(server)
    except Error as problem:
        log.warning("nodes cannot be asked", problem=" ".join(str(problem).split()))
        return frozenset()


def _give_up(seconds: float) -> None:
    if seconds > LONGEST_QUESTION:
        raise Lost("the coordinator does not answer")


silent_nodes = SilentNodes()


@contextmanager
def listening_to_all_nodes() -> Iterator[None]:
    """Give up statements outside a storage that would wait forever for a node of a cluster (D309)."""
    if not engine().is_distributed:
        yield
        return
    connection.ensure_connection()
    with listening(connection.connection, silent_nodes.hear_nothing_anywhere):
        yield
