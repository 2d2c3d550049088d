"""`manage.py issue_token`: give a program access to a storage, a collection or the site."""

from __future__ import annotations

import argparse
from datetime import date, datetime, time, timedelta
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from django.conf import settings
from django.core.management.base import CommandParser

from repository_site.core.terminal.command_line import RepositoryCommand
from storage.options import Role

NO_END = date(9999, 12, 31)


def last_moment(text: str) -> datetime | None:
    """Return the end of a date, or a date-time; the command adds the zone of the storage. None means no end."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        day = None
    try:
        if day is None:
            return datetime.fromisoformat(text)
        return None if day == NO_END else datetime.combine(day + timedelta(days=1), time())
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a date such as 2027-12-31, or a date-time") from None


class Command(RepositoryCommand):
    help = (
        "Issue an API token. The command prints the token alone to stdout. Keep it: the repository stores only a\n"
        "digest and cannot show it again. `list_tokens` lists tokens, `rotate_token` replaces the value of one."
    )
    examples = """\
  manage.py issue_token acme handbook --name "intranet search" --role viewer
  TOKEN=$(manage.py issue_token acme handbook --name importer --role editor --valid-until 2027-12-31)
  manage.py issue_token acme _admin --name ops --role administrator        for the administration of a collection
  manage.py issue_token _sysadmin _admin --name ops --role administrator   for the administration of the site
"""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("collection", help="id of the collection, or _sysadmin")
        parser.add_argument("storage", help="id of the storage, or _admin")
        parser.add_argument("--name", required=True, help="purpose of the token, shown in lists")
        parser.add_argument(
            "--role",
            required=True,
            action="append",
            nargs="+",
            choices=[role.value for role in Role],
            help="role of the token; repeat the option for several roles",
        )
        parser.add_argument("--user", type=UUID, metavar="ID", help="id of the user element that uses the token")
        parser.add_argument(
            "--valid-until",
            type=last_moment,
            metavar="DATE",
            help="last day, such as 2027-12-31, or date-time, in the time zone of the storage; default: no end",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        from storage.access.tokens import issue_token
        from storage.tenancy.contexts import context_at

        context = context_at(options["collection"], options["storage"])
        zone = ZoneInfo(context.storage.time_zone if context.storage else settings.DEFAULT_TIME_ZONE)
        end: datetime | None = options["valid_until"]
        if end is not None and end.tzinfo is None:
            end = end.replace(tzinfo=zone)
        issued = issue_token(
            context,
            options["name"],
            [Role(name) for names in options["role"] for name in names],
            user_id=options["user"],
            valid_until=end,
        )
        self.stderr.write(f"Token {issued.token.id} for {context.path.strip('/')}; it is not shown again:")
        self.stdout.write(issued.value)
