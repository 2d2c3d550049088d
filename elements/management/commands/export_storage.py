"""`manage.py export_storage`: export the elements of a storage as a transfer file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.core.management.base import CommandParser

from repository_site.core.terminal.command_line import REPLICA_HELP, RepositoryCommand
from repository_site.core.terminal.progress import with_progress

if TYPE_CHECKING:
    from storage.models import Storage


class Command(RepositoryCommand):
    help = (
        "Export the elements of a storage as a transfer file (NDJSON, one element version per line; gzip if the name\n"
        "ends in .gz). `import_storage` imports it into another storage with the same type configuration, which\n"
        "`export_template` exports."
    )
    examples = """\
  manage.py export_storage acme handbook handbook.ndjson.gz
  manage.py export_storage acme handbook handbook.ndjson --files handbook-files.zip
  manage.py export_storage acme handbook - | head -1    show one element version
"""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("collection", help="id of the collection, such as acme")
        parser.add_argument("storage", help="id of the storage, such as handbook")
        parser.add_argument("file", help="file to write, or - for standard output")
        parser.add_argument("--files", type=Path, metavar="ZIP", help="archive to write the files of the elements to")
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
        self._export_files(storage, options["files"])

    def _export_files(self, storage: Storage, path: Path | None) -> None:
        from elements.transfer.file_archives import count_files, export_files

        if path is None:
            if count := count_files(storage):
                self.stderr.write(f"Their {count:,} files are not exported. To export them, use --files ZIP.")
            return
        written, missing = export_files(storage, path)
        self.stderr.write(f"{written:,} files exported to {path}.")
        if missing:
            self.stderr.write(f"The contents of {missing:,} files are missing on the server.")
