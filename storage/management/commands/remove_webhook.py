"""`manage.py remove_webhook`: stop sending events to a receiver."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from repository_site.core.terminal.command_line import RepositoryCommand


class Command(RepositoryCommand):
    help = (
        "Delete a webhook, with its messages that wait, its dead letters and its log. `list_webhooks` shows the ids.\n"
        "To stop it for a while, disable it in the back office or in the API instead."
    )
    examples = """\
  manage.py remove_webhook acme handbook 6f0b0a52-5c5a-4a6e-9d55-3f4f5d1c2b3a
"""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("collection", help="id of the collection")
        parser.add_argument("storage", help="id of the storage")
        parser.add_argument("webhook", help="id of the webhook")

    def handle(self, *args: Any, **options: Any) -> None:
        from storage.tenancy.contexts import storage_at
        from storage.tenancy.scope import tenant_scope
        from storage.webhooks.changing import delete_webhook

        storage = storage_at(options["collection"], options["storage"])
        with tenant_scope(storage):
            delete_webhook(storage, options["webhook"])
        self.stderr.write(f"The webhook {options['webhook']} of {storage} is deleted.")
