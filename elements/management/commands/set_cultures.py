"""`manage.py set_cultures`: add, change and remove the data cultures of a storage."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from repository_site.core.terminal.command_line import RepositoryCommand
from storage.localisation.culture_arguments import cultures_argument


class Command(RepositoryCommand):
    help = (
        "Add data cultures to a storage, make them mandatory or optional, and remove them. A culture in use is\n"
        "removed only with its values; --preview shows what uses it."
    )
    examples = """\
  manage.py set_cultures acme handbook --add fr --mandatory fr
  manage.py set_cultures acme handbook --remove 1036 --preview
  manage.py set_cultures acme handbook --remove 1036 --with-values
"""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("collection", help="id of the collection")
        parser.add_argument("storage", help="id of the storage")
        for name, text in (
            ("add", "cultures to add, such as fr or 1036,1040"),
            ("mandatory", "cultures in which validation rules require values"),
            ("optional", "cultures that are no longer mandatory"),
            ("remove", "cultures to remove"),
        ):
            parser.add_argument(f"--{name}", type=cultures_argument, default=[], metavar="CULTURES", help=text)
        parser.add_argument("--with-values", action="store_true", help="remove cultures with the values in them")
        parser.add_argument("--preview", action="store_true", help="show what uses the cultures; change nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        from django.db import transaction

        from elements.cultures.changing import add_culture, remove_culture, set_mandatory
        from elements.cultures.clearing import clear_values
        from elements.cultures.uses import find_uses
        from repository_site.core.terminal.progress import with_progress
        from storage.tenancy.contexts import storages_at
        from storage.tenancy.scope import tenant_scope

        [storage] = storages_at(options["collection"], options["storage"])
        named = [*options["add"], *options["mandatory"], *options["optional"], *options["remove"]]
        if not named:
            raise CommandError("Name cultures with --add, --mandatory, --optional or --remove.")
        if options["preview"]:
            with tenant_scope(storage):
                for lcid in dict.fromkeys(named):
                    uses = ", ".join(find_uses(lcid).texts())
                    self.stdout.write(f"{lcid}: {uses or 'nothing uses it'}")
            return
        with transaction.atomic():
            for lcid in options["add"]:
                add_culture(storage, lcid)
            for lcid in options["mandatory"]:
                set_mandatory(storage, lcid, is_mandatory=True)
            for lcid in options["optional"]:
                set_mandatory(storage, lcid, is_mandatory=False)
            used = [
                lcid for lcid in options["remove"] if remove_culture(storage, lcid, with_values=options["with_values"])
            ]
        for lcid in used:
            cleared = sum(with_progress(clear_values(storage, lcid), f"{storage}: values in {lcid}"))
            self.stdout.write(f"{lcid}: removed its values from {cleared:,} versions and diagrams")
        cultures = storage.culture_set()
        self.stdout.write(
            f"{storage}: {', '.join(map(str, cultures.data))}; default {cultures.default}; mandatory"
            f" {', '.join(map(str, cultures.mandatory)) or 'none'}"
        )
