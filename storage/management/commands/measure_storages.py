"""`manage.py measure_storages`: how large each storage is, for the site's back office. For cron."""

from __future__ import annotations

from typing import Any

from django.contrib.sessions.backends.db import SessionStore
from django.core.management.base import CommandError, CommandParser

from repository_site.core.command_line import RepositoryCommand
from repository_site.core.problems import NotFound
from repository_site.core.progress import with_progress
from storage.models import Storage, StorageSize
from storage.provisioning.sizes import measure_storage
from storage.tenancy.contexts import storage_at
from storage.traffic import KEPT_DAYS, forget_old_hours


class Command(RepositoryCommand):
    help = (
        "Count elements, versions, references, shapes and bytes of each storage, one after another, and keep the\n"
        f"numbers for the site's back office. Also deletes request counts that are older than {KEPT_DAYS} days, and\n"
        "sessions that have ended. Run it once a night, from cron or a timer; running it again does no harm. One line\n"
        "on stdout for each storage; `--verbosity 0` tells failures only."
    )
    examples = """\
  manage.py measure_storages                every storage
  manage.py measure_storages acme handbook  one storage
"""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("collection", nargs="?", help="id of the collection; without it every storage")
        parser.add_argument("storage", nargs="?", help="id of the storage")

    def handle(self, *args: Any, **options: Any) -> None:
        failed = 0
        storages = self._storages(options["collection"], options["storage"])
        for storage in with_progress(storages, "Storages", len(storages)):
            try:
                size = measure_storage(storage)
            except NotFound:
                # Removed since the list was read.
                continue
            except Exception as problem:
                # One storage must not keep all others from being measured.
                failed += 1
                self.stderr.write(f"{storage}: failed: {' '.join(str(problem).split()) or type(problem).__name__}")
                continue
            if options["verbosity"]:
                self.stdout.write(f"{storage}: {_in_words(size)}")
        SessionStore.clear_expired()
        forgotten = forget_old_hours()
        if forgotten and options["verbosity"]:
            self.stderr.write(f"{forgotten} request counts older than {KEPT_DAYS} days deleted.")
        if failed:
            raise CommandError(f"{failed} of {len(storages)} storages failed; run it again.")

    def _storages(self, collection: str | None, key: str | None) -> list[Storage]:
        if collection is None:
            return list(Storage.objects.select_related("collection"))
        if key is None:
            raise CommandError("Give a collection and a storage, or neither for every storage.")
        return [storage_at(collection, key)]


def _in_words(size: StorageSize) -> str:
    names = ("elements", "versions", "references", "shapes", "bytes")
    return ", ".join(f"{getattr(size, name)} {name}" for name in names)
