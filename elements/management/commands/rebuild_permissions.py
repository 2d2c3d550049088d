"""`manage.py rebuild_permissions`: correct which permission sets apply to the elements of a storage."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from repository_site.core.terminal.command_line import RepositoryCommand


class Command(RepositoryCommand):
    help = (
        "Correct which permission sets apply to the elements of a storage, or of all storages. Changes keep this up\n"
        "to date; run the command only if `manage.py doctor` reports wrong rows. Changes of the storage wait while it\n"
        "runs."
    )
    examples = """\
  manage.py rebuild_permissions --dry-run        count wrong rows in every storage
  manage.py rebuild_permissions acme handbook    one storage
"""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("collection", nargs="?", help="id of the collection; default: every storage")
        parser.add_argument("storage", nargs="?", help="id of the storage; required with a collection")
        parser.add_argument("--dry-run", action="store_true", help="count wrong rows, but change nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        from elements.permission_sets.inheritance import rebuild_inherited
        from elements.writing.limiting import hold_sets
        from storage.tenancy.contexts import storages_at
        from storage.tenancy.scope import StorageGone, tenant_scope

        dry_run = options["dry_run"]
        for storage in storages_at(options["collection"], options["storage"]):
            try:
                with tenant_scope(storage):
                    if not dry_run:
                        hold_sets(storage)
                    wrong = rebuild_inherited(dry_run=dry_run)
            except StorageGone:
                self.stdout.write(f"{storage}: removed meanwhile")
                continue
            self.stdout.write(f"{storage}: {wrong:,} rows {'are wrong' if dry_run else 'corrected'}")
