"""`manage.py restore_storage`: a storage from its backup."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from repository_site.core.command_line import RepositoryCommand
from storage.backup.restoring import check_backup, read_contents, restore_storage


class Command(RepositoryCommand):
    help = (
        "Make a storage from a file that `backup_storage` has written: at the address and with the ids it had. Prints\n"
        "the tenant's GUID. All or nothing; a storage that is there is never overwritten. The database must be at the\n"
        "same migrations as the one the backup is from. Tokens hold again where the secret key is the same; staff\n"
        "accounts that are not here are named, and can be admitted by hand."
    )
    examples = """\
  manage.py restore_storage handbook.backup
  manage.py restore_storage handbook.backup --as acme handbook-before   a copy beside the original, without tokens
  manage.py restore_storage handbook.backup --check                     tries all of it, and takes it back
"""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, help="what backup_storage has written")
        parser.add_argument(
            "--as", nargs=2, metavar=("COLLECTION", "STORAGE"), dest="address", help="a copy, at another address"
        )
        parser.add_argument(
            "--check", action="store_true", help="restore a copy under a name that is free, then take it back"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["check"]:
            self._check(options["file"])
            return
        restored = restore_storage(options["file"], tuple(options["address"]) if options["address"] else None)
        for sentence in restored.left_out:
            self.stderr.write(sentence)
        self.stderr.write(f"{restored.storage}: {restored.rows:,} rows and {restored.tokens} tokens restored.")
        self.stdout.write(str(restored.storage.id))

    def _check(self, file: Path) -> None:
        made_on = read_contents(file).made_on
        restored = check_backup(file)
        self.stderr.write(f"The backup of {made_on} is whole: {restored.rows:,} rows can be restored here.")
