"""Places for streams, which keep a database connection for as long as their clients read (D199)."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Hashable

from repository_site.core.fairness.gate import PATIENCE, UNKNOWN, Gate, Who

ALL_TAKEN = "Too many whole lists are being read; read pages with $page, or retry later."
RETRY_AFTER = 5


class StreamPlaces:
    """A storage that is alone can use three quarters of the places, and half of them while others are active. All
    its callers without an accepted credential together can use three quarters of these (D217)."""

    def __init__(self, total: int, gate: Gate) -> None:
        self.total = total
        self._gate = gate
        self.taken = 0
        self._held: Counter[Hashable] = Counter()
        self._changed = threading.Condition()

    def take(self, who: Who, is_accepted: bool = True) -> None:
        """Take a place, or raise TooManyRequests.

        A storage that has used its share is refused at once, which costs little. Another storage waits: the places of
        slow readers become free in time.
        """
        end = time.monotonic() + PATIENCE
        with self._changed:
            while True:
                if not self._has_share(who[0], is_accepted):
                    raise self._gate.refuse("streams", ALL_TAKEN, who, RETRY_AFTER)
                if self.taken < self.total:
                    self._count(who, is_accepted, 1)
                    break
                if not self._changed.wait(end - time.monotonic()):
                    raise self._gate.refuse("streams", ALL_TAKEN, who, RETRY_AFTER)
        self._gate.hold_connection()

    def give_back(self, who: Who, is_accepted: bool = True) -> None:
        self._gate.release_connection()
        with self._changed:
            self._count(who, is_accepted, -1)
            self._changed.notify_all()

    def _count(self, who: Who, is_accepted: bool, change: int) -> None:
        self.taken += change
        for key in (who[0],) if is_accepted else (who[0], (who[0], UNKNOWN)):
            self._held[key] += change
            if not self._held[key]:
                del self._held[key]

    def _has_share(self, storage: str, is_accepted: bool) -> bool:
        share = self._share(storage)
        if self._held[storage] >= share:
            return False
        return is_accepted or self._held[storage, UNKNOWN] < max(1, 3 * share // 4)

    def _share(self, storage: str) -> int:
        if self._gate.has_other_storages(storage):
            return max(1, self.total // 2)
        return max(1, self.total - max(1, self.total // 4))
