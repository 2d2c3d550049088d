"""`manage.py import_storage`: import a transfer file into a storage."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from django.core.management.base import CommandError, CommandParser

from repository_site.core.problems import Invalid
from repository_site.core.terminal.command_line import RepositoryCommand


class Command(RepositoryCommand):
    help = (
        "Import elements from a transfer file (NDJSON, one element version per line; gzip if the name ends in .gz).\n"
        "The storage needs the type configuration that the file was made for; `list_storages` lists the storages.\n"
        "Import keeps ids, versions and time stamps, accepts lines in any order, and runs in one transaction: if any\n"
        "line is wrong, nothing is imported. Problems go to stderr with their line numbers, grouped by kind."
    )
    examples = """\
  manage.py import_storage acme handbook handbook.ndjson.gz --dry-run    check the file first
  manage.py import_storage acme handbook handbook.ndjson.gz
  manage.py import_storage acme handbook handbook.ndjson --problems problems.txt
  manage.py import_storage acme handbook handbook.ndjson --files handbook-files.zip
  manage.py export_storage acme handbook - | manage.py import_storage acme copy -
"""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("collection", help="id of the collection, such as acme")
        parser.add_argument("storage", help="id of the storage, such as handbook")
        parser.add_argument("file", help="transfer file, or - for standard input")
        parser.add_argument("--dry-run", action="store_true", help="check and count, but import nothing")
        parser.add_argument("--files", type=Path, metavar="ZIP", help="archive of the files that the lines name")
        parser.add_argument("--problems", metavar="FILE", help="write all problems to this file, one per line")

    def handle(self, *args: Any, **options: Any) -> None:
        from elements.transfer.importing import import_elements
        from storage.tenancy.contexts import storage_at

        storage = storage_at(options["collection"], options["storage"])
        try:
            result = import_elements(storage, options["file"], dry_run=options["dry_run"], files=options["files"])
        except Invalid as problem:
            if problem.details == (problem.message,):
                raise
            self._refuse(problem, options["problems"])
        verb = "would be imported" if options["dry_run"] else "imported"
        self.stderr.write(
            f"{storage}: {result.elements:,} elements, {result.versions:,} versions, {result.references:,} references,"
            f" {result.shapes:,} shapes {verb}."
        )

    def _refuse(self, problem: Invalid, path: str | None) -> NoReturn:
        from elements.transfer.problem_summary import summarize

        shown = list(summarize(problem.details))
        for text in shown:
            self.stderr.write(text)
        if path is not None:
            _write_problems(path, problem.details)
            raise CommandError(f"{problem.message} All problems are in {path}.")
        hint = "" if len(shown) == len(problem.details) else " Write all problems to a file with --problems FILE."
        raise CommandError(problem.message + hint)


def _write_problems(path: str, problems: Sequence[str]) -> None:
    try:
        Path(path).write_text("".join(f"{text}\n" for text in problems), encoding="utf-8")
    except OSError as problem:
        raise CommandError(f"{path} cannot be written: {problem.strerror or problem}.") from None
