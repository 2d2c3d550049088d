"""The amount of work in each mode of the benchmark, and the state of one run."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.installation import BenchmarkInstallation
from benchmarks.report import Report


@dataclass(frozen=True, slots=True)
class Scale:
    rounds: int
    requests: int
    """Mixed requests for the memory of a worker."""
    sizes: tuple[int, ...] = ()
    """Sizes of larger storages, which are compared with the usual one."""
    storages: tuple[int, ...] = ()
    """Numbers of storages in an installation. The others are compared with the first."""
    growth_rounds: int = 10


SCALES = {
    "smoke": Scale(rounds=1, requests=200, sizes=(12_000, 14_000), storages=(1, 3), growth_rounds=1),
    "short": Scale(rounds=2, requests=500),
    "usual": Scale(rounds=8, requests=10_000, sizes=(100_000,), storages=(1, 100)),
    "long": Scale(rounds=8, requests=10_000, sizes=(100_000, 1_000_000), storages=(1, 100, 1_000)),
}


@dataclass
class Run:
    scale: Scale
    folder: Path
    report: Report = field(default_factory=Report)
    installation: BenchmarkInstallation = field(init=False)

    def __post_init__(self) -> None:
        self.installation = BenchmarkInstallation(self.folder)
