"""`manage.py run_lifecycle`: run the scheduled jobs of the lifecycle, from cron or a timer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.core.management.base import CommandError, CommandParser

from repository_site.core.problems import NotFound
from repository_site.core.terminal.command_line import RepositoryCommand
from repository_site.core.terminal.progress import with_progress

if TYPE_CHECKING:
    from release.schedule.lifecycle_jobs import LifecycleJobResult
    from storage.models import Storage

# Field of the result, its verb, and its verb in a dry run.
PARTS = (
    ("in_effect", "took effect", "would take effect"),
    ("expired", "expired", "would expire"),
    ("overtaken", "was overtaken", "would be overtaken"),
    ("stuck", "is stuck", "would be marked as stuck"),
    ("freed", "is no longer stuck", "would no longer be stuck"),
    ("opened", "got its tasks", "would get its tasks"),
)


class Command(RepositoryCommand):
    help = (
        "Run the scheduled jobs of the lifecycle: expire versions whose validUntil is reached (accepted expiries\n"
        "included), let versions take effect in release cycles that have a state for it, open missing tasks of\n"
        "versions in review, and mark stuck tasks. A worker does the same every five minutes; docs/how-to/jobs.md\n"
        "explains when to use this command instead. Concurrent runs do no harm. The command writes one line per\n"
        "change to stdout and a summary per storage to stderr; `--verbosity 0` reports failures only."
    )
    examples = """\
  manage.py run_lifecycle                          every storage
  manage.py run_lifecycle acme handbook            one storage
  manage.py run_lifecycle acme handbook --dry-run  report what is due; change nothing
"""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("collection", nargs="?", help="id of the collection; default: every storage")
        parser.add_argument("storage", nargs="?", help="id of the storage")
        parser.add_argument("--dry-run", action="store_true", help="report what is due, but change nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        from release.schedule.lifecycle_jobs import LifecycleJobResult, run_lifecycle
        from release.schedule.runs import recorded_run
        from storage.tenancy.contexts import storages_at

        failed = 0
        storages = storages_at(options["collection"], options["storage"])
        for storage in with_progress(storages, "Storages", len(storages)):
            outcome, is_done = LifecycleJobResult(), False
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
                # A failure in one storage must not stop the others.
                failed += 1
                self.stderr.write(f"{storage}: failed: {' '.join(str(problem).split()) or type(problem).__name__}")
            if options["verbosity"]:
                self._tell(storage, outcome, dry_run=options["dry_run"], is_done=is_done)
        if failed:
            raise CommandError(
                f"{failed} of {len(storages)} storages failed; see the messages above, then run the command again."
            )

    def _tell(self, storage: Storage, outcome: LifecycleJobResult, *, dry_run: bool, is_done: bool) -> None:
        """Report the changes, also those before a failure, which stay."""
        counts = []
        for part, done, would in PARTS:
            lines = getattr(outcome, part)
            verb = would if dry_run else done
            for line in lines:
                self.stdout.write(f"{storage}: {verb}: {line}")
            counts += [f"{len(lines)} {verb}"] if lines else []
        if is_done or not outcome.is_empty:
            self.stderr.write(f"{storage}: {'nothing is due' if outcome.is_empty else ', '.join(counts)}.")
