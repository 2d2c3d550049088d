"""`manage.py serve`: apply migrations and run the production server."""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from io import StringIO
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError, CommandParser

from repository_site.core import environment
from repository_site.core.ports import Bind, PortProblem, check_port, suggest_port
from repository_site.core.terminal.command_line import RepositoryCommand
from repository_site.management.commands.work import job_count


class Command(RepositoryCommand):
    help = (
        "Apply pending migrations, check the database, and serve the repository until Ctrl-C. One more process runs\n"
        "the background jobs (lifecycle, webhooks, mails, measurements, clean-up), so nothing has to be scheduled\n"
        "elsewhere."
    )
    examples = """\
  manage.py serve                                  listen on 127.0.0.1:8000
  manage.py serve --bind 0.0.0.0:9000 --workers 4  listen for a reverse proxy on another machine
  manage.py serve --jobs 0                         no background jobs; `manage.py work` runs them elsewhere
  manage.py serve --no-migrate                     if a deployment step applies the migrations
"""

    def add_arguments(self, parser: CommandParser) -> None:
        add_server_arguments(parser)
        parser.add_argument("--no-migrate", action="store_true", help="do not apply pending migrations first")

    def handle(self, *args: Any, **options: Any) -> None:
        check_bind(options["bind"])
        prepare_database(migrate=not options["no_migrate"], verbosity=options["verbosity"])
        serve(options["bind"], options["workers"], options["jobs"], self)


def add_server_arguments(parser: CommandParser) -> None:
    parser.add_argument(
        "--bind", type=Bind.argument, default="127.0.0.1:8000", metavar="HOST:PORT", help="default: %(default)s"
    )
    parser.add_argument(
        "--workers",
        type=worker_count,
        default=default_workers(),
        metavar="N",
        help="server processes; default: %(default)s",
    )
    parser.add_argument(
        "--jobs",
        type=job_count,
        default=environment.JOBS.read(),
        metavar="N",
        help="background jobs at the same time, in one process beside the server; 0: none; default: %(default)s",
    )


def worker_count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a number from 1 up")
    return int(text)


def default_workers() -> int:
    return max(2, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 2)


def check_bind(bind: Bind) -> None:
    try:
        check_port(bind.host, bind.port)
    except PortProblem as problem:
        raise CommandError(f"{problem}: --bind {replace(bind, port=suggest_port(bind.host))}") from None


def prepare_database(*, migrate: bool, verbosity: int) -> None:
    """Migrate, then run the checks that need a database: tenants must be isolated before the first request. Then store
    the identity providers of the environment."""
    if migrate:
        call_command("migrate", interactive=False, verbosity=max(0, verbosity - 1))
    call_command("check", databases=["default"], stdout=StringIO())
    from storage.single_sign_on.configured import adopt_configured_providers

    adopt_configured_providers()


def serve(bind: Bind, workers: int, jobs: int, command: RepositoryCommand) -> None:
    """Run the server; when it ends, wait until the embedded database has stopped, unless others use it."""
    from repository_site.operations.server import run_server

    try:
        check_bind(bind)
        command.stderr.write(f"Starting {workers} worker{'s' if workers > 1 else ''} ...")
        run_server(bind, workers, announcement=f"Serving on {bind.url}; Ctrl-C stops.", jobs=jobs)
    finally:
        if settings.EMBEDDED_POSTGRES is not None:
            settings.EMBEDDED_POSTGRES.release(wait=20)
