"""`manage.py measure_storages`: count the content of each storage for the back office of the installation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.core.management.base import CommandError, CommandParser

from repository_site.core.problems import NotFound
from repository_site.core.terminal.command_line import RepositoryCommand
from repository_site.core.terminal.progress import with_progress
from storage.options import KEPT_DAYS

if TYPE_CHECKING:
    from storage.models import StorageSize


class Command(RepositoryCommand):
    help = (
        "Count elements, versions, references, shapes and bytes of each storage, and store the numbers for the\n"
        f"back office of the installation. The command also deletes request counts older than {KEPT_DAYS} days,\n"
        "expired sessions and idempotency keys, and events and former states that are older than their storage keeps\n"
        "them. A worker does the same once a night; docs/how-to/jobs.md explains when to use this command instead.\n"
        "It prints one line for each storage; `--verbosity 0` prints failures only."
    )
    examples = """\
  manage.py measure_storages                every storage
  manage.py measure_storages acme handbook  one storage
"""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("collection", nargs="?", help="id of the collection; default: every storage")
        parser.add_argument("storage", nargs="?", help="id of the storage; required with a collection")

    def handle(self, *args: Any, **options: Any) -> None:
        from django.contrib.sessions.backends.db import SessionStore

        from storage.housekeeping import forget_and_measure
        from storage.tenancy.contexts import storages_at
        from storage.traffic import forget_old_hours

        failed = 0
        storages = storages_at(options["collection"], options["storage"])
        for storage in with_progress(storages, "Storages", len(storages)):
            try:
                forgotten, size = forget_and_measure(storage)
            except NotFound:
                # Somebody removed the storage after the list was read.
                continue
            except Exception as problem:
                # A failure of one storage must not prevent the measurement of the others.
                failed += 1
                self.stderr.write(f"{storage}: failed: {' '.join(str(problem).split()) or type(problem).__name__}")
                continue
            if options["verbosity"]:
                self.stdout.write(f"{storage}: {_in_words(size)}")
                for count, kind, days in (
                    (forgotten.events, "events", storage.event_days),
                    (forgotten.past_rows, "former states", storage.past_days),
                ):
                    if count:
                        self.stderr.write(f"{storage}: {count} {kind} older than {days} days deleted.")
        SessionStore.clear_expired()
        old_hours = forget_old_hours()
        if old_hours and options["verbosity"]:
            self.stderr.write(f"{old_hours} request counts older than {KEPT_DAYS} days deleted.")
        if failed:
            raise CommandError(f"{failed} of {len(storages)} storages failed. Run the command again.")


def _in_words(size: StorageSize) -> str:
    names = ("elements", "versions", "references", "shapes", "bytes")
    return ", ".join(f"{getattr(size, name)} {name}" for name in names) + f", {size.past_bytes} bytes of former states"
