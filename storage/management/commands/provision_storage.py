"""`manage.py provision_storage`: create a storage."""

from __future__ import annotations

from dataclasses import fields
from typing import Any
from uuid import UUID

from django.core.management.base import CommandParser

from repository_site.core.problems import Conflict
from repository_site.core.terminal.command_line import RepositoryCommand
from storage.localisation.culture_arguments import culture_argument, cultures_argument
from storage.management.quota_arguments import add_quota_arguments
from storage.options import EVENT_DAYS, PAST_DAYS, STUCK_AFTER_DAYS, AnonymousAccess


class Command(RepositoryCommand):
    help = (
        "Create a storage (tenant), and its collection if that does not exist. The command prints the GUID of the\n"
        "tenant. It reports all invalid values together and then changes nothing. Cultures are language tags (de,\n"
        "en-GB, fr) or LCIDs (1031); `list_cultures` lists them."
    )
    examples = """\
  manage.py provision_storage acme handbook --title "ACME handbook"
  manage.py provision_storage acme handbuch --cultures de-CH,fr-CH,en --mandatory-cultures de-CH,fr-CH \\
      --region CH --time-zone Europe/Zurich
  manage.py provision_storage acme public --anonymous read --exist-ok
  manage.py provision_storage acme trial --quota-elements 10000 --quota-bytes 1000000000
"""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("collection", help="id of the collection, first segment of its addresses")
        parser.add_argument("key", metavar="storage", help="id of the storage, second segment of its addresses")
        parser.add_argument("--title", help="default: the id of the storage")
        parser.add_argument("--description", default="", help="default: empty")
        parser.add_argument("--template", default="standard", help="name or file; default: %(default)s")
        parser.add_argument(
            "--cultures",
            type=cultures_argument,
            metavar="CULTURE,CULTURE",
            help="data cultures in their order; default: the template's",
        )
        parser.add_argument(
            "--default-culture",
            type=culture_argument,
            metavar="CULTURE",
            help="default: the first of --cultures, or the template's",
        )
        parser.add_argument(
            "--mandatory-cultures",
            type=cultures_argument,
            metavar="CULTURE,CULTURE",
            help="cultures in which names are required; default: the template's, or the default culture",
        )
        parser.add_argument("--region", metavar="CODE", help="ISO region such as DE; default: the installation's")
        parser.add_argument("--time-zone", metavar="ZONE", help="such as Europe/Berlin; default: the installation's")
        parser.add_argument(
            "--anonymous",
            choices=AnonymousAccess.values,
            default=AnonymousAccess.NONE.value,
            help="access of callers without a credential; default: %(default)s",
        )
        parser.add_argument(
            "--stuck-after",
            dest="stuck_after_days",
            type=int,
            default=STUCK_AFTER_DAYS,
            metavar="DAYS",
            help="days after which an open release task counts as stuck; default: %(default)s",
        )
        parser.add_argument(
            "--event-days",
            type=int,
            default=EVENT_DAYS,
            metavar="DAYS",
            help="days for which events of changes are kept; default: %(default)s",
        )
        parser.add_argument(
            "--past-days",
            type=int,
            default=PAST_DAYS,
            metavar="DAYS",
            help="days for which former states are kept, for $asOf; default: %(default)s",
        )
        parser.add_argument(
            "--allowed-origins",
            nargs="+",
            default=(),
            metavar="ORIGIN",
            help="origins of web pages that may call the API, such as https://app.example.org; default: none",
        )
        add_quota_arguments(parser)
        parser.add_argument("--base", type=UUID, metavar="GUID", help="GUID of the base storage")
        parser.add_argument("--exist-ok", action="store_true", help="succeed without changes if the storage exists")

    def handle(self, *args: Any, **options: Any) -> None:
        from storage.provisioning.provision import StorageRequest, provision_storage
        from storage.tenancy.contexts import read_storage

        address = (options["collection"], options["key"])
        existing = read_storage(*address) if options["exist_ok"] else None
        try:
            given = {field.name: options[field.name] for field in fields(StorageRequest)}
            storage = existing or provision_storage(StorageRequest(**given))
        except Conflict:
            # Someone else created it after the look-up.
            existing = read_storage(*address) if options["exist_ok"] else None
            if existing is None:
                raise
            storage = existing
        self.stderr.write(f"{storage} {'already exists' if existing else 'is ready'}.")
        self.stdout.write(str(storage.id))
