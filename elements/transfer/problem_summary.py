"""Problems of a transfer file for people: equal ones grouped, and only so many shown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

# Kinds of problems, and lines of each, that a summary shows.
MAX_KINDS = 20
MAX_LINES = 5
# Parts that differ between problems of one kind.
VARYING = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|'[^']*'|\"[^\"]*\"|\d+", re.IGNORECASE)


def problem_count(count: int) -> str:
    return f"{count:,} problem{'' if count == 1 else 's'}; nothing was imported."


def summarize(problems: Sequence[str]) -> Iterator[str]:
    """Return the first problem of each kind in full, with the lines of further ones. Problems begin with `line 5: `."""
    kinds: dict[str, list[str]] = {}
    for text in problems:
        kinds.setdefault(VARYING.sub("", text), []).append(text)
    for first, *others in list(kinds.values())[:MAX_KINDS]:
        yield first
        if others:
            yield f"    {len(others):,} more of this kind: {_lines(others)}"
    hidden = list(kinds.values())[MAX_KINDS:]
    if hidden:
        yield f"{sum(map(len, hidden)):,} more problems of {len(hidden):,} other kinds"


def _lines(problems: Sequence[str]) -> str:
    numbers = list(dict.fromkeys(text.partition(":")[0].removeprefix("line ") for text in problems))
    shown = ", ".join(numbers[:MAX_LINES])
    return f"line{'' if len(numbers) == 1 else 's'} {shown}{', ...' if len(numbers) > MAX_LINES else ''}"
