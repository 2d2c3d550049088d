"""`manage.py list_webhooks`: list the webhooks of a storage."""

from __future__ import annotations

import json
from typing import Any
from zoneinfo import ZoneInfo

from django.core.management.base import CommandParser

from repository_site.core.terminal.command_line import RepositoryCommand
from repository_site.core.terminal.text_table import text_table


class Command(RepositoryCommand):
    help = (
        "List the webhooks of a storage, oldest first, with the messages that wait and the dead letters. Secrets are\n"
        "never shown. `add_webhook` adds a webhook, `remove_webhook` deletes one."
    )
    examples = """\
  manage.py list_webhooks acme handbook
  manage.py list_webhooks acme handbook --json     for programs
"""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("collection", help="id of the collection")
        parser.add_argument("storage", help="id of the storage")
        parser.add_argument("--json", action="store_true", help="print a JSON list, for programs")

    def handle(self, *args: Any, **options: Any) -> None:
        from storage.models import DeliveryState, Webhook
        from storage.tenancy.contexts import storage_at
        from storage.tenancy.scope import tenant_scope
        from storage.webhooks.deliveries import undelivered_messages
        from storage.webhooks.documents import webhook_document

        storage = storage_at(options["collection"], options["storage"])
        with tenant_scope(storage):
            numbers = undelivered_messages()
            rows = []
            for webhook in Webhook.objects.all():
                document = webhook_document(webhook, ZoneInfo(storage.time_zone))
                left = {state: numbers.get((webhook.pk, state), 0) for state in DeliveryState.values}
                rows.append({**document, "waiting": left["waiting"], "deadLetters": left["dead"]})
        if options["json"]:
            self.stdout.write(json.dumps(rows, ensure_ascii=False, indent=2))
        elif rows:
            self.stdout.write(text_table([*_row(rows[0])], [[*_row(row).values()] for row in rows]))
        else:
            address = f"{options['collection']} {options['storage']}"
            self.stderr.write(
                f"There are no webhooks. Add one: manage.py add_webhook {address} https://example.org/hook"
            )


def _row(document: dict[str, Any]) -> dict[str, str]:
    only = [document[name] for name in ("facet", "elementType", "state") if name in document]
    return {
        "id": document["id"],
        "url": document["url"],
        "events": ",".join(document["events"]) or "all",
        "only": ",".join(only),
        "state": "enabled" if document["isEnabled"] else "disabled",
        "waiting": str(document["waiting"]),
        "dead": str(document["deadLetters"]),
        "reason": document.get("disabledReason", ""),
    }
