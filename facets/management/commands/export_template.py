"""`manage.py export_template`: print the type configuration of a storage as a template."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from repository_site.core.terminal.command_line import RepositoryCommand


class Command(RepositoryCommand):
    help = (
        "Print the type configuration of a storage as a template in JSON.\n\n"
        "The template has facets, views, types, release cycles and validation rules, but no content. Use it to\n"
        "provision a storage with the same configuration, or edit it and apply it with update_configuration."
    )
    examples = """\
  manage.py export_template acme handbook > own.json
  manage.py export_template acme handbook --name own --title "Our process house" > own.json
  manage.py provision_storage acme second --template own.json
"""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("collection", help="id of the collection")
        parser.add_argument("storage", help="id of the storage")
        parser.add_argument("--name", help="name of the template; default: the name of the storage's template")
        parser.add_argument("--title", help="title of the template; default: the title of the storage")

    def handle(self, *args: Any, **options: Any) -> None:
        from facets.template_format.exporting import export_template
        from storage.tenancy.contexts import storage_at

        storage = storage_at(options["collection"], options["storage"])
        self.stdout.write(export_template(storage, options["name"] or "", options["title"] or ""), ending="")
