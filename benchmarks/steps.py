"""The steps of a run: each says how far the run is, and how long the rest takes about."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

# The expected minutes are those of two idle cores. The estimate follows this machine after so many of them.
TRIED = 1.0


class Step(NamedTuple):
    title: str
    minutes: float
    """Expected duration."""
    work: Callable[[], None]


def run_steps(steps: Sequence[Step], clock: Callable[[], float] = time.monotonic) -> None:
    began = clock()
    for number, step in enumerate(steps):
        before, left = (sum(each.minutes for each in some) for some in (steps[:number], steps[number:]))
        passed = (clock() - began) / 60
        speed = passed / before if before >= TRIED else 1.0
        told = (
            f"[{number + 1} of {len(steps)}] {step.title}: {passed:.0f} minutes passed, about {left * speed:.0f} left"
        )
        sys.stderr.write(f"{told}\n")
        sys.stderr.flush()
        step.work()
