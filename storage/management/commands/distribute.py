"""`manage.py distribute`: distribute the tables over the nodes of a Citus cluster."""

from __future__ import annotations

from argparse import ArgumentTypeError
from typing import Any

from django.core.management.base import CommandParser

from repository_site.core.terminal.command_line import RepositoryCommand
from repository_site.core.terminal.progress import with_progress

ALREADY = "All tables are already distributed.\n"
# Citus takes no more.
MOST_SHARDS = 64_000


class Command(RepositoryCommand):
    help = (
        "Distribute the tables of this installation over the nodes of a Citus cluster. All rows of a storage stay\n"
        "together on one node. Everything happens in one transaction, and requests wait until it ends. Tables that\n"
        "are already distributed do not change, so the command can be repeated."
    )
    examples = """\
  manage.py distribute --dry-run    print the statements
  manage.py distribute              run them
  manage.py distribute --shards 64  with more shards than the 32 of Citus, for many nodes
"""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="print the statements, and change nothing")
        parser.add_argument(
            "--shards", type=shard_count, help="number of shards; default: the setting of Citus, usually 32"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        from storage.tenancy.distribution import distribute, plan

        if options["dry_run"]:
            statements = plan(options["shards"])
            self.stdout.write("".join(f"{statement};\n" for statement in statements) or ALREADY, ending="")
        elif distribute(options["shards"], lambda found: with_progress(found, "Statements", len(found))):
            self.stdout.write("All tables are distributed.")
        else:
            self.stdout.write(ALREADY, ending="")


def shard_count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MOST_SHARDS:
        raise ArgumentTypeError(f"expected a number from 1 to {MOST_SHARDS}")
    return int(text)
