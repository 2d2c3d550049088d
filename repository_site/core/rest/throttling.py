"""Throttling (D28): a token bucket for each API token and each anonymous address.

Each server process has its own buckets, so N processes allow at most N times the configured rate. That avoids a shared
store on the hot path.
"""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

from repository_site.core.environment.values import Rate
from repository_site.core.problems import TooManyRequests

MAX_BUCKETS = 10_000


class Throttle:
    """Buckets that fill at `per_second` up to `burst`. The least recently used are dropped, to bound the memory."""

    def __init__(self, rate: Rate | None, clock: Callable[[], float] = time.monotonic) -> None:
        self.rate = rate
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, key: str) -> None:
        """Count a request, or raise TooManyRequests with the seconds until the next one is allowed."""
        if self.rate is None:
            return
        now = self._clock()
        with self._lock:
            level, since = self._buckets.pop(key, (float(self.rate.burst), now))
            level = min(float(self.rate.burst), level + (now - since) * self.rate.per_second)
            passes = level >= 1
            self._buckets[key] = (level - 1 if passes else level, now)
            if len(self._buckets) > MAX_BUCKETS:
                self._buckets.popitem(last=False)
        if not passes:
            wait = math.ceil((1 - level) / self.rate.per_second)
            unit = "second" if wait == 1 else "seconds"
            raise TooManyRequests(f"Too many requests; try again in {wait} {unit}.", wait)
