"""`manage.py set_origins`: change which web pages may call the API of a storage."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from repository_site.core.terminal.command_line import RepositoryCommand


class Command(RepositoryCommand):
    help = (
        "Change which web pages of other origins may call the API of a storage from a browser (CORS). The given\n"
        "origins replace the earlier ones; without any, no page may call it. Pages still need a token."
    )
    examples = """\
  manage.py set_origins acme handbook https://app.example.org http://localhost:3000
  manage.py set_origins acme handbook
"""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("collection", help="id of the collection, such as acme")
        parser.add_argument("storage", help="id of the storage, such as handbook")
        parser.add_argument("origins", nargs="*", metavar="ORIGIN", help="origin, such as https://app.example.org")

    def handle(self, *args: Any, **options: Any) -> None:
        from storage.provisioning.provision import set_origins
        from storage.tenancy.contexts import storage_at

        storage = storage_at(options["collection"], options["storage"])
        set_origins(storage, options["origins"])
        self.stdout.write(f"{storage}: allowed origins: {', '.join(storage.origins) or 'none'}.")
