"""`manage.py work`: run background jobs, without a server."""

from __future__ import annotations

import argparse
import os
import signal
from typing import Any

from django.core.management.base import CommandError, CommandParser

from repository_site.core import environment
from repository_site.core.terminal.command_line import RepositoryCommand

# Requests come first when the processor is busy.
NICENESS = 5


class Command(RepositoryCommand):
    help = (
        "Run background jobs until Ctrl-C: the periodic jobs (lifecycle, measurements, clean-up), and the work that\n"
        "changes cause, such as webhooks and mails. `manage.py serve` runs such a worker itself, so this command is\n"
        "for machines that only run jobs, or beside servers that run with `--jobs 0`. Several workers share the jobs;\n"
        "each job runs in one of them, and each periodic job once. A worker that is told to stop gives its jobs ten\n"
        "seconds and returns the others to the queue. The jobs of a worker that was killed run again within a minute."
    )
    examples = """\
  manage.py work             up to four jobs at the same time
  manage.py work --jobs 16   more of them; each needs a database connection
  manage.py work --once      run what is due now, then end
"""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--jobs",
            type=job_count,
            default=environment.JOBS.read() or int(environment.JOBS.default),
            metavar="N",
            help="jobs at the same time, from 1 up; default: %(default)s",
        )
        parser.add_argument("--once", action="store_true", help="run the jobs that are due, then end")
        # The server that started this worker.
        parser.add_argument("--parent", type=int, help=argparse.SUPPRESS)

    def handle(self, *args: Any, **options: Any) -> None:
        from django.db import connections

        from repository_site.operations.server import die_with_parent, share_one_arena
        from storage.jobs.queue_state import queue_state

        if options["jobs"] < 1:
            raise CommandError("--jobs: expected 1 or more; a worker without jobs does nothing.")
        if options["parent"] is not None:
            die_with_parent(options["parent"], signal.SIGTERM)
            os.nice(NICENESS)
        else:
            # Fails if the tables do not exist. A server has created them before it starts its worker.
            queue_state()
            connections.close_all()
            self.stderr.write(f"Running up to {options['jobs']} jobs at the same time; Ctrl-C stops.")
        share_one_arena()
        run_jobs(options["jobs"], once=options["once"])


def job_count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r}: expected a number")
    return int(text)


def run_jobs(jobs: int, *, once: bool) -> None:
    from django.conf import settings

    from storage.jobs.worker import run_worker

    if settings.EMBEDDED_POSTGRES is not None:
        settings.EMBEDDED_POSTGRES.ensure_running()
    run_worker(jobs, wait=not once)
