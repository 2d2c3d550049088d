"""Places for streams, which keep a database connection for as long as their clients read (D199)."""

from __future__ import annotations

import threading
import time
from collections import Counter

from repository_site.core.fairness.gate import PATIENCE, Gate, Who

ALL_TAKEN = "Too many whole lists are being read; read pages with $page, or retry later."
RETRY_AFTER = 5


class StreamPlaces:
    """A storage that is alone can use three quarters of the places, and half of them while others are active."""

    def __init__(self, total: int, gate: Gate) -> None:
        self.total = total
        self._gate = gate
        self._held: Counter[str] = Counter()
        self._changed = threading.Condition()

    def take(self, who: Who) -> None:
        """Take a place, or raise TooManyRequests.

        A storage that has used its share is refused at once, which costs little. Another storage waits: the places of
        slow readers become free in time.
        """
        storage, end = who[0], time.monotonic() + PATIENCE
        with self._changed:
            while True:
                if self._held[storage] >= self._share(storage):
                    raise self._gate.refuse("streams", ALL_TAKEN, who, RETRY_AFTER)
                if self._held.total() < self.total:
                    self._held[storage] += 1
                    break
                if not self._changed.wait(end - time.monotonic()):
                    raise self._gate.refuse("streams", ALL_TAKEN, who, RETRY_AFTER)
        self._gate.hold_connection()

    def give_back(self, who: Who) -> None:
        self._gate.release_connection()
        with self._changed:
            self._held[who[0]] -= 1
            if not self._held[who[0]]:
                del self._held[who[0]]
            self._changed.notify_all()

    def _share(self, storage: str) -> int:
        if self._gate.has_other_storages(storage):
            return max(1, self.total // 2)
        return max(1, self.total - max(1, self.total // 4))
