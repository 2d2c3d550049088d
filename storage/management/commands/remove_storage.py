"""`manage.py remove_storage`: delete a tenant with all it holds."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from repository_site.core.command_line import RepositoryCommand
from storage.provisioning.provision import remove_storage, tenant_row_counts
from storage.tenancy.contexts import storage_at


class Command(RepositoryCommand):
    help = "Delete a storage for good: its content, configuration and tokens. Says what will go, and asks first."
    examples = """\
  manage.py remove_storage acme handbook         asks for the address as confirmation
  manage.py remove_storage acme handbook --yes   does not ask
"""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("collection", help="id of the collection")
        parser.add_argument("storage", help="id of the storage")
        parser.add_argument("--yes", action="store_true", help="do not ask")

    def handle(self, *args: Any, **options: Any) -> None:
        storage = storage_at(options["collection"], options["storage"])
        name = str(storage)
        counts = tenant_row_counts(storage)
        self.stderr.write(f"This deletes {name} (tenant {storage.id}, {storage.title!r}) for good:")
        for table, count in counts.items():
            self.stderr.write(f"  {count:>8} rows of {table}")
        self.stderr.write(f"  {storage.tokens.count():>8} tokens")
        self.stderr.write(f"  {storage.memberships.count():>8} memberships of staff accounts")
        others = storage.collection.storages.exclude(pk=storage.pk).exists() or storage.collection.tokens.exists()
        if not others:
            self.stderr.write(f"  and the collection {storage.collection}, which is empty then")
        if not options["yes"] and not self._confirmed(name):
            raise CommandError("nothing was deleted")
        remove_storage(storage)
        self.stderr.write(f"{name} is gone.")

    def _confirmed(self, name: str) -> bool:
        self.stderr.write(f"Type {name} to go on: ", ending="")
        self.stderr.flush()
        try:
            return input().strip() == name
        except EOFError:
            return False
