"""Balance of the worker processes of a server (D379).

The kernel distributes new connections to the workers by chance: of eight, one worker may get six. Their requests wait
for its Python lock while another worker has little to do. So a worker that is busier than another one for a while
closes a connection after its response, and the client opens a new one, which may reach the other worker.
"""

from __future__ import annotations

import threading
import time
from multiprocessing.sharedctypes import RawArray
from typing import Any

# Number of responses in a row for which a worker must be too busy: a moment does not count.
ENOUGH_RESPONSES = 4
# Seconds between two closed connections.
PAUSE = 0.05


class Balance:
    """The requests that each worker is answering. The counters are in memory that forked workers share."""

    def __init__(self, workers: int) -> None:
        self._busy: Any = RawArray("i", workers)
        self._own = 0
        self._others: list[int] = []
        self._lock = threading.Lock()
        self._streak, self._closed_at = 0, 0.0

    def join(self, worker: int) -> None:
        """Count the requests of this process as those of a worker, which may follow one that was killed."""
        self._own = worker
        self._others = [each for each in range(len(self._busy)) if each != worker]
        self._busy[worker] = 0

    def begin(self) -> None:
        with self._lock:
            self._busy[self._own] += 1

    def end(self) -> None:
        with self._lock:
            self._busy[self._own] -= 1

    def is_alone(self) -> bool:
        """Return whether this worker is answering exactly one request. Clients that wait for changes do not count."""
        return bool(self._busy[self._own] == 1)

    def has_too_much(self) -> bool:
        """Return whether the connection of this response should be closed."""
        busy = self._busy[self._own]
        if busy < 2 or not self._others:
            self._streak = 0
            return False
        if busy - min(self._busy[each] for each in self._others) < 2 + busy // 8:
            self._streak = 0
            return False
        with self._lock:
            self._streak += 1
            now = time.monotonic()
            if self._streak < ENOUGH_RESPONSES or now - self._closed_at < PAUSE:
                return False
            self._streak, self._closed_at = 0, now
            return True


# Made before the workers are forked.
balance = Balance(1)


def share_balance(workers: int) -> None:
    global balance
    balance = Balance(workers)
