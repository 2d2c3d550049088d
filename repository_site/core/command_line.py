"""The manners of our management commands: help that keeps its shape, and errors in one line."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import Error
from psycopg.errors import UndefinedTable

from repository_site.core.embedded_postgres import EmbeddedPostgresError
from repository_site.core.problems import Problem


class RepositoryCommand(BaseCommand):
    """Exit codes: 0 done, 1 refused or failed (one line on stderr says why), 2 called wrongly.

    `examples` are shown under `--help`.
    """

    examples: str = ""

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        epilog = f"Examples:\n{self.examples.rstrip()}" if self.examples else None
        parser = super().create_parser(
            prog_name, subcommand, epilog=epilog, formatter_class=argparse.RawDescriptionHelpFormatter, **kwargs
        )
        # The parser then raises CommandError for a wrong call, which `run_from_argv` explains.
        parser.called_from_command_line = False
        return parser

    def run_from_argv(self, argv: list[str]) -> None:
        try:
            super().run_from_argv(argv)
        except CommandError as problem:
            name = f"manage.py {argv[1]}"
            examples = f"Examples:\n{self.examples.rstrip()}\n" if self.examples else ""
            text = str(problem).removeprefix("Error: ")
            self.stderr.write(f"{name}: {text}\n{examples}All options: {name} --help")
            sys.exit(2)

    def execute(self, *args: Any, **options: Any) -> str | None:
        try:
            return super().execute(*args, **options)
        except Problem as problem:
            raise CommandError(one_line(problem)) from None
        except EmbeddedPostgresError as problem:
            raise CommandError(str(problem)) from None
        except Error as problem:
            if isinstance(problem.__cause__, UndefinedTable):
                raise CommandError("the database is not set up; run: manage.py migrate") from None
            text = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
            raise CommandError(f"database: {text}") from None
        except UnicodeError:
            raise CommandError("an argument is not UTF-8") from None
        except KeyboardInterrupt:
            raise CommandError("interrupted", returncode=130) from None


def one_line(problem: Problem) -> str:
    if problem.details == (problem.message,):
        return problem.message
    return f"{problem.message} {' | '.join(problem.details)}"
