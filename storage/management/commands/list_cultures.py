"""`manage.py list_cultures`: list the cultures that a storage can have."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import CommandError, CommandParser

from repository_site.core.terminal.command_line import RepositoryCommand
from repository_site.core.terminal.text_table import text_table
from storage.localisation.culture_arguments import english_name, known_tags


class Command(RepositoryCommand):
    help = "List the cultures that a storage can have: LCID, language tag and English name."
    examples = """\
  manage.py list_cultures           all cultures
  manage.py list_cultures german    cultures whose tag or name contains a text
"""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("text", nargs="?", default="", help="part of a language tag or of an English name")
        parser.add_argument("--json", action="store_true", help="print a JSON list, for programs")

    def handle(self, *args: Any, **options: Any) -> None:
        wanted = options["text"].lower()
        rows = [
            {"id": lcid, "tag": tag, "name": name}
            for lcid, tag in known_tags().items()
            for name in [english_name(lcid)]
            if wanted in tag.lower() or wanted in name.lower()
        ]
        rows.sort(key=lambda row: str(row["tag"]))
        if options["json"]:
            self.stdout.write(json.dumps(rows, ensure_ascii=False, indent=2))
        elif rows:
            self.stdout.write(text_table(list(rows[0]), [[str(value) for value in row.values()] for row in rows]))
        else:
            raise CommandError(f"No culture contains {options['text']!r}; list all with: manage.py list_cultures")
