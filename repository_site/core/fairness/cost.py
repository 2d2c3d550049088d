"""The cost of work in seconds: CPU time of the thread, and time that it spent in statements (D197)."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from repository_site.core.database.base import watch_trips


class _Statements(threading.local):
    """Seconds that this thread has spent in statements since it began."""

    seconds = 0.0


_statements = _Statements()


def _trip_ended(kind: str, texts: Sequence[str], started: float, problem: BaseException | None) -> None:
    # Nobody pays for an unreachable database.
    if kind != "connection":
        _statements.seconds += time.perf_counter() - started


def start_measuring_statements() -> None:
    """Count the time of statements in this process from now on; it needs no further statement."""
    watch_trips(_trip_ended)


def spent() -> float:
    """Return the seconds that this thread has spent so far; the difference of two values is the cost in between."""
    return time.thread_time() + _statements.seconds
