"""`manage.py export_template`: the configuration of a storage as a template."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import CommandParser

from facets.row_reading import read_configuration
from facets.template_writing import write_template
from repository_site.command_line import RepositoryCommand
from storage.contexts import storage_at
from storage.tenancy import tenant_scope


class Command(RepositoryCommand):
    help = (
        "Print the type configuration of a storage as a template, from which an equal one can be provisioned. Types,\n"
        "facets and views only: no content."
    )
    examples = """\
  manage.py export_template acme handbook > own.json
  manage.py export_template acme handbook --name own --title "Our process house" > own.json
  manage.py provision_storage acme second --template own.json
"""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("collection")
        parser.add_argument("storage")
        parser.add_argument("--name", help="name of the template; default: that of the storage's template")
        parser.add_argument("--title", help="default: the title of the storage")

    def handle(self, *args: Any, **options: Any) -> None:
        storage = storage_at(options["collection"], options["storage"])
        with tenant_scope(storage):
            stored = read_configuration()
        document = write_template(
            options["name"] or storage.template,
            options["title"] or storage.title or storage.key,
            stored.cultures,
            stored.blueprint,
        )
        self.stdout.write(json.dumps(document, ensure_ascii=False, indent=2))
