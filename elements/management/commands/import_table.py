"""`manage.py import_table`: import an edited table of elements."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.core.management.base import CommandError, CommandParser

from repository_site.core.problems import Problem
from repository_site.core.terminal.command_line import RepositoryCommand

if TYPE_CHECKING:
    from elements.tables.importing import TableReport


class Command(RepositoryCommand):
    help = (
        "Import a table of elements that was exported with $format=xlsx or $format=csv and edited. Rows with an id\n"
        "update that element, rows without one create an element. Only edited cells change. All rows are one\n"
        "transaction: if a cell has a problem, nothing is imported."
    )
    examples = """\
  manage.py import_table acme handbook systems.xlsx --dry-run    show what would change, cell by cell
  manage.py import_table acme handbook systems.xlsx
  manage.py import_table acme handbook new.csv --key 'name[1033]' --type system    find elements by their name
"""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("collection", help="id of the collection, such as acme")
        parser.add_argument("storage", help="id of the storage, such as handbook")
        parser.add_argument("file", type=Path, help="workbook (xlsx) or csv in UTF-8")
        parser.add_argument(
            "--key", default="", metavar="COLUMN", help="attribute that finds elements of rows without an id"
        )
        parser.add_argument("--type", default="", help="type of new elements in rows that name none, such as system")
        parser.add_argument(
            "--only", default="", choices=["new", "existing"], help="create or update elements, and leave others alone"
        )
        parser.add_argument("--dry-run", action="store_true", help="report what would change, but change nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        from elements.tables.files import TableFile, read_file
        from storage.tenancy.contexts import storage_at

        storage = storage_at(options["collection"], options["storage"])
        table = read_file(options["file"])
        try:
            report = TableFile(storage, table).run(
                options["key"], options["type"], options["only"], dry_run=options["dry_run"]
            )
        except Problem as problem:
            for text in problem.details if len(problem.details) > 1 else ():
                self.stderr.write(text)
            raise CommandError(problem.message) from None
        self._show(report, dry_run=options["dry_run"])
        if count := len(report.problems):
            raise CommandError(f"{count:,} problem{'' if count == 1 else 's'}; the table cannot be imported.")

    def _show(self, report: TableReport, *, dry_run: bool) -> None:
        if dry_run:
            for draft in report.changed:
                what = "new" if draft.is_new else str(draft.given.id)
                self.stdout.write(f"row {draft.row.number}: {what}")
                for each in draft.changes.values():
                    self.stdout.write(f"  {each.cell} {each.column}: {each.old!r} -> {each.new!r}")
        if report.ignored:
            self.stderr.write(f"Columns that are not imported: {', '.join(report.ignored)}.")
        for note in [*report.notes, *report.problems]:
            self.stderr.write(f"{note.cell}: {note.text}.")
        verb = "would be " if dry_run else ""
        counts = report.counts
        self.stderr.write(
            f"{counts['create']:,} elements {verb}created, {counts['update']:,} {verb}updated,"
            f" {counts['unchanged']:,} unchanged."
        )
