"""`manage.py run_lifecycle`: what comes about by the clock. For cron."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from release.schedule.clock import Outcome, run_lifecycle
from release.schedule.runs import recorded_run
from repository_site.core.command_line import RepositoryCommand
from repository_site.core.problems import NotFound
from repository_site.core.progress import with_progress
from storage.models import Storage
from storage.tenancy.contexts import storage_at

# The part of an outcome, and what it is called when it was done and when it would be.
PARTS = (
    ("in_effect", "took effect", "would take effect"),
    ("expired", "expired", "would expire"),
    ("overtaken", "was overtaken", "would be overtaken"),
    ("stuck", "is stuck", "would be marked as stuck"),
    ("freed", "is no longer stuck", "would no longer be stuck"),
)


class Command(RepositoryCommand):
    help = (
        "Do what is due: expire versions whose validUntil has come (accepted expiries among them), let versions take\n"
        "effect in release cycles that ask for it, and mark release tasks that are stuck. Run it every few minutes,\n"
        "from cron or a timer; running it again, or twice at once, does no harm. One line on stdout for each thing\n"
        "done, and a summary for each storage on stderr; `--verbosity 0` tells failures only."
    )
    examples = """\
  manage.py run_lifecycle                          every storage
  manage.py run_lifecycle acme handbook            one storage
  manage.py run_lifecycle acme handbook --dry-run  what would be done; changes nothing
"""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("collection", nargs="?", help="id of the collection; without it every storage")
        parser.add_argument("storage", nargs="?", help="id of the storage")
        parser.add_argument("--dry-run", action="store_true", help="say what would be done, but do nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        failed = 0
        storages = self._storages(options["collection"], options["storage"])
        for storage in with_progress(storages, "Storages", len(storages)):
            outcome, is_done = Outcome(), False
            try:
                if options["dry_run"]:
                    outcome = run_lifecycle(storage, dry_run=True)
                else:
                    recorded_run(storage, outcome)
                is_done = True
            except NotFound:
                # Removed since the list was read.
                continue
            except Exception as problem:
                # One storage must not keep all others from what is due.
                failed += 1
                self.stderr.write(f"{storage}: failed: {' '.join(str(problem).split()) or type(problem).__name__}")
            if options["verbosity"]:
                self._tell(storage, outcome, dry_run=options["dry_run"], is_done=is_done)
        if failed:
            raise CommandError(f"{failed} of {len(storages)} storages failed; run it again.")

    def _storages(self, collection: str | None, key: str | None) -> list[Storage]:
        if collection is None:
            return list(Storage.objects.select_related("collection"))
        if key is None:
            raise CommandError("Give a collection and a storage, or neither for every storage.")
        return [storage_at(collection, key)]

    def _tell(self, storage: Storage, outcome: Outcome, *, dry_run: bool, is_done: bool) -> None:
        """When it failed, what was done before stays done and is told, too."""
        counts = []
        for part, done, would in PARTS:
            lines = getattr(outcome, part)
            verb = would if dry_run else done
            for line in lines:
                self.stdout.write(f"{storage}: {verb}: {line}")
            counts += [f"{len(lines)} {verb}"] if lines else []
        if is_done or not outcome.is_nothing:
            self.stderr.write(f"{storage}: {'nothing is due' if outcome.is_nothing else ', '.join(counts)}.")
