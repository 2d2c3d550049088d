"""One run of the benchmark: how much is measured, and what has been found so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.progress import Progress

from benchmarks.generating import Step
from benchmarks.installation import Installation
from benchmarks.measuring import Work, in_turns
from benchmarks.report import Bar

MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True)
class Scale:
    rounds: int
    requests: int
    """For the memory of a worker."""
    sizes: tuple[int, ...] = ()
    """Of larger storages, which are compared with the usual one."""
    storages: tuple[int, ...] = ()
    """How many of them in an installation; the first is what the others are compared with."""
    growth_rounds: int = 10


SCALES = {
    "smoke": Scale(rounds=1, requests=200, sizes=(20_000, 30_000), storages=(1, 3), growth_rounds=1),
    "short": Scale(rounds=2, requests=500),
    "usual": Scale(rounds=8, requests=10_000, sizes=(100_000,), storages=(1, 100)),
    "long": Scale(rounds=8, requests=10_000, sizes=(100_000, 1_000_000), storages=(1, 100, 1_000)),
}


@dataclass
class Run:
    scale: Scale
    folder: Path
    progress: Progress
    sections: list[tuple[str, str]] = field(default_factory=list)
    bars: list[Bar] = field(default_factory=list)
    installation: Installation = field(init=False)

    def __post_init__(self) -> None:
        self.installation = Installation(self.folder)

    def task(self, title: str, total: int) -> Step:
        """A bar on the terminal; what is answered moves it on."""
        task = self.progress.add_task(title, total=total)
        return lambda count: self.progress.advance(task, count)

    def turns(self, title: str, works: Sequence[Work], rounds: int) -> None:
        step = self.task(title, rounds * len(works))
        in_turns(works, rounds, lambda: step(1))
