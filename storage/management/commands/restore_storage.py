"""`manage.py restore_storage`: create a storage from its backup."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.core.management.base import CommandError, CommandParser

from repository_site.core.terminal.command_line import RepositoryCommand
from repository_site.core.terminal.progress import with_progress

if TYPE_CHECKING:
    from storage.backup.restoring import Restored
    from storage.models import TenantModel


class Command(RepositoryCommand):
    help = (
        "Create a storage from a file that `backup_storage` wrote, at the same address and with the same ids. The\n"
        "command prints the GUID of the tenant. It restores everything or nothing and never overwrites a storage.\n"
        "The database needs the same migrations as the one of the backup. Tokens are disabled unless --with-tokens\n"
        "is given; tokens that were revoked, rotated or limited here after the backup stay disabled. The command\n"
        "names staff accounts that do not exist here; add their memberships in the back office."
    )
    examples = """\
  manage.py restore_storage handbook.backup
  manage.py restore_storage handbook.backup --with-tokens               tokens stay valid, if the secret key is the same
  manage.py restore_storage handbook.backup --as acme handbook-before   a copy beside the original, without tokens
  manage.py restore_storage handbook.backup --check                     restores a copy and rolls it back
"""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, help="file that backup_storage wrote")
        parser.add_argument(
            "--as", nargs=2, metavar=("COLLECTION", "STORAGE"), dest="address", help="restore a copy at another address"
        )
        parser.add_argument(
            "--over-limits", action="store_true", help="restore content even if it exceeds limits of this installation"
        )
        parser.add_argument("--with-tokens", action="store_true", help="keep the tokens of the backup valid")
        parser.add_argument("--check", action="store_true", help="restore a copy at an unused address and roll it back")

    def handle(self, *args: Any, **options: Any) -> None:
        from storage.backup.restoring import restore_storage

        if options["check"]:
            self._check(options["file"])
            return
        if options["address"] and options["with_tokens"]:
            raise CommandError("A copy at another address has no tokens. Leave out --with-tokens, or --as.")
        restored = restore_storage(
            options["file"],
            tuple(options["address"]) if options["address"] else None,
            progress=_with_bar,
            over_limits=options["over_limits"],
            with_tokens=options["with_tokens"],
        )
        self._report(restored)
        for sentence in restored.left_out:
            self.stderr.write(sentence)
        self.stderr.write(f"{restored.storage}: {restored.rows:,} rows and {restored.tokens} tokens restored.")
        if restored.disabled:
            reason = (
                "revoked, rotated or limited here after the backup"
                if options["with_tokens"]
                else "a restore keeps tokens only with --with-tokens"
            )
            verb = "token is" if restored.disabled == 1 else "tokens are"
            self.stderr.write(
                f"{restored.disabled} {verb} disabled: {reason}. Issue new ones with manage.py issue_token."
            )
        self.stdout.write(str(restored.storage.id))

    def _report(self, restored: Restored) -> None:
        for text in restored.exceeding:
            self.stderr.write(f"over a limit of this installation: {text}")

    def _check(self, file: Path) -> None:
        from storage.backup.restoring import check_backup, read_contents

        made_on = read_contents(file).made_on
        restored = check_backup(file, progress=_with_bar)
        self._report(restored)
        self.stderr.write(f"The backup of {made_on} is complete: {restored.rows:,} rows can be restored here.")


def _with_bar(models: list[type[TenantModel]]) -> Iterable[type[TenantModel]]:
    return with_progress(models, "Tables", len(models))
