"""`manage.py set_event_days`: change for how long a storage keeps its events."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from repository_site.core.terminal.command_line import RepositoryCommand


class Command(RepositoryCommand):
    help = (
        "Change for how many days clients can read what has changed in a storage. Older events are deleted at night;\n"
        "then a client that has not read them gets 410 with the oldest valid cursor."
    )
    examples = """\
  manage.py set_event_days acme handbook 30
"""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("collection", help="id of the collection, such as acme")
        parser.add_argument("storage", help="id of the storage, such as handbook")
        parser.add_argument("days", type=int, help="days, such as 90")

    def handle(self, *args: Any, **options: Any) -> None:
        from storage.provisioning.provision import set_event_days
        from storage.tenancy.contexts import storage_at

        storage = storage_at(options["collection"], options["storage"])
        set_event_days(storage, options["days"])
        self.stdout.write(f"{storage}: events are kept for {storage.event_days} days.")
