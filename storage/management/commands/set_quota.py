"""`manage.py set_quota`: change the quotas of a storage, or of a collection."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandError, CommandParser

from repository_site.core.terminal.command_line import RepositoryCommand
from storage.management.quota_arguments import HELP, add_quota_arguments
from storage.tenancy.addresses import ADMINISTRATION_KEY

NONE = "none"
COLLECTION_QUOTA = "quota_storages"


class Command(RepositoryCommand):
    help = (
        "Change the quotas of a storage: the largest numbers of elements, bytes, files and changes in the history.\n"
        f"`{NONE}` removes a quota. The command measures the storage and prints what it uses. A storage that exceeds\n"
        "a new quota stays as it is, but cannot grow. Without a storage, the command changes the number of storages\n"
        f"that the API provisions in a collection; `{NONE}` restores the default of the installation\n"
        "(REPOSITORY_MAX_STORAGES)."
    )
    examples = """\
  manage.py set_quota acme handbook --quota-elements 50000
  manage.py set_quota acme handbook --quota-elements none --quota-bytes 2000000000
  manage.py set_quota acme --quota-storages 20
"""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("collection", help="id of the collection, such as acme")
        parser.add_argument("storage", nargs="?", help="id of the storage, such as handbook")
        add_quota_arguments(parser, type=_number, default=argparse.SUPPRESS)
        parser.add_argument(
            f"--{COLLECTION_QUOTA.replace('_', '-')}",
            metavar="NUMBER",
            type=_number,
            default=argparse.SUPPRESS,
            help="largest number of storages that the API provisions in the collection",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        given = {name: options[f"quota_{name}"] for name in HELP if f"quota_{name}" in options}
        if options["storage"] is None:
            if given:
                raise CommandError("Name the storage as well: only --quota-storages is a quota of a collection.")
            self._limit_collection(options)
        elif COLLECTION_QUOTA in options:
            raise CommandError("--quota-storages is a quota of a collection: leave out the storage.")
        elif not given:
            raise CommandError("Name at least one quota, such as --quota-elements 50000.")
        else:
            self._limit_storage(options, given)

    def _limit_collection(self, options: Mapping[str, Any]) -> None:
        from storage.provisioning.collection_quotas import read_storage_numbers
        from storage.provisioning.provision import set_storage_quota
        from storage.tenancy.contexts import context_at

        if COLLECTION_QUOTA not in options:
            raise CommandError("Name a storage and its quotas, or --quota-storages for the collection.")
        collection = context_at(options["collection"], ADMINISTRATION_KEY).collection
        if collection is None:
            raise CommandError("Name a collection, such as acme.")
        set_storage_quota(collection, options[COLLECTION_QUOTA])
        used, most = read_storage_numbers([collection.pk])[collection.pk]
        self.stdout.write(f"{collection}: {used} of {most} storages")

    def _limit_storage(self, options: Mapping[str, Any], given: Mapping[str, int | None]) -> None:
        from storage.provisioning.provision import set_quota
        from storage.quotas import quota_of, read_use, use_in_words
        from storage.tenancy.contexts import storage_at

        storage = storage_at(options["collection"], options["storage"])
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
