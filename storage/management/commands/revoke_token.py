"""`manage.py revoke_token`: end the access of an API token."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from repository_site.core.terminal.command_line import RepositoryCommand


class Command(RepositoryCommand):
    help = (
        "Revoke an API token. The next request with it is refused. Name the token by its id, or by its name if\n"
        "only one active token has that name; `list_tokens` shows both."
    )
    examples = """\
  manage.py revoke_token acme handbook importer
  manage.py revoke_token acme handbook 6f0b0a52-5c5a-4a6e-9d55-3f4f5d1c2b3a
"""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("collection", help="id of the collection, or _sysadmin")
        parser.add_argument("storage", help="id of the storage, or _admin")
        parser.add_argument("token", help="id or name of the token")

    def handle(self, *args: Any, **options: Any) -> None:
        from storage.access.tokens import find_token, revoke_token
        from storage.tenancy.contexts import context_at

        token = find_token(context_at(options["collection"], options["storage"]), options["token"])
        changed = revoke_token(token)
        self.stderr.write(f"{token.name} ({token.id}) {'is revoked' if changed else 'was already revoked'}.")
