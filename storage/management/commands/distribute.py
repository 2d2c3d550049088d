"""`manage.py distribute`: distribute the tables over the nodes of a Citus cluster."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from repository_site.core.command_line import RepositoryCommand
from repository_site.core.problems import Problem
from repository_site.core.progress import with_progress


class Command(RepositoryCommand):
    help = (
        "Distribute the tables of this installation over the nodes of a Citus cluster. All rows of a storage stay\n"
        "together on one node. Everything happens in one transaction, and requests wait until it ends. Tables that\n"
        "are distributed already are left alone, so the command can be repeated."
    )
    examples = """\
  manage.py distribute --dry-run    print the statements
  manage.py distribute              run them
  manage.py distribute --shards 64  with more shards than the 32 of Citus, for many nodes
"""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="print the statements, and change nothing")
        parser.add_argument("--shards", type=int, help="number of shards; default: the setting of Citus, usually 32")

    def handle(self, *args: Any, **options: Any) -> None:
        from storage.tenancy.distribution import distribute, plan

        try:
            statements = plan(options["shards"])
        except Problem as problem:
            raise CommandError(problem.message) from None
        if not statements:
            self.stdout.write("All tables are distributed already.")
        elif options["dry_run"]:
            self.stdout.write("".join(f"{statement};\n" for statement in statements), ending="")
        else:
            distribute(with_progress(statements, "Statements", len(statements)))
            self.stdout.write("All tables are distributed.")
