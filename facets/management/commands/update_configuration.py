"""`manage.py update_configuration`: change the type configuration of a storage to that of a template."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from repository_site.core.terminal.command_line import RepositoryCommand


class Command(RepositoryCommand):
    help = (
        "Change the type configuration of a storage to that of a template.\n\n"
        "Prints one line per difference: + added, - removed, ~ changed. If the change would orphan stored content,\n"
        "such as the elements of a removed type, the command lists that content and changes nothing."
    )
    examples = """\
  manage.py export_template acme handbook > own.json                edit own.json, then:
  manage.py update_configuration acme handbook own.json --dry-run   show the differences only
  manage.py update_configuration acme handbook own.json
  manage.py update_configuration acme handbook standard             return to the standard template
"""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("collection", help="id of the collection")
        parser.add_argument("storage", help="id of the storage")
        parser.add_argument("template", help="name of an installed template, or path of a JSON file")
        parser.add_argument("--dry-run", action="store_true", help="show the differences, but change nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        from facets.changing.changes import change_configuration, plan_change
        from facets.template_format.reading import read_template
        from facets.template_format.set_section import read_set_section
        from storage.provisioning.templates import load_template
        from storage.tenancy.contexts import storage_at

        sections = load_template(options["template"]).sections
        new = read_template(sections), read_set_section(sections)
        storage = storage_at(options["collection"], options["storage"])
        change = plan_change(storage, *new) if options["dry_run"] else change_configuration(storage, *new)
        for line in change.differences:
            self.stdout.write(line)
        if change.obstacles:
            raise CommandError(" | ".join(["The change would orphan stored content.", *change.obstacles]))
        count = len(change.differences)
        differences = "1 difference" if count == 1 else f"{count or 'no'} differences"
        done = "; nothing was changed" if options["dry_run"] else " applied" if count else ""
        self.stderr.write(f"{storage}: {differences}{done}.")
