"""Binding of processes to cores of the machine (D165)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

import structlog

# Only Linux lists the allowed cores; on other systems no process is bound.
ALLOWED = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
"""The cores that the service may use, read before any worker is bound."""
log = structlog.get_logger("server")


def cores_for(workers: int) -> list[int]:
    """Return the cores to share out among the workers; none if some cores would get more workers than others."""
    return ALLOWED if ALLOWED and workers % len(ALLOWED) == 0 else []


def free_core(cores: Sequence[int], taken: Iterable[Sequence[int]], start: int) -> int:
    """Return the core with the fewest workers, for a worker that replaces another one.

    While workers are replaced one after the other, all cores have equally many; then the number of workers that were
    started before decides.
    """
    held = [each[0] for each in taken if len(each) == 1]
    return min(cores, key=lambda core: (held.count(core), (cores.index(core) - start) % len(cores)))


def keep_to(core: int) -> None:
    """Bind this thread, and with it the threads and programs that it starts."""
    _bind(0, [core])


def run_anywhere() -> None:
    """Release this thread before it starts a program that serves other workers, too."""
    _bind(0, ALLOWED)


def all_run_anywhere() -> None:
    """Release every thread of a process that is about to end."""
    import psutil  # takes 40 ms; only workers need it

    for thread in psutil.Process().threads():
        _bind(thread.id, ALLOWED)


def _bind(thread: int, cores: list[int]) -> None:
    """Bind a thread if possible. The allowed cores may have changed meanwhile; then it stays unbound."""
    try:
        if cores:
            os.sched_setaffinity(thread, cores)
    except ProcessLookupError:
        pass
    except OSError as problem:
        log.warning("not bound to cores", cores=cores, problem=str(problem))
