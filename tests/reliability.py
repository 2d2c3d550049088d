"""Writes the measured tables of `docs/explanation/reliability.md` (`make reliability`).

Each group has its part of the page, between two marks; a group that was not measured keeps what it had.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

from tests import figures

PAGE = Path(__file__).resolve().parent.parent / "docs/explanation/reliability.md"
# Titles of the columns of a group; other columns keep their names.
HEADINGS = {
    "tried": "requests tried",
    "acknowledged": "writes acknowledged",
    "refused": "refused",
    "first": "seconds until the first 503",
    "seconds": "seconds until all were served again",
    "took": "seconds until all was moved",
    "slowest": "slowest request, in seconds",
    "pause": "longest time without an acknowledged write, in seconds",
    "killed": "times killed",
    "jobs": "jobs",
    "events": "events",
    "messages": "messages",
    "delivered": "seconds from the event to its delivery (median)",
    "idle": "seconds from the last fault until all were done",
    "repeated": "done twice",
    "disordered": "out of order",
    "lost": "lost or half written",
    "cases": "requests tried",
    "failures": "wrong responses",
    "runs": "runs of the lifecycle",
    "steps": "steps by the clock",
    "wrong": "too early, too late or twice",
    "megabytes": "MB more than idle",
    "victim": "requests of the victim",
    "victim_refused": "refused",
    "attacker_refused": "attacker refused",
    "factor_read": "read",
    "factor_write": "write",
    "factor_page": "page",
    "factor_whole": "whole list",
}


def table(rows: dict[str, dict[str, Any]]) -> str:
    """Return one row per name, with the columns of all rows, known columns first and in their order."""
    found = {column for row in rows.values() for column in row}
    columns = [each for each in HEADINGS if each in found] + sorted(found - HEADINGS.keys())
    lines = [["", *(HEADINGS.get(each, each) for each in columns)], ["---", *("---:" for _ in columns)]]
    lines += [[name, *(str(row.get(each, "")) for each in columns)] for name, row in sorted(rows.items())]
    return "\n".join(f"| {' | '.join(each)} |" for each in lines)


def filled(page: str, group: str, rows: dict[str, dict[str, Any]]) -> str:
    begin, end = f"<!-- figures of {group} -->", f"<!-- end of {group} -->"
    if begin not in page or end not in page:
        raise SystemExit(f"error: {PAGE.name} has no place for the group {group}: add {begin} and {end}")
    pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    return pattern.sub(lambda _: f"{begin}\n\n{table(rows)}\n\n{end}", page)


def main() -> None:
    path = os.environ.get(figures.VARIABLE)
    if not path or not Path(path).exists():
        raise SystemExit(
            f"error: {figures.VARIABLE} must name the file that the tests have written; try make reliability"
        )
    page = PAGE.read_text(encoding="utf-8")
    for group, rows in figures.read(Path(path)).items():
        page = filled(page, group, rows)
    PAGE.write_text(page, encoding="utf-8")
    sys.stdout.write(f"{PAGE.name} is written.\n")


if __name__ == "__main__":
    main()
