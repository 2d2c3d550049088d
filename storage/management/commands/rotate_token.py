"""`manage.py rotate_token`: a new value for a token, while the old one still works for a while."""

from __future__ import annotations

import argparse
import re
from datetime import timedelta
from typing import Any

from django.core.management.base import CommandParser

from repository_site.core.command_line import RepositoryCommand
from storage.access.rotation import DEFAULT_OVERLAP, end_old_value, rotate_token
from storage.access.tokens import find_token
from storage.tenancy.contexts import find_context

UNITS = {"m": "minutes", "h": "hours", "d": "days"}


def duration(text: str) -> timedelta:
    found = re.fullmatch(r"(\d{1,6})([mhd])", text)
    if text == "0":
        return timedelta(0)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a number of minutes, hours or days: 30m, 12h, 7d, or 0")
    return timedelta(**{UNITS[found[2]]: int(found[1])})


class Command(RepositoryCommand):
    help = (
        "Give an API token a new value. The value alone goes to stdout, and is shown this once only. The old value is\n"
        "taken for a day, or as long as --overlap says; `list_tokens` shows when it was used last. --end-old ends it\n"
        "at once and makes no new value."
    )
    examples = """\
  NEW=$(manage.py rotate_token acme handbook importer)
  manage.py rotate_token acme handbook importer --overlap 7d
  manage.py rotate_token acme handbook importer --overlap 0       the old value has become known
  manage.py rotate_token acme handbook importer --end-old         everybody has the new value
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
            help="how long the old value is still taken: 30m, 12h, 7d, at most 30d; 0 ends it at once (default: 1d)",
        )
        which.add_argument("--end-old", action="store_true", help="end the old value of an earlier rotation now")

    def handle(self, *args: Any, **options: Any) -> None:
        token = find_token(find_context(options["collection"], options["storage"]), options["token"])
        named = f"{token.name} ({token.id})"
        if options["end_old"]:
            ended = end_old_value(token)
            self.stderr.write(f"The old value of {named} {'has ended' if ended else 'had ended before'}.")
            return
        issued = rotate_token(token, options["overlap"])
        end = issued.token.old_valid_until
        until = f"is taken until {end.isoformat(timespec='seconds').replace('+00:00', 'Z')}" if end else "has ended"
        self.stderr.write(f"{named} has a new value, shown only now; the old one {until}:")
        self.stdout.write(issued.value)
