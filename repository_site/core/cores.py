"""On which of the machine's cores a process runs (D165)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

import psutil
import structlog

# Elsewhere than on Linux there is no asking, and nothing is bound.
ALLOWED = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
"""Those that the service may use, as whoever started it has said; seen before any worker is bound."""
log = structlog.get_logger("server")


def cores_for(workers: int) -> list[int]:
    """One for each worker, in turn; none where that would leave cores idle, or give some of them more to do."""
    return ALLOWED if ALLOWED and workers % len(ALLOWED) == 0 else []


def free_core(cores: Sequence[int], taken: Iterable[Sequence[int]], start: int) -> int:
    """The one that fewest of the others are bound to. `start` says how many workers were started before: while one
    after the other is replaced all have as many, and the next one is due."""
    held = [each[0] for each in taken if len(each) == 1]
    return min(cores, key=lambda core: (held.count(core), (cores.index(core) - start) % len(cores)))


def keep_to(core: int) -> None:
    """This thread, those that it starts, and their programs."""
    _bind(0, [core])


def run_anywhere() -> None:
    """The same, for who starts what is to serve others than this worker."""
    _bind(0, ALLOWED)


def all_run_anywhere() -> None:
    """Every thread of a process that is about to end."""
    for thread in psutil.Process().threads():
        _bind(thread.id, ALLOWED)


def _bind(thread: int, cores: list[int]) -> None:
    """Only a gain: what may be used may have changed since it was asked for."""
    try:
        if cores:
            os.sched_setaffinity(thread, cores)
    except ProcessLookupError:
        pass
    except OSError as problem:
        log.warning("not bound to cores", cores=cores, problem=str(problem))
