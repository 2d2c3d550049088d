"""`manage.py doctor`: check the installation and advise what to do."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError, CommandParser

from repository_site.core.terminal.command_line import RepositoryCommand
from repository_site.operations.doctor import CHECKS, examine, worst
from repository_site.operations.doctor.findings import HealthFinding, Level, Look

SIGNS = {Level.OK: "ok", Level.WARNING: "WARNING", Level.ERROR: "ERROR"}


class Command(RepositoryCommand):
    help = (
        "Check this installation without changing anything, and advise what to do about problems. Run it after an\n"
        "installation or upgrade, and to find the cause of a problem. Health checks:\n\n"
        + "\n".join(f"  {check.name:<12} {check.about}" for check in CHECKS)
        + "\n\nEach finding is ok, a warning (act soon) or an error (act now), with the next step.\n"
        "Exit code: 0 without errors, 1 with errors; --strict counts warnings as errors. The report counts storages\n"
        "without naming them, so that you can show it to others; --names names them."
    )
    examples = """\
  manage.py doctor                                  all checks except for a running server
  manage.py doctor --url http://127.0.0.1:8000      also ask this server whether it is ready
  manage.py doctor --only role --only tenancy       only these checks
  manage.py doctor --json | jq '.findings[] | select(.level != "ok")'
"""
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON object, for programs")
        parser.add_argument("--strict", action="store_true", help="exit with 1 on warnings, too")
        parser.add_argument("--names", action="store_true", help="name storages instead of counting them")
        parser.add_argument("--url", default="", help="address of a server, to ask whether it is ready")
        parser.add_argument(
            "--only",
            action="append",
            choices=[check.name for check in CHECKS],
            metavar="CHECK",
            help="run only this check",
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

    def _show(self, finding: HealthFinding) -> None:
        style = {Level.OK: self.style.SUCCESS, Level.WARNING: self.style.WARNING, Level.ERROR: self.style.ERROR}
        sign = style[finding.level](f"{SIGNS[finding.level]:<8}")
        self.stdout.write(f"{sign} {finding.check:<12} {finding.text}")
        if finding.advice:
            self.stdout.write(f"{'':<21} -> {finding.advice}")

    def _summary(self, findings: list[HealthFinding]) -> str:
        counts = {level: sum(finding.level is level for finding in findings) for level in Level}
        return f"{counts[Level.ERROR]} errors, {counts[Level.WARNING]} warnings, {counts[Level.OK]} ok"
