"""`manage.py set_past_days`: change for how long a storage keeps its former states."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from repository_site.core.terminal.command_line import RepositoryCommand


class Command(RepositoryCommand):
    help = (
        "Change for how many days a storage keeps its former states, which clients read with $asOf. A worker deletes\n"
        "older states at night. A client that asks for an earlier time then gets 422 with the earliest one."
    )
    examples = """\
  manage.py set_past_days acme handbook 365
"""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("collection", help="id of the collection, such as acme")
        parser.add_argument("storage", help="id of the storage, such as handbook")
        parser.add_argument("days", type=int, help="days, such as 365")

    def handle(self, *args: Any, **options: Any) -> None:
        from storage.provisioning.provision import set_past_days
        from storage.tenancy.contexts import storage_at

        storage = storage_at(options["collection"], options["storage"])
        set_past_days(storage, options["days"])
        self.stdout.write(f"{storage}: former states are kept for {storage.past_days} days.")
