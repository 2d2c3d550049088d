"""The commands of the project, and the list that `manage.py` prints without arguments. It needs no Django."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

PROJECT_DIR = Path(__file__).resolve().parents[3]
# The first line of each command's module: """`manage.py NAME`: summary."""
SUMMARY = re.compile(r'"""`manage\.py (\w+)`: (.+?)\.?"""')


def command_list() -> str:
    commands = dict(sorted(_commands()))
    width = max(map(len, commands))
    return "\n".join(
        [
            "Usage: manage.py COMMAND [OPTIONS]",
            "",
            *(f"  {name:<{width}}  {summary}" for name, summary in commands.items()),
            "",
            "Options and examples of a command:  manage.py COMMAND --help",
            "All commands, Django's included:    manage.py help --commands",
            "",
        ]
    )


def command_module(name: str) -> str | None:
    """Return the module of a command of ours, such as storage.management.commands.issue_token."""
    if not name.isidentifier():
        return None
    found = next(PROJECT_DIR.glob(f"*/management/commands/{name}.py"), None)
    return ".".join(found.relative_to(PROJECT_DIR).with_suffix("").parts) if found else None


def _commands() -> Iterator[tuple[str, str]]:
    for path in PROJECT_DIR.glob("*/management/commands/[a-z]*.py"):
        with path.open(encoding="utf-8") as file:
            if found := SUMMARY.match(file.readline()):
                yield found[1], found[2]
