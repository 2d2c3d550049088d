"""A progress bar on a terminal; elsewhere nothing is printed."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import IO, TypeVar

T = TypeVar("T")
WIDTH = 30


def with_progress(
    items: Iterable[T], label: str, total: int | None = None, stream: IO[str] | None = None
) -> Iterator[T]:
    """Yield the items, and draw the bar at most ten times a second."""
    out = sys.stderr if stream is None else stream
    if not out.isatty():
        yield from items
        return
    drawn, count = 0.0, 0
    for item in items:
        yield item
        count += 1
        if time.monotonic() - drawn > 0.1:
            drawn = time.monotonic()
            out.write("\r" + _bar(label, count, total))
            out.flush()
    out.write("\r" + _bar(label, count, count) + "\n")
    out.flush()


def _bar(label: str, count: int, total: int | None) -> str:
    if not total:
        return f"{label} {count:,}"
    done = min(WIDTH, WIDTH * count // total)
    return f"{label} [{'#' * done}{'.' * (WIDTH - done)}] {100 * count // total:3d} % {count:,} of {total:,}"
