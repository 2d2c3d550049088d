"""Whether the cores of this process are busy without a pause (D379)."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

# Seconds between two looks at the counters of the system, which counts in steps of 10 ms.
BETWEEN = 0.1
# Part of the time that cores may be idle and still count as saturated.
IDLE = 0.1
STATISTICS = Path("/proc/stat")
# Columns of the statistics of a core: idle, and waiting for a disk.
IDLE_COLUMNS = (3, 4)
Times = tuple[int, int]
"""Idle time and all time of the cores, in the ticks of the system."""


class Saturation:
    """Load of the cores that this process may use. All processes count; a database may share the cores."""

    def __init__(self, read: Callable[[], Times] | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._read, self._clock = read or read_times, clock
        self._checked_at, self._before = -BETWEEN, (0, 0)
        self._is_saturated = False

    def __call__(self) -> bool:
        """Return whether the cores had next to no idle time lately. After a quiet time, nothing is known: false."""
        now = self._clock()
        passed = now - self._checked_at
        if passed >= BETWEEN:
            before, self._before, self._checked_at = self._before, self._read(), now
            idle, total = self._before[0] - before[0], self._before[1] - before[1]
            self._is_saturated = passed < 2 * BETWEEN and 0 <= idle < IDLE * total
        return self._is_saturated


def read_times() -> Times:
    """Return zeros where the system has no such statistics: its cores then never count as saturated."""
    try:
        names = {f"cpu{core}" for core in os.sched_getaffinity(0)}
        lines = [line.split() for line in STATISTICS.read_text().splitlines()]
    except (AttributeError, OSError):
        return 0, 0
    cores = [[int(each) for each in line[1:9]] for line in lines if line[0] in names]
    return sum(core[column] for core in cores for column in IDLE_COLUMNS), sum(map(sum, cores))
