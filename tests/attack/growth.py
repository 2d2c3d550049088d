"""Growth of CPU time with the input of a caller: hostile inputs of one and of ten times the size.

`make attack` and `tests/attack/test_growth.py` refuse growth that is much faster than the input.
`python -m tests.attack.growth` writes the figures into docs/explanation/security.md.
"""

from __future__ import annotations

import gc
import os
import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TIMES = 10
MOST = 30
"""Accepted growth of the time for ten times the input: proportional work takes 10, quadratic work takes 100."""
ROUNDS = 3
PAGE = Path(__file__).resolve().parents[2] / "docs/explanation/security.md"
MARKED = re.compile(r"(<!-- growth: begin -->\n).*?(<!-- growth: end -->)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Place:
    """Work whose amount a caller decides. `make` returns an input of a size, for which `work` is called."""

    name: str
    bound: str
    size: int
    make: Callable[[int], Any]
    work: Callable[[Any], object]


def growth(place: Place, rounds: int = ROUNDS) -> float:
    """Return how many times as long ten times the input takes: the quickest of several runs, in CPU time."""
    inputs = place.make(place.size), place.make(place.size * TIMES)
    taken = [[_seconds(place.work, each) for each in inputs] for _ in range(rounds)]
    return min(ten for _, ten in taken) / min(one for one, _ in taken)


def _seconds(work: Callable[[Any], object], given: Any) -> float:
    """Repeat quick work, so that the clock and other processes disturb less."""
    gc.collect()
    repeats = 0
    spent = 0.0
    start = time.thread_time()
    while not repeats or spent < 0.002:
        work(given)
        repeats += 1
        spent = time.thread_time() - start
    return spent / repeats


def grows_too_fast(place: Place) -> bool:
    """Measure several times before refusing, because other processes of the machine make runs slower."""
    return all(growth(place, rounds) > MOST for rounds in (1, 2, 4))


def table(measured: dict[Place, float]) -> str:
    rows = [f"| {each.name} | {each.bound} | {times:.1f} |" for each, times in measured.items()]
    return "\n".join(["| place: hostile input | bound | time for 10 times the input |", "|---|---|---:|", *rows])


def main() -> None:
    """Measure all places, and write the table."""
    from tests.attack.hostile_inputs import places

    found = table({place: growth(place) for place in places()})
    sys.stdout.write(f"{found}\n")
    PAGE.write_text(MARKED.sub(lambda mark: f"{mark[1]}\n{found}\n\n{mark[2]}", PAGE.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    django.setup()
    main()
