"""`manage.py provision_storage`: make a new tenant."""

from __future__ import annotations

import argparse
from typing import Any
from uuid import UUID

from django.core.management.base import CommandParser

from repository_site.core.command_line import RepositoryCommand
from repository_site.core.problems import Conflict
from storage.models import AnonymousAccess, Storage
from storage.models.storages import STUCK_AFTER_DAYS
from storage.provisioning.provision import StorageRequest, provision_storage
from storage.tenancy.contexts import read_storage


def lcids(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: expected culture ids such as 1031,1033") from None


class Command(RepositoryCommand):
    help = (
        "Make a new storage (tenant), and its collection when that is new. Prints the tenant's GUID. All or nothing:\n"
        "bad values are reported together and change nothing."
    )
    examples = """\
  manage.py provision_storage acme handbook --title "ACME handbook"
  manage.py provision_storage acme handbuch --cultures 1031,1033 --default-culture 1031 \\
      --mandatory-cultures 1031,1033 --region CH --time-zone Europe/Zurich
  manage.py provision_storage acme public --anonymous read --exist-ok
"""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("collection", help="id of the collection, first segment of its addresses")
        parser.add_argument("storage", help="id of the storage, second segment of its addresses")
        parser.add_argument("--title", help="default: the id of the storage")
        parser.add_argument("--description", default="")
        parser.add_argument("--template", default="standard", help="name or file; default: %(default)s")
        parser.add_argument(
            "--cultures", type=lcids, metavar="LCID,LCID", help="data cultures in order; default: the template's"
        )
        parser.add_argument(
            "--default-culture", type=int, metavar="LCID", help="default: the template's, or the first of --cultures"
        )
        parser.add_argument(
            "--mandatory-cultures",
            type=lcids,
            metavar="LCID,LCID",
            help="default: the template's, or the default culture alone",
        )
        parser.add_argument("--region", metavar="CODE", help="ISO region such as DE; default: the installation's")
        parser.add_argument("--time-zone", metavar="ZONE", help="such as Europe/Berlin; default: the installation's")
        parser.add_argument(
            "--anonymous",
            choices=AnonymousAccess.values,
            default=AnonymousAccess.NONE.value,
            help="what callers without a credential may do; default: %(default)s",
        )
        parser.add_argument(
            "--stuck-after",
            type=int,
            default=STUCK_AFTER_DAYS,
            metavar="DAYS",
            help="a release task that is open for longer is stuck; default: %(default)s",
        )
        parser.add_argument("--base", type=UUID, metavar="GUID", help="tenant of the base storage")
        parser.add_argument(
            "--exist-ok", action="store_true", help="an existing storage is left as it is and counts as success"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        address = (options["collection"], options["storage"])
        existing = read_storage(*address) if options["exist_ok"] else None
        try:
            storage = existing or self._provision(options)
        except Conflict:
            # Made by somebody else since we looked.
            existing = read_storage(*address) if options["exist_ok"] else None
            if existing is None:
                raise
            storage = existing
        self.stderr.write(f"{storage} {'is there already' if existing else 'is ready'}.")
        self.stdout.write(str(storage.id))

    def _provision(self, options: dict[str, Any]) -> Storage:
        return provision_storage(
            StorageRequest(
                collection=options["collection"],
                key=options["storage"],
                title=options["title"],
                description=options["description"],
                template=options["template"],
                cultures=options["cultures"],
                default_culture=options["default_culture"],
                mandatory_cultures=options["mandatory_cultures"],
                region=options["region"],
                time_zone=options["time_zone"],
                anonymous=options["anonymous"],
                base=options["base"],
                stuck_after_days=options["stuck_after"],
            )
        )
