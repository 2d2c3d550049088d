"""`manage.py import_storage`: fill a storage from a transfer file."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from elements.transfer.importing import import_elements
from repository_site.core.command_line import RepositoryCommand
from repository_site.core.problems import Invalid
from storage.tenancy.contexts import storage_at


class Command(RepositoryCommand):
    help = (
        "Import elements from a transfer file (NDJSON, one element version a line; gzip when the name ends in .gz).\n"
        "Keeps ids, versions and time stamps, takes lines in any order, and is one transaction: when any line is bad,\n"
        "every problem is listed with its line number on stderr and nothing is imported."
    )
    examples = """\
  manage.py import_storage acme handbook handbook.ndjson.gz
  manage.py import_storage acme handbook handbook.ndjson --dry-run
  manage.py export_storage acme handbook - | manage.py import_storage acme copy -
"""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("collection", help="id of the collection")
        parser.add_argument("storage", help="id of the storage")
        parser.add_argument("file", help="the transfer file, or - for standard input")
        parser.add_argument("--dry-run", action="store_true", help="check and count, but import nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        storage = storage_at(options["collection"], options["storage"])
        try:
            result = import_elements(storage, options["file"], dry_run=options["dry_run"])
        except Invalid as problem:
            if problem.details == (problem.message,):
                raise
            for text in problem.details:
                self.stderr.write(text)
            raise CommandError(problem.message) from None
        verb = "would be imported" if options["dry_run"] else "imported"
        self.stderr.write(
            f"{storage}: {result.elements:,} elements, {result.versions:,} versions, {result.references:,} references,"
            f" {result.shapes:,} shapes {verb}."
        )
