"""`manage.py import_bpmn`: import BPMN 2.0 files into diagrams."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.core.management.base import CommandError, CommandParser

from repository_site.core.problems import Problem
from repository_site.core.terminal.command_line import RepositoryCommand, one_line
from repository_site.core.terminal.progress import with_progress
from storage.localisation.culture_arguments import culture_argument

if TYPE_CHECKING:
    from elements.bpmn.files import BpmnDesk
    from elements.bpmn.importing import ImportReport


class Command(RepositoryCommand):
    help = (
        "Import BPMN 2.0 files. With --element, one file replaces the diagram of an element. With --below, each file\n"
        "becomes a draft process below a parent; a process of the same name there is updated. The same file again\n"
        "changes nothing. Each file is one transaction: a wrong file is reported, and the others are imported."
    )
    examples = """\
  manage.py import_bpmn acme handbook order.bpmn --element 6f1c…    replace one diagram
  manage.py import_bpmn acme handbook models/ --below 9d2e… --dry-run    show what a folder would change
  manage.py import_bpmn acme handbook models/ --below 9d2e… --lcid de
"""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("collection", help="id of the collection, such as acme")
        parser.add_argument("storage", help="id of the storage, such as handbook")
        parser.add_argument("path", type=Path, help="file, or folder with files *.bpmn, *.bpmn2 and *.xml")
        place = parser.add_mutually_exclusive_group(required=True)
        place.add_argument("--element", metavar="ID", help="element whose diagram the file replaces")
        place.add_argument("--below", metavar="ID", help="parent of the processes; missing ones are created as drafts")
        parser.add_argument("--type", help="type of new processes, such as subProcess")
        parser.add_argument(
            "--lcid",
            type=culture_argument,
            metavar="CULTURE",
            help="culture of the names, such as de or 1031; default: that of the storage",
        )
        parser.add_argument("--dry-run", action="store_true", help="report what would change, but change nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        from elements.bpmn.files import bpmn_files

        files = bpmn_files(options["path"])
        if options["element"] and len(files) != 1:
            raise CommandError("--element needs one file. Import a folder with --below.")
        if not files:
            raise CommandError(f"{options['path']} has no files *.bpmn, *.bpmn2 or *.xml.")
        desk = desk_of(options)
        reports, refused = [], []
        for path in with_progress(files, "Importing", len(files)):
            try:
                reports.append(self._import(desk, path, options))
            except Problem as problem:
                refused.append(f"{path}: {one_line(problem)}")
        for text in refused:
            self.stderr.write(text)
        self._summarize(reports, dry_run=options["dry_run"])
        if refused:
            raise CommandError(f"{len(refused)} of {len(files)} files were refused; nothing of them was imported.")

    def _import(self, desk: BpmnDesk, path: Path, options: dict[str, Any]) -> ImportReport:
        from elements.bpmn.files import read_file

        if options["element"]:
            return desk.import_into(options["element"], read_file(path), dry_run=options["dry_run"])
        return desk.import_below(options["below"], options["type"], path, dry_run=options["dry_run"])

    def _summarize(self, reports: list[ImportReport], *, dry_run: bool) -> None:
        counts = [each.counts for each in reports]
        total = {name: sum(each[name] for each in counts) for name in counts[0]} if counts else {}
        verb = "would be imported" if dry_run else "imported"
        parts = ", ".join(f"{number:,} {name}" for name, number in total.items())
        self.stderr.write(f"{len(reports):,} files {verb}: {parts}." if parts else "No file was imported.")


def desk_of(options: dict[str, Any]) -> BpmnDesk:
    """Return the desk of the storage and the culture that the arguments name."""
    from elements.bpmn.files import BpmnDesk
    from facets.configuration import configuration_of
    from storage.tenancy.contexts import storage_at
    from storage.tenancy.scope import tenant_scope

    storage = storage_at(options["collection"], options["storage"])
    with tenant_scope(storage):
        cultures = configuration_of(storage).cultures
    if options["lcid"] is not None and options["lcid"] not in cultures.data:
        known = ", ".join(map(str, cultures.data))
        raise CommandError(f"{options['lcid']} is not a culture of this storage; it has {known}.")
    return BpmnDesk(storage, options["lcid"] or cultures.default)
