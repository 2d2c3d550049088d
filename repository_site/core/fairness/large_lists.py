"""Turns of requests that write a large list at once (D301).

Such a request needs several times the size of its response. One of each worker at a time is enough: they would share
one interpreter anyway. Storages take turns. Streams and small responses need no turn.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from repository_site.core.fairness.gate import Ticket
from repository_site.core.problems import TooManyRequests

# Bytes of a list that may be written without a turn.
LARGE = 4 * 1024 * 1024
# Seconds that a request waits for its turn: it has a snapshot and a place already, and each turn takes about a second.
PATIENCE = 15.0
RETRY_AFTER = 2
OTHERS_FIRST = "Other large lists are written first; ask for a smaller page with $pageSize, or try again in 2 seconds."
T = TypeVar("T")


class TurnTaken(Exception):
    """Another request has the turn. Whatever was written is given up before waiting, to free its memory."""


class LargeLists(threading.local):
    """The request of this thread, and whether it has the turn."""

    def __init__(self, turns: Turns) -> None:
        self.turns = turns
        self.ticket: Ticket | None = None
        self.has_turn = False

    @contextmanager
    def request(self, ticket: Ticket) -> Iterator[None]:
        """Run a request. It keeps its turn until the end, when its response is compressed."""
        self.ticket = ticket
        try:
            yield
        finally:
            self.ticket = None
            self._give_back()

    def claim(self) -> None:
        """Take the turn, or raise TurnTaken. A change never waits: it has locked what it has changed."""
        if self.has_turn or self.ticket is None or not self.ticket.only_reads:
            return
        if not self.turns.take_now():
            raise TurnTaken
        self.has_turn = True

    def write(self, write: Callable[[], T]) -> T:
        """Return what `write` returns. If it claims the turn in vain, call it again when its turn has come."""
        try:
            try:
                return write()
            except TurnTaken:
                pass
            self._wait()
            return write()
        except BaseException:
            # Such as a list that has to be streamed.
            self._give_back()
            raise

    def _wait(self) -> None:
        assert self.ticket is not None  # noqa: S101  only a request can claim a turn
        self.has_turn = self.turns.wait(self.ticket.storage)
        if not self.has_turn:
            raise TooManyRequests(OTHERS_FIRST, RETRY_AFTER)

    def _give_back(self) -> None:
        if self.has_turn:
            self.has_turn = False
            self.turns.give_back()


class Turns:
    def __init__(self, patience: float = PATIENCE) -> None:
        self.patience = patience
        self._lock = threading.Lock()
        self._is_taken = False
        # Waiting threads by storage; the first storage is next.
        self._lines: dict[str, deque[threading.Lock]] = {}

    def take_now(self) -> bool:
        with self._lock:
            if self._is_taken:
                return False
            self._is_taken = True
            return True

    def wait(self, storage: str) -> bool:
        """Wait for the turn, and return whether it came."""
        with self._lock:
            if not self._is_taken:
                self._is_taken = True
                return True
            came = threading.Lock()
            came.acquire()
            self._lines.setdefault(storage, deque()).append(came)
        if came.acquire(timeout=self.patience):
            return True
        with self._lock:
            line = self._lines.get(storage, deque())
            if came not in line:
                # It came at the last moment.
                return True
            line.remove(came)
            if not line:
                del self._lines[storage]
            return False

    def give_back(self) -> None:
        """Give the turn to the storage that has waited for it longest."""
        with self._lock:
            if not self._lines:
                self._is_taken = False
                return
            storage = next(iter(self._lines))
            line = self._lines.pop(storage)
            line.popleft().release()
            if line:
                self._lines[storage] = line


large_lists = LargeLists(Turns())
