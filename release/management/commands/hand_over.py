"""`manage.py hand_over`: hand over the work of one user to another."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.core.management.base import CommandError, CommandParser

from repository_site.core.terminal.command_line import RepositoryCommand
from repository_site.core.terminal.progress import with_progress

SHOWN = 20


class Command(RepositoryCommand):
    help = (
        "Hand over the work of one user to another before somebody leaves. The new user replaces the old one as\n"
        "owner, author and reviewer, and in all other contexts that name people, in the newest and published\n"
        "versions, whatever their state. Open tasks are delegated. Each batch of 200 elements is one transaction;\n"
        "refused elements are reported and stay as they are."
    )
    examples = """\
  manage.py hand_over acme handbook 6f1c… 9d2e… --dry-run    show what would happen
  manage.py hand_over acme handbook 6f1c… 9d2e…
"""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("collection", help="id of the collection, such as acme")
        parser.add_argument("storage", help="id of the storage, such as handbook")
        parser.add_argument("old", metavar="FROM", type=UUID, help="id of the user who leaves")
        parser.add_argument("new", metavar="TO", type=UUID, help="id of the user who takes over")
        parser.add_argument("--dry-run", action="store_true", help="report what would change, but change nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        from release.handing_over.running import hand_over
        from storage.tenancy.contexts import storage_at

        storage = storage_at(options["collection"], options["storage"])
        work = hand_over(storage, options["old"], options["new"], dry_run=options["dry_run"])
        for _ in with_progress(work.batches(), "Handing over", work.total):
            pass
        for element, reasons in list(work.refused.items())[:SHOWN]:
            self.stderr.write(f"{element}: {' '.join(reasons)}")
        verb = "would change" if options["dry_run"] else "changed"
        self.stderr.write(f"{work.changed:,} elements {verb}, {len(work.refused):,} refused.")
        if work.refused:
            raise CommandError(f"{len(work.refused):,} elements were refused and stay as they were.")
