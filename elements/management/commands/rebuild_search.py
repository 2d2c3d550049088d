"""`manage.py rebuild_search`: rebuild the search index of a storage, or of all, while they are in use."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from repository_site.core.terminal.command_line import RepositoryCommand


class Command(RepositoryCommand):
    help = (
        "Rebuild the search index of a storage, or of all storages, while they are in use. Changes keep the index up\n"
        "to date by themselves; run this when the index has grown after many changes. The command prints the size of\n"
        "the index of each storage."
    )
    examples = """\
  manage.py rebuild_search                every storage
  manage.py rebuild_search acme handbook  one storage
"""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("collection", nargs="?", help="id of the collection; default: every storage")
        parser.add_argument("storage", nargs="?", help="id of the storage; required with a collection")

    def handle(self, *args: Any, **options: Any) -> None:
        from elements.search.rebuilding import measure_search, rebuild_search
        from repository_site.core.terminal.progress import with_progress
        from storage.tenancy.contexts import storages_at
        from storage.tenancy.scope import StorageGone

        for storage in storages_at(options["collection"], options["storage"]):
            try:
                portions = list(with_progress(rebuild_search(storage), f"{storage}"))
                size = measure_search(storage)
            except StorageGone:
                self.stdout.write(f"{storage}: removed meanwhile")
                continue
            ratio = size.index / size.attributes if size.attributes else 0
            self.stdout.write(
                f"{storage}: {sum(portions):,} versions, files and words; the index has about {size.index:,} bytes,"
                f" {ratio:.1f} times the size of the attributes"
            )
