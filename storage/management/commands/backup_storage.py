"""`manage.py backup_storage`: all of one storage in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from repository_site.core.command_line import RepositoryCommand
from storage.backup.writing import back_up_storage
from storage.tenancy.contexts import storage_at


class Command(RepositoryCommand):
    help = (
        "Write all of one storage into a file, as it is at this moment, while everybody works on: content with all\n"
        "versions, drafts, diagrams, tasks, logs and history, the type configuration, cultures, digests of tokens,\n"
        "and which staff accounts may enter. `restore_storage` makes the storage again from it. The file appears\n"
        "under its name only when it is whole. Keep it as safe as the database: everything is in it."
    )
    examples = """\
  manage.py backup_storage acme handbook handbook-2026-11-15.backup
  manage.py backup_storage acme handbook handbook.backup && manage.py restore_storage handbook.backup --check
"""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("collection", help="id of the collection")
        parser.add_argument("storage", help="id of the storage")
        parser.add_argument("file", type=Path, help="where to write; an older one of that name is replaced")

    def handle(self, *args: Any, **options: Any) -> None:
        storage = storage_at(options["collection"], options["storage"])
        contents = back_up_storage(storage, options["file"])
        rows = sum(table.rows for table in contents.tables.values())
        size = options["file"].stat().st_size
        self.stderr.write(f"{storage}: {rows:,} rows of {len(contents.tables)} tables, {size:,} bytes.")
