"""Budgets of work: a token bucket of seconds for each storage and each caller (D197)."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable

from repository_site.core.environment.values import Rate

MAX_BUCKETS = 10_000
# A debt ends after this many seconds without work, whatever the work has cost.
LONGEST_DEBT = 30


class Budget:
    """Buckets of seconds that fill at `per_second` up to `burst`. Work is charged afterwards, so a level can be below
    zero. The least recently used buckets are dropped, to bound the memory. Callers hold the lock of the gate."""

    def __init__(self, rate: Rate | None, clock: Callable[[], float] = time.monotonic) -> None:
        self.rate = rate
        self._clock = clock
        self._buckets: dict[Hashable, tuple[float, float]] = {}

    def level(self, key: Hashable) -> float:
        """Return the seconds that are left; below zero for a debt."""
        if self.rate is None:
            return math.inf
        known = self._buckets.get(key)
        if known is None:
            return self.rate.burst
        return min(self.rate.burst, known[0] + (self._clock() - known[1]) * self.rate.per_second)

    def part_left(self, key: Hashable) -> float:
        """Return how much of the budget is left, from 0 to 1."""
        return 1.0 if self.rate is None else max(0.0, self.level(key) / self.rate.burst)

    def charge(self, key: Hashable, seconds: float) -> None:
        if self.rate is None:
            return
        rate, now = self.rate, self._clock()
        # It is put back at the end; the first one is the least recently used.
        level, since = self._buckets.pop(key, (rate.burst, now))
        level = min(rate.burst, level + (now - since) * rate.per_second) - seconds
        self._buckets[key] = (max(-rate.per_second * LONGEST_DEBT, level), now)
        if len(self._buckets) > MAX_BUCKETS:
            del self._buckets[next(iter(self._buckets))]

    def seconds_in_debt(self, key: Hashable) -> int:
        """Return the seconds until the debt is paid, if no more work is charged."""
        return 0 if self.rate is None else max(0, math.ceil(-self.level(key) / self.rate.per_second))
