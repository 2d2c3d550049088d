"""`manage.py draw_lifecycle`: draw release cycles as Mermaid diagrams."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.core.management.base import CommandError, CommandParser

from repository_site.core.terminal.command_line import RepositoryCommand
from storage.localisation.culture_arguments import culture_argument

if TYPE_CHECKING:
    from facets.blueprint.definitions import Blueprint

MARKED = re.compile(r"(<!-- lifecycle: begin -->\n).*?(<!-- lifecycle: end -->)", re.DOTALL)


class Command(RepositoryCommand):
    help = (
        "Draw the release cycles of a template or a storage as Mermaid state diagrams in Markdown. Git hosts, wikis\n"
        "and editors display them as pictures."
    )
    examples = """\
  manage.py draw_lifecycle                          the standard template
  manage.py draw_lifecycle ./library.json           your own template
  manage.py draw_lifecycle --storage acme handbook  the cycles of a storage
  manage.py draw_lifecycle --culture de             with German names of the states
  manage.py draw_lifecycle --into page.md           between the marks <!-- lifecycle: begin --> and
                                                    <!-- lifecycle: end --> of a page
"""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("template", nargs="?", default="standard", help="name or file; default: %(default)s")
        parser.add_argument(
            "--storage", nargs=2, metavar=("COLLECTION", "STORAGE"), help="draw the cycles of this storage instead"
        )
        parser.add_argument(
            "--culture",
            type=culture_argument,
            default=1033,
            metavar="CULTURE",
            help="culture of the state names; default: en",
        )
        parser.add_argument("--into", metavar="FILE", help="write the diagram between the marks of this page")

    def handle(self, *args: Any, **options: Any) -> None:
        from release.cycle_diagrams import describe_states, draw_cycle

        blueprint = self._blueprint(options["template"], options["storage"])
        if not blueprint.cycles:
            raise CommandError("The template or storage has no release cycle.")
        culture = options["culture"]
        parts = [
            f"### {cycle.key}\n\n```mermaid\n{draw_cycle(cycle)}```\n\n{describe_states(cycle, culture)}"
            for cycle in blueprint.cycles
        ]
        text = "\n".join(parts)
        if options["into"]:
            self._write(Path(options["into"]), text)
        else:
            self.stdout.write(text, ending="")

    def _blueprint(self, template: str, storage: list[str] | None) -> Blueprint:
        from facets.rows.reading import read_blueprint
        from facets.template_format.reading import read_template
        from storage.provisioning.templates import load_template
        from storage.tenancy.contexts import storage_at
        from storage.tenancy.scope import tenant_scope

        if storage is None:
            return read_template(load_template(template).sections)
        with tenant_scope(storage_at(*storage)):
            return read_blueprint()

    def _write(self, path: Path, text: str) -> None:
        try:
            page = path.read_text(encoding="utf-8")
        except OSError as problem:
            raise CommandError(f"{path}: {problem.strerror}") from None
        if not MARKED.search(page):
            marks = "<!-- lifecycle: begin --> and <!-- lifecycle: end -->"
            raise CommandError(f"{path}: add the marks {marks} where the diagram belongs.")
        path.write_text(MARKED.sub(lambda marks: f"{marks[1]}{text}{marks[2]}", page), encoding="utf-8")
        self.stderr.write(f"Wrote the diagram into {path}.")
