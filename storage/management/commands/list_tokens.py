"""`manage.py list_tokens`: list the API tokens of a storage, a collection or the site."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.core.management.base import CommandParser
from django.utils import timezone

from repository_site.core.terminal.command_line import RepositoryCommand
from repository_site.core.terminal.text_table import text_table

if TYPE_CHECKING:
    from storage.models import ApiToken


class Command(RepositoryCommand):
    help = (
        "List the API tokens of a storage, a collection or the site, oldest first, with their roles, validity, last\n"
        "use, limits, and the networks that they were used from or that were refused. The repository stores only\n"
        "digests and cannot show the tokens themselves."
    )
    examples = """\
  manage.py list_tokens acme handbook
  manage.py list_tokens acme _admin             tokens of the collection
  manage.py list_tokens _sysadmin _admin --json tokens of the site
"""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("collection", help="id of the collection, or _sysadmin")
        parser.add_argument("storage", help="id of the storage, or _admin")
        parser.add_argument("--json", action="store_true", help="print a JSON list, for programs")

    def handle(self, *args: Any, **options: Any) -> None:
        from storage.access.tokens import tokens_of
        from storage.tenancy.contexts import context_at

        context = context_at(options["collection"], options["storage"])
        now = timezone.now()
        rows = [
            _row(token, now) for token in tokens_of(context).select_related("provider").prefetch_related("addresses")
        ]
        if options["json"]:
            self.stdout.write(json.dumps(rows, ensure_ascii=False, indent=2))
        elif rows:
            self.stdout.write(text_table(list(rows[0]), [list(row.values()) for row in rows]))
        else:
            address = f"{options['collection']} {options['storage']}"
            self.stderr.write(
                f"There are no tokens. Issue one: manage.py issue_token {address} --name importer --role editor"
            )


def _row(token: ApiToken, now: datetime) -> dict[str, str]:
    return {
        "id": str(token.id),
        "name": token.name,
        "state": token.state(now),
        "roles": ",".join(token.roles),
        "user": str(token.user_id or ""),
        "validFrom": _moment(token.valid_from),
        "validUntil": _moment(token.valid_until),
        "lastUsed": _moment(token.last_used_on),
        "oldValidUntil": _moment(token.old_valid_until),
        "oldLastUsed": _moment(token.old_last_used_on),
        "networks": ",".join(token.networks),
        "scope": _scope(token),
        "addresses": ",".join(each.network for each in token.addresses.all() if not each.is_refused),
        "refused": ",".join(f"{each.network} ({each.requests})" for each in token.addresses.all() if each.is_refused),
    }


def _scope(token: ApiToken) -> str:
    parts = [f"scim={token.provider.key}"] if token.provider else []
    parts += ["read-only"] if token.is_read_only else []
    parts += [f"facets={','.join(token.facets)}"] if token.facets else []
    parts += [f"operations={','.join(token.operations)}"] if token.operations else []
    return " ".join(parts)


def _moment(instant: datetime | None) -> str:
    return instant.isoformat(timespec="seconds").replace("+00:00", "Z") if instant else ""
