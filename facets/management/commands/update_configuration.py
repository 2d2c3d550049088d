"""`manage.py update_configuration`: bring a storage to what a template says."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from facets.changing.changes import change_configuration, plan_change
from facets.template_format.reading import read_template
from repository_site.core.command_line import RepositoryCommand
from storage.provisioning.templates import load_template
from storage.tenancy.contexts import storage_at


class Command(RepositoryCommand):
    help = (
        "Bring the type configuration of a storage to what a template says. Prints the differences (+ comes, - goes,\n"
        "~ changes). Refuses, naming it, what would orphan stored content: a type or property that is still in use."
    )
    examples = """\
  manage.py update_configuration acme handbook standard --dry-run   only show what would change
  manage.py update_configuration acme handbook own.json
"""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("collection")
        parser.add_argument("storage")
        parser.add_argument("template", help="name or file")
        parser.add_argument("--dry-run", action="store_true", help="show, but change nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        storage = storage_at(options["collection"], options["storage"])
        new = read_template(load_template(options["template"]).sections)
        change = plan_change(storage, new) if options["dry_run"] else change_configuration(storage, new)
        for line in change.differences:
            self.stdout.write(line)
        if change.obstacles:
            raise CommandError(" | ".join(["The change would be refused.", *change.obstacles]))
        count = len(change.differences)
        verb = "would change" if options["dry_run"] else "changed"
        self.stderr.write(f"{storage}: {f'{count} difference(s) {verb}' if count else 'nothing to change'}.")
