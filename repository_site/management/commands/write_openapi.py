"""`manage.py write_openapi`: write the OpenAPI document."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from repository_site.core.terminal.command_line import RepositoryCommand


class Command(RepositoryCommand):
    help = "Write the OpenAPI document, which every storage serves at _api/schema. Needs no running server."
    examples = """\
  manage.py write_openapi                       write to standard output
  manage.py write_openapi --into openapi.json   write to a file
"""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--into", metavar="FILE", help="file to write to, instead of standard output")

    def handle(self, *args: Any, **options: Any) -> None:
        from repository_site.api_document.document import snapshot

        if not options["into"]:
            self.stdout.write(snapshot(), ending="")
            return
        path = Path(options["into"])
        try:
            path.write_text(snapshot(), encoding="utf-8")
        except OSError as problem:
            raise CommandError(f"{path}: {problem.strerror}") from None
        self.stderr.write(f"{path} is up to date.")
