"""`manage.py doctor`: is this installation well, and what is to be done if not?"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError, CommandParser

from repository_site.core.command_line import RepositoryCommand
from repository_site.operations.doctor import CHECKS, examine, worst
from repository_site.operations.doctor.findings import Finding, Level, Look

SIGNS = {Level.OK: "ok", Level.WARNING: "WARNING", Level.ERROR: "ERROR"}


class Command(RepositoryCommand):
    help = (
        "Look at this installation as it runs, change nothing, and say what to do about whatever is not well. Run it\n"
        "after an installation or upgrade, and when something is odd. What is looked at:\n\n"
        + "\n".join(f"  {check.name:<12} {check.about}" for check in CHECKS)
        + "\n\nEach finding is ok, a warning (see to it soon) or an error (see to it now), with the next step.\n"
        "Exit code: 0 without errors, 1 with one or more; --strict counts warnings as errors. Storages are\n"
        "counted, not named, so that the report can be shown to others; --names names them."
    )
    examples = """\
  manage.py doctor                                  everything but a running server
  manage.py doctor --url http://127.0.0.1:8000      also asks the server there whether it is ready
  manage.py doctor --only role --only tenancy       some checks alone
  manage.py doctor --json | jq '.findings[] | select(.level != "ok")'
"""
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="one JSON object, for programs")
        parser.add_argument("--strict", action="store_true", help="end with 1 on warnings, too")
        parser.add_argument("--names", action="store_true", help="name storages instead of only counting them")
        parser.add_argument("--url", default="", help="address of the server, to ask whether it is ready")
        parser.add_argument(
            "--only", action="append", choices=[check.name for check in CHECKS], metavar="CHECK", help="may be repeated"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        checks = [check for check in CHECKS if not options["only"] or check.name in options["only"]]
        findings = list(examine(Look(names=options["names"], url=options["url"]), checks))
        level = worst(findings)
        if options["json"]:
            shown = {"state": level, "findings": [asdict(finding) for finding in findings]}
            self.stdout.write(json.dumps(shown, ensure_ascii=False, indent=2))
        else:
            for finding in findings:
                self._show(finding)
        if level is Level.ERROR or (level is Level.WARNING and options["strict"]):
            raise CommandError(self._summary(findings))
        self.stderr.write(f"{self._summary(findings)}.")

    def _show(self, finding: Finding) -> None:
        style = {Level.OK: self.style.SUCCESS, Level.WARNING: self.style.WARNING, Level.ERROR: self.style.ERROR}
        sign = style[finding.level](f"{SIGNS[finding.level]:<8}")
        self.stdout.write(f"{sign} {finding.check:<12} {finding.text}")
        if finding.advice:
            self.stdout.write(f"{'':<21} -> {finding.advice}")

    def _summary(self, findings: list[Finding]) -> str:
        counts = {level: sum(finding.level is level for finding in findings) for level in Level}
        return f"{counts[Level.ERROR]} errors, {counts[Level.WARNING]} warnings, {counts[Level.OK]} well"
