"""`manage.py set_quota`: change the quotas of a storage."""

from __future__ import annotations

import argparse
from typing import Any

from django.core.management.base import CommandError, CommandParser

from repository_site.core.terminal.command_line import RepositoryCommand
from storage.management.quota_arguments import HELP, add_quota_arguments

NONE = "none"


class Command(RepositoryCommand):
    help = (
        "Change the quotas of a storage: the largest numbers of elements, bytes, files and changes in the history.\n"
        f"`{NONE}` removes a quota. The command measures the storage and prints what it uses. A storage that exceeds\n"
        "a new quota stays as it is, but cannot grow."
    )
    examples = """\
  manage.py set_quota acme handbook --quota-elements 50000
  manage.py set_quota acme handbook --quota-elements none --quota-bytes 2000000000
"""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("collection", help="id of the collection, such as acme")
        parser.add_argument("storage", help="id of the storage, such as handbook")
        add_quota_arguments(parser, type=_number, default=argparse.SUPPRESS)

    def handle(self, *args: Any, **options: Any) -> None:
        from storage.provisioning.provision import set_quota
        from storage.quotas import quota_of, read_use, use_in_words
        from storage.tenancy.contexts import storage_at

        storage = storage_at(options["collection"], options["storage"])
        given = {name: options[f"quota_{name}"] for name in HELP if f"quota_{name}" in options}
        if not given:
            raise CommandError("Name at least one quota, such as --quota-elements 50000.")
        set_quota(storage, given)
        use = read_use([storage]).get(storage.pk, {})
        quota = quota_of(storage)
        self.stdout.write(f"{storage}: {use_in_words(quota, use) if quota else 'no quotas'}")


def _number(text: str) -> int | None:
    if text == NONE:
        return None
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a whole number or {NONE}, not {text!r}")
    return int(text)
