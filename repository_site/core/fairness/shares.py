"""Shares of things that cannot be taken back: threads that read bodies, threads that wait (D198)."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Hashable


class Shares:
    """A limited number of things. A holder gets one more only while it holds fewer than are free.

    So one holder can have half of them, two a third each, and there is always something left for the next one. A part
    of a holder, such as a caller of a storage, gets at most three quarters of what its holder could have.
    """

    def __init__(self, total: int) -> None:
        self.total = total
        self.taken = 0
        self.refused = 0
        self._held: Counter[Hashable] = Counter()
        self._changed = threading.Condition(threading.Lock())

    def take(self, holder: Hashable, *parts: Hashable, within: float = 0) -> bool:
        """Take one if the holder gets it within these seconds, and return whether it did."""
        keys = [(holder, part) for part in parts]
        with self._changed:
            may_take = self._may_take(holder, keys)
            if not may_take and within:
                may_take = self._changed.wait_for(lambda: self._may_take(holder, keys), within)
            if not may_take:
                self.refused += 1
                return False
            self._held.update((holder, *keys))
            self.taken += 1
            return True

    def _may_take(self, holder: Hashable, keys: list[tuple[Hashable, Hashable]]) -> bool:
        free = self.total - self.taken
        return self._held[holder] < free and all(8 * self._held[key] < 3 * (free + self._held[key]) for key in keys)

    def give_back(self, holder: Hashable, *parts: Hashable) -> None:
        with self._changed:
            self.taken -= 1
            for key in (holder, *((holder, part) for part in parts)):
                self._held[key] -= 1
                if not self._held[key]:
                    del self._held[key]
            self._changed.notify_all()
