"""An installation with two storages, whose jobs run in real worker processes."""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from repository_site.core.embedded_postgres import EmbeddedPostgres
from tests.factories import PLAIN_TEMPLATE
from tests.patience import SLOWER
from tests.server_process import DataFolders, Server, free_port

FILL = f"""
from django.core.management import call_command
from django.db import connection
for collection in ("acme", "rival"):
    call_command("provision_storage", collection, "handbook", template={str(PLAIN_TEMPLATE)!r})
connection.cursor().execute("CREATE TABLE job_notes (name text, number int, at timestamptz DEFAULT clock_timestamp())")
"""
ENQUEUE = """
from tests.working_jobs import jobs
from storage.tenancy.contexts import storage_at
jobs.{job}.enqueue_all(storage_at("{collection}", "handbook"), {calls!r})
"""


class JobInstallation:
    """The database of a server, whose worker processes a test starts and kills."""

    def __init__(self, folder: Path, folders: DataFolders) -> None:
        folders.copy(folder / "var", "migrate")
        self.server = Server(folder / "var", free_port())
        self.server.environ["DJANGO_SETTINGS_MODULE"] = "tests.working_jobs.settings"
        self.processes: list[subprocess.Popen[bytes]] = []
        # The database would stop with the last process that uses it.
        self.postgres = EmbeddedPostgres(folder / "var" / "postgres")
        self.postgres.ensure_running()
        self.shell(FILL)

    def shell(self, code: str) -> None:
        done = self.server.manage("shell", "--no-imports", "-c", code)
        assert done.returncode == 0, done.stderr

    def enqueue(self, job: str, calls: list[dict[str, Any]], collection: str = "acme") -> None:
        self.shell(ENQUEUE.format(job=job, collection=collection, calls=calls))

    def work(self, *words: str) -> subprocess.Popen[bytes]:
        return self.run("manage.py", "work", *words)

    def run(self, *words: str) -> subprocess.Popen[bytes]:
        with self.server.log.open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, *words],
                cwd=self.server.checkout,
                env=self.server.environ,
                stdout=log,
                stderr=log,
            )
        self.processes.append(process)
        return process

    def notes(self, name: str) -> Counter[int]:
        with self.server.superuser() as connection:
            rows = connection.execute("SELECT number FROM job_notes WHERE name = %s", [name]).fetchall()
        return Counter(number for (number,) in rows)

    def wait_for(self, condition: Callable[[], bool], seconds: float, problem: str) -> None:
        end = time.monotonic() + SLOWER * seconds
        while not condition():
            assert time.monotonic() < end, f"{problem}: {self.server.log.read_text()[-5000:]}"
            time.sleep(0.1)

    def is_idle(self) -> bool:
        """Return whether no job of the tests waits or runs."""
        sql = "SELECT count(*) FROM procrastinate_jobs WHERE status IN ('todo', 'doing') AND task_name LIKE 'working.%'"
        return bool(self.server.ask(f"{sql} AND task_name <> 'working.tick'") == 0)

    def close(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.wait(60)
        self.postgres.release(wait=20)
        self.server.kill()
