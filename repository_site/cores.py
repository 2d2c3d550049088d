"""On which of the machine's cores a process runs (D165)."""

from __future__ import annotations

import os

# Elsewhere than on Linux there is no asking, and nothing is bound.
ALLOWED = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
"""Those that the service may use, as whoever started it has said; seen before any worker is bound."""


def cores_for(workers: int) -> list[int]:
    """One for each worker, in turn; none where that would leave cores idle, or give some of them more to do."""
    return ALLOWED if ALLOWED and workers % len(ALLOWED) == 0 else []


def keep_to(core: int) -> None:
    """This thread, those that it starts, and their programs."""
    os.sched_setaffinity(0, {core})


def run_anywhere() -> None:
    """The same, for who starts what is to serve others than this worker."""
    if ALLOWED:
        os.sched_setaffinity(0, ALLOWED)
