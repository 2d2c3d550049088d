"""`manage.py backup_storage`: write a storage to a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from repository_site.core.terminal.command_line import REPLICA_HELP, RepositoryCommand
from repository_site.core.terminal.progress import with_progress


class Command(RepositoryCommand):
    help = (
        "Write one storage to a file: content with all versions, files, diagrams, tasks, logs, history and\n"
        "permalinks, the type configuration, cultures, appearance, events, webhooks, messages, subscriptions,\n"
        "digests of tokens, and the memberships of staff accounts. The backup is one snapshot; nobody has to stop\n"
        "working. The file gets its name when it is complete. `restore_storage` reads it. Protect it like the\n"
        "database: it contains everything."
    )
    examples = """\
  manage.py backup_storage acme handbook handbook-2026-11-15.backup
  manage.py backup_storage acme handbook handbook.backup && manage.py restore_storage handbook.backup --check
"""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("collection", help="id of the collection")
        parser.add_argument("storage", help="id of the storage")
        parser.add_argument("file", type=Path, help="file to write; an existing file is replaced")
        parser.add_argument("--replica", action="store_true", help=REPLICA_HELP)

    def handle(self, *args: Any, **options: Any) -> None:
        from repository_site.core.database.replica import reading_for_command
        from storage.backup.writing import back_up_storage
        from storage.tenancy.contexts import storage_at

        storage = storage_at(options["collection"], options["storage"])
        with reading_for_command(from_replica=options["replica"], say=self.stderr.write):
            contents = back_up_storage(
                storage, options["file"], lambda models: with_progress(models, "Tables", len(models))
            )
        rows = sum(table.rows for table in contents.tables.values())
        size = options["file"].stat().st_size
        self.stderr.write(f"{storage}: wrote {rows:,} rows of {len(contents.tables)} tables, {size:,} bytes.")
        if missing := len(contents.missing_files):
            self.stderr.write(f"The contents of {missing:,} files are missing on the server; their rows are kept.")
