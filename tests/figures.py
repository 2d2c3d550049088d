"""Figures that tests measure, for `docs/explanation/reliability.md`: one file for all groups and test processes.

A group has named rows, each a plain object of figures; `tests.reliability` makes a table of each group.
"""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path
from typing import Any

VARIABLE = "REPOSITORY_FIGURES"
Figures = dict[str, dict[str, dict[str, Any]]]


def note(group: str, name: str, **figures: Any) -> None:
    """Add a row to the file that the environment names, if it names one."""
    if path := os.environ.get(VARIABLE):
        with Path(path).open("a+", encoding="utf-8") as file:
            # Processes of a parallel run write one after the other.
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            found: Figures = json.loads(file.read() or "{}")
            found.setdefault(group, {})[name] = figures
            file.truncate(0)
            file.write(json.dumps(found, indent=1, sort_keys=True) + "\n")


def read(path: Path) -> Figures:
    found: Figures = json.loads(path.read_text(encoding="utf-8"))
    return found
