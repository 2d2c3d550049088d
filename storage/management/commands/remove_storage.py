"""`manage.py remove_storage`: delete a storage with all of its content."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from django.core.management.base import CommandError, CommandParser

from repository_site.core.terminal.command_line import RepositoryCommand
from repository_site.core.terminal.progress import with_progress

if TYPE_CHECKING:
    from storage.models import Storage


class Command(RepositoryCommand):
    help = (
        "Delete a storage with its content, configuration and tokens. This cannot be undone: write a backup first\n"
        "(`backup_storage`). The command shows how much it will delete and asks for confirmation; `--verbosity 2`\n"
        "shows the rows of every table."
    )
    examples = """\
  manage.py remove_storage acme handbook                 asks for the address as confirmation
  manage.py remove_storage acme handbook --verbosity 2   also shows the rows of every table
  manage.py remove_storage acme handbook --yes           does not ask
"""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("collection", help="id of the collection")
        parser.add_argument("storage", help="id of the storage")
        parser.add_argument("--yes", action="store_true", help="do not ask for confirmation")

    def handle(self, *args: Any, **options: Any) -> None:
        from storage.provisioning.provision import remove_storage
        from storage.tenancy.contexts import storage_at

        storage = storage_at(options["collection"], options["storage"])
        name = str(storage)
        self.stderr.write(f"This deletes {name} (tenant {storage.id}, {storage.title!r}):")
        for label, count in self._summary(storage, with_tables=options["verbosity"] > 1):
            self.stderr.write(f"  {count:>12,} {label}")
        collection = storage.collection
        others = collection.storages.exclude(pk=storage.pk).exists() or collection.tokens.exists()
        others = others or collection.identity_providers.exists()
        if not others:
            self.stderr.write(f"  and the collection {storage.collection}, which would be empty")
        if not options["yes"] and not self._confirmed(name):
            raise CommandError(f"Nothing was deleted: the confirmation was not {name}.")
        remove_storage(storage, lambda models: with_progress(models, "Tables", len(models)))
        self.stderr.write(f"{name} was deleted.")

    def _summary(self, storage: Storage, *, with_tables: bool) -> Iterator[tuple[str, int]]:
        from storage.extension import storage_extensions
        from storage.models import StorageSize
        from storage.provisioning.provision import tenant_row_counts

        counts = tenant_row_counts(storage)
        for extension in storage_extensions:
            for label, model in extension.counted_models.items():
                yield str(StorageSize._meta.get_field(label).verbose_name), counts[model._meta.db_table]  # type: ignore[union-attr]  # a field
        yield "rows in total", sum(counts.values())
        if with_tables:
            yield from ((f"rows of {table}", count) for table, count in counts.items())
        yield "tokens", storage.tokens.count()
        yield "memberships of staff accounts", storage.memberships.count()

    def _confirmed(self, name: str) -> bool:
        self.stderr.write(f"Type {name} to delete it: ", ending="")
        self.stderr.flush()
        try:
            return input().strip() == name
        except EOFError:
            return False
