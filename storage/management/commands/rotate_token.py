"""`manage.py rotate_token`: replace the value of an API token; the old value stays valid for a while."""

from __future__ import annotations

import argparse
import re
from datetime import timedelta
from typing import Any

from django.core.management.base import CommandParser

from repository_site.core.terminal.command_line import RepositoryCommand
from storage.management.validity_arguments import add_validity_argument
from storage.options import DEFAULT_OVERLAP

UNITS = {"m": "minutes", "h": "hours", "d": "days"}


def duration(text: str) -> timedelta:
    found = re.fullmatch(r"(\d{1,6})([mhd])", text)
    if text == "0":
        return timedelta(0)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r}: expected minutes, hours or days, such as 30m, 12h or 7d, or 0")
    return timedelta(**{UNITS[found[2]]: int(found[1])})


class Command(RepositoryCommand):
    help = (
        "Give an API token a new value. The command prints the value alone to stdout; it cannot be shown again.\n"
        "The old value stays valid for a day, or as long as --overlap says. `list_tokens` shows its last use.\n"
        "The token keeps its end; --valid-until gives it another one.\n"
        "When every program has the new value, --end-old ends the old value at once; it makes no new value."
    )
    examples = """\
  manage.py list_tokens acme handbook                           shows ids and names of tokens
  NEW=$(manage.py rotate_token acme handbook importer)          the old value is valid for one more day
  manage.py rotate_token acme handbook importer --overlap 7d    the old value is valid for seven more days
  manage.py rotate_token acme handbook importer --overlap 0     the old value leaked: end it at once
  manage.py rotate_token acme handbook importer --end-old       every program has the new value
  manage.py rotate_token acme handbook importer --valid-until 90d    the token is valid for 90 more days
"""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("collection", help="id of the collection, or _sysadmin")
        parser.add_argument("storage", help="id of the storage, or _admin")
        parser.add_argument("token", help="id or name of the token")
        which = parser.add_mutually_exclusive_group()
        which.add_argument(
            "--overlap",
            type=duration,
            default=DEFAULT_OVERLAP,
            metavar="TIME",
            help="time for which the old value stays valid: 30m, 12h, 7d, at most 30d, or 0; default: 1d",
        )
        add_validity_argument(parser, "the end of the token stays")
        which.add_argument("--end-old", action="store_true", help="end the old value of an earlier rotation at once")

    def handle(self, *args: Any, **options: Any) -> None:
        from storage.access.rotation import end_old_value, rotate_token
        from storage.access.tokens import find_token
        from storage.tenancy.contexts import context_at

        token = find_token(context_at(options["collection"], options["storage"]), options["token"])
        named = f"{token.name} ({token.id})"
        if options["end_old"]:
            ended = end_old_value(token)
            self.stderr.write(f"The old value of {named} {'has ended' if ended else 'had already ended'}.")
            return
        validity = options["valid_until"]
        issued = rotate_token(
            token,
            options["overlap"],
            valid_until=validity.in_zone_of(token.storage) if validity else None,
            never_expires=validity is not None and validity.moment is None,
        )
        end = issued.token.old_valid_until
        until = f"is valid until {end.isoformat(timespec='seconds').replace('+00:00', 'Z')}" if end else "has ended"
        self.stderr.write(f"{named} has a new value, which is not shown again; the old value {until}:")
        self.stdout.write(issued.value)
