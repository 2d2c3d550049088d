"""Shares of things that cannot be taken back: threads that read bodies, threads that wait (D198)."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Hashable


class Shares:
    """A limited number of things. A holder gets one more only while it holds fewer than are free.

    So one holder can have half of them, two a third each, and there is always something left for the next one.
    """

    def __init__(self, total: int) -> None:
        self.total = total
        self.taken = 0
        self.refused = 0
        self._held: Counter[Hashable] = Counter()
        self._lock = threading.Lock()

    def take(self, holder: Hashable) -> bool:
        with self._lock:
            if self._held[holder] >= self.total - self.taken:
                self.refused += 1
                return False
            self._held[holder] += 1
            self.taken += 1
            return True

    def give_back(self, holder: Hashable) -> None:
        with self._lock:
            self.taken -= 1
            self._held[holder] -= 1
            if not self._held[holder]:
                del self._held[holder]
