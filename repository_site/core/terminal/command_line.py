"""The base class of our management commands: help, errors, and the state of the database."""

from __future__ import annotations

import argparse
import gc
import sys
from typing import Any

from django.core.management import ManagementUtility, call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import Error, connection

from repository_site import __version__
from repository_site.core.problems import Problem

REPLICA_HELP = "read from DATABASE_REPLICA_URL once it has caught up, else from the primary"


class BriefCommand(BaseCommand):
    """Explains wrong arguments in a few lines, where Django prints the whole usage."""

    examples: str = ""
    """Shown at the end of `--help`, and after wrong arguments."""

    def get_version(self) -> str:
        return __version__

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        if self.examples:
            kwargs["epilog"] = f"Examples:\n{self.examples.rstrip()}"
        parser = super().create_parser(prog_name, subcommand, **kwargs)
        # The parser then raises CommandError for a wrong call, which `run_from_argv` explains.
        parser.called_from_command_line = False
        return parser

    def run_from_argv(self, argv: list[str]) -> None:
        try:
            super().run_from_argv(argv)
        except CommandError as problem:
            if "--traceback" in argv:
                raise
            name = f"manage.py {argv[1]}"
            examples = f"Examples:\n{self.examples.rstrip()}\n" if self.examples else ""
            text = str(problem).removeprefix("Error: ")
            self.stderr.write(f"{name}: {text}\n{examples}All options: {name} --help")
            sys.exit(2)


class RepositoryCommand(BriefCommand):
    """Exit codes: 0 success, 1 refused or failed (one line on stderr says why), 2 wrong arguments.

    Modules of commands import no models, only the methods that run a command do: `manage.py COMMAND --help` is answered
    before Django has loaded them (D176).
    """

    migrates_empty_database: bool = False
    """Whether the command creates the tables of an empty database. Other commands say how to create them."""
    # System checks load all addresses and the back office; `check`, `migrate` and `serve` run them.
    requires_system_checks = []

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        return super().create_parser(
            prog_name, subcommand, formatter_class=argparse.RawDescriptionHelpFormatter, **kwargs
        )

    def execute(self, *args: Any, **options: Any) -> str | None:
        from psycopg.errors import UndefinedTable

        from repository_site.core.embedded_postgres import EmbeddedPostgresError

        try:
            if self.migrates_empty_database:
                self._migrate_if_empty()
            return super().execute(*args, **options)
        except Problem as problem:
            raise CommandError(one_line(problem)) from None
        except EmbeddedPostgresError as problem:
            raise CommandError(str(problem)) from None
        except Error as problem:
            if isinstance(problem.__cause__, UndefinedTable):
                raise CommandError("The database has no tables yet. Create them: manage.py migrate") from None
            text = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
            raise CommandError(f"database: {text}") from None
        except UnicodeError:
            raise CommandError("An argument is not valid UTF-8.") from None
        except KeyboardInterrupt:
            raise CommandError("Interrupted.", returncode=130) from None

    def _migrate_if_empty(self) -> None:
        if not connection.introspection.table_names():
            self.stderr.write("The database is empty. Creating its tables ...")
            call_command("migrate", interactive=False, verbosity=0)


class RepositoryCommandLine(ManagementUtility):
    """Runs our commands and Django's; wrong arguments of either are explained in a few lines."""

    def fetch_command(self, subcommand: str) -> BaseCommand:
        # Django has started. What it has loaded stays, so the garbage collector need not look at it, now or at the end.
        gc.freeze()
        gc.enable()
        command = super().fetch_command(subcommand)
        if not isinstance(command, BriefCommand):
            kind = type(command)
            command.__class__ = type(kind.__name__, (BriefCommand, kind), {"__module__": kind.__module__})
        return command


def one_line(problem: Problem) -> str:
    if problem.details == (problem.message,):
        return problem.message
    return f"{problem.message} {' | '.join(problem.details)}"
