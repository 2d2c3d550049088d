"""The cost of work in seconds: CPU time of the thread, and time that it spent in statements (D197).

A statement of a write may wait for a lock of another request, which costs nobody anything, and no driver tells how long
it has waited. So its time counts up to a limit. Statements that insert or update rows count in full: requests lock the
rows before, and triggers that fill the index of the search may take seconds.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from repository_site.core.database.base import watch_trips
from repository_site.core.database.prepared import attention

# Seconds that a statement of a write costs at most, unless it begins with one of these words.
LONGEST_OF_WRITES = 0.25
WORKING = ("INSERT", "UPDATE")


class _Statements(threading.local):
    """Seconds that this thread has spent in statements since it began."""

    seconds = 0.0
    limited = 0.0
    """The same with a limit for each statement."""


_statements = _Statements()


def _trip_ended(kind: str, texts: Sequence[str], started: float, problem: BaseException | None) -> None:
    # Nobody pays for an unreachable database.
    if kind != "connection":
        seconds = time.perf_counter() - started
        _statements.seconds += seconds
        is_work = bool(texts) and all(each.lstrip().startswith(WORKING) for each in texts)
        _statements.limited += seconds if is_work else min(seconds, LONGEST_OF_WRITES)


def _cpu() -> float:
    """Return the CPU seconds of this thread without those of polling, which count as time of statements (D652)."""
    return time.thread_time() - attention.seconds


def start_measuring_statements() -> None:
    """Count the time of statements in this process from now on; it needs no further statement."""
    watch_trips(_trip_ended)


class Spending:
    """Cost of a thread since this object was made, or since the cost was taken last."""

    __slots__ = ("_cpu", "_limited", "_seconds")

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._cpu, self._seconds, self._limited = _cpu(), _statements.seconds, _statements.limited

    def cost(self, only_reads: bool) -> float:
        """Return the seconds since then."""
        if only_reads:
            return _cpu() - self._cpu + _statements.seconds - self._seconds
        return _cpu() - self._cpu + _statements.limited - self._limited

    def take(self, only_reads: bool) -> float:
        """Return the same, and begin again: a request that waits for long is charged before it waits."""
        found = self.cost(only_reads)
        self._begin()
        return found
