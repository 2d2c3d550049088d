"""Arguments of commands that set quotas."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

HELP = {
    "elements": "largest number of elements",
    "bytes": "largest stored size in bytes of content, change history and configuration, without indexes",
    "files": "largest number of files",
    "history": "largest number of changes in the history",
}


def add_quota_arguments(parser: CommandParser, **options: Any) -> None:
    """Add an argument for each quota. Without it, the quota stays as it is; a new storage has none."""
    for name, text in HELP.items():
        parser.add_argument(f"--quota-{name}", metavar="NUMBER", help=text, **{"type": int, "default": None, **options})
