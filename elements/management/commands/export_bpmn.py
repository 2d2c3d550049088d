"""`manage.py export_bpmn`: export diagrams as BPMN 2.0 files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from elements.management.commands.import_bpmn import desk_of
from repository_site.core.terminal.command_line import RepositoryCommand
from repository_site.core.terminal.progress import with_progress
from storage.localisation.culture_arguments import culture_argument


class Command(RepositoryCommand):
    help = (
        "Export diagrams as BPMN 2.0 files: of one element into a file, or of all elements with shapes into a folder,\n"
        "one file for each, named by the id of the element. The newest versions are exported."
    )
    examples = """\
  manage.py export_bpmn acme handbook order.bpmn --element 6f1c…
  manage.py export_bpmn acme handbook models/
  manage.py export_bpmn acme handbook models/ --lcid de    names in German
"""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("collection", help="id of the collection, such as acme")
        parser.add_argument("storage", help="id of the storage, such as handbook")
        parser.add_argument("path", type=Path, help="file to write, or folder for all diagrams")
        parser.add_argument("--element", metavar="ID", help="element, or one of its versions")
        parser.add_argument(
            "--lcid",
            type=culture_argument,
            metavar="CULTURE",
            help="culture of the names, such as de or 1031; default: that of the storage",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        desk = desk_of(options)
        path: Path = options["path"]
        try:
            if options["element"]:
                path.write_bytes(desk.export(options["element"]))
                count = 1
            else:
                elements = desk.diagrams()
                path.mkdir(parents=True, exist_ok=True)
                for element, document in with_progress(desk.export_all(elements), "Exporting", len(elements)):
                    (path / f"{element}.bpmn").write_bytes(document)
                count = len(elements)
        except OSError as problem:
            raise CommandError(f"{path} cannot be written: {problem.strerror or problem}.") from None
        self.stderr.write(f"{desk.storage}: {count:,} diagrams exported to {path}.")
