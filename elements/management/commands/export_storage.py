"""`manage.py export_storage`: export the elements of a storage as a transfer file."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from repository_site.core.terminal.command_line import REPLICA_HELP, RepositoryCommand
from repository_site.core.terminal.progress import with_progress


class Command(RepositoryCommand):
    help = (
        "Export the elements of a storage as a transfer file (NDJSON, one element version per line; gzip if the name\n"
        "ends in .gz). `import_storage` imports it into another storage with the same type configuration, which\n"
        "`export_template` exports."
    )
    examples = """\
  manage.py export_storage acme handbook handbook.ndjson.gz
  manage.py export_storage acme handbook - | head -1    show one element version
"""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("collection", help="id of the collection, such as acme")
        parser.add_argument("storage", help="id of the storage, such as handbook")
        parser.add_argument("file", help="file to write, or - for standard output")
        parser.add_argument("--replica", action="store_true", help=REPLICA_HELP)

    def handle(self, *args: Any, **options: Any) -> None:
        from elements.transfer.exporting import count_versions, export_lines
        from elements.transfer.files import writing
        from repository_site.core.database.replica import reading_for_command
        from storage.tenancy.contexts import storage_at

        storage = storage_at(options["collection"], options["storage"])
        count = 0
        reading = reading_for_command(from_replica=options["replica"], say=self.stderr.write)
        with reading, writing(options["file"]) as file:
            for line in with_progress(export_lines(storage), "Exporting", count_versions(storage)):
                file.write(line)
                count += 1
        self.stderr.write(f"{storage}: {count:,} element versions exported.")
