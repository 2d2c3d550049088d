"""An installation for fault tests: `manage.py serve` with two workers, its own PostgreSQL, and two storages."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from repository_site.core import environment
from repository_site.core.embedded_postgres import EmbeddedPostgres
from repository_site.core.embedded_postgres.paths import ServerPaths
from repository_site.core.embedded_postgres.state import read_postmaster
from tests.elements.handbook import TEMPLATE, write_lines
from tests.patience import SLOWER
from tests.server_process import Server, free_port

STORAGE = "/acme/handbook"
LABEL = {"1033": "Label"}
WORKERS = 2
POOL = 4
# One process creates two storages, the token of an architect and a session of the back office.
FILL = """
from io import StringIO
from django.core.management import call_command
from tests.faults.sessions import begin_session
quiet = {"stdout": StringIO(), "stderr": StringIO()}
for collection in ("acme", "rival"):
    call_command("provision_storage", collection, "handbook", template="FOLDER/template.json", anonymous="read", **quiet)
    call_command("import_storage", collection, "handbook", f"FOLDER/{collection}.ndjson", **quiet)
call_command("issue_token", "acme", "handbook", "--name", "load", "--role", "architect")
print(begin_session("ada", "acme"))
"""
# A process that stays alive compares the lifecycle log with the stored versions, for each collection that it reads.
CHECK = """
import sys
from django.db import connection
from storage.tenancy.contexts import storage_at
from tests.release.log_check import check_lifecycles
for line in sys.stdin:
    try:
        check_lifecycles(storage_at(line.strip(), "handbook"))
        print("ok", flush=True)
    except Exception as problem:
        print(repr(problem), flush=True)
    connection.close()
"""
STUCK = """SELECT count(*) FROM pg_stat_activity WHERE usename = 'repository' AND xact_start IS NOT NULL"""


def template() -> dict[str, Any]:
    """Return the template of the handbook with a context that creates elements, so that one request writes two."""
    found = copy.deepcopy(TEMPLATE)
    found["properties"]["tools"] = {"displayNames": LABEL, "related": {"facet": "it", "canAddNew": True}}
    found["types"]["subProcess"]["properties"].append("tools")
    return found


class Installation:
    collection = "acme"
    """The collection of the storage `handbook` that a load uses."""

    def __init__(self, folder: Path, **environ: str) -> None:
        self.folder = folder
        self.server = Server(folder / "var", free_port())
        self.server.environ |= {
            "REPOSITORY_BODY_LIMIT": "10000000",
            "REPOSITORY_TOKEN_RATE": "off",
            "REPOSITORY_ANONYMOUS_RATE": "off",
            # Faults make requests expensive; `test_fairness` tries what that means for others.
            "REPOSITORY_STORAGE_BUDGET": "off",
            "REPOSITORY_CALLER_BUDGET": "off",
            "REPOSITORY_POOL_SIZE": str(POOL),
            "REPOSITORY_STATEMENT_TIMEOUT": "120",
            "REPOSITORY_STREAM_TIMEOUT": "6",
            **environ,
        }
        self.postgres = EmbeddedPostgres(folder / "var" / "postgres")
        self.token = self.session = ""
        self.checker: subprocess.Popen[str] | None = None

    def serve(self) -> None:
        self.server.start("serve", "--workers", str(WORKERS))

    def fill(self) -> None:
        """Create acme/handbook, and rival/handbook with the same ids, which no test changes."""
        (self.folder / "template.json").write_text(json.dumps(template()))
        for collection, rename in (("acme", ""), ("rival", "Rival ")):
            write_lines(self.folder / f"{collection}.ndjson", rename)
        self.token, self.session = self.shell(FILL.replace("FOLDER", str(self.folder))).split()
        self.checker = subprocess.Popen(
            [sys.executable, "manage.py", "shell", "--no-imports", "-c", CHECK],
            cwd=environment.PROJECT_DIR,
            env=self.server.environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def manage(self, *words: str) -> str:
        done = self.server.manage(*words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def shell(self, code: str) -> str:
        return self.manage("shell", "--no-imports", "-c", code)

    def everything_of_the_rival(self) -> tuple[int, Any]:
        address = "/rival/handbook/_api/rest/facets/processes/views/detail/elements?$resources=attributes,related"
        return self.server.request("GET", address)

    def check_lifecycles(self) -> None:
        assert self.checker is not None
        assert self.checker.stdin is not None
        assert self.checker.stdout is not None
        self.checker.stdin.write(f"{self.collection}\n")
        self.checker.stdin.flush()
        assert self.checker.stdout.readline() == "ok\n"

    def postmaster(self) -> psutil.Process:
        found = read_postmaster(ServerPaths(self.postgres.data_dir))
        assert found is not None
        return psutil.Process(found.pid)

    def check_nothing_is_stuck(self, seconds: float = 5) -> None:
        """Check that no transaction stays open without requests, and that all workers run."""
        wait_for(lambda: self.server.ask(STUCK) == 0, seconds, "a transaction is still open")
        assert self.server.ask("SELECT count(*) FROM pg_locks WHERE NOT granted") == 0
        wait_for(lambda: len(self.server.workers()) == WORKERS, seconds, "a worker is missing")
        assert {self.server.request("GET", path)[0] for path in ("/healthz", "/readyz")} == {200}

    def end(self) -> None:
        if self.checker is not None:
            self.checker.communicate(timeout=60)
        self.server.kill()


def wait_for(is_so: Callable[[], bool], seconds: float, problem: str) -> float:
    """Wait until a condition is true and return how long that took."""
    started = time.monotonic()
    while not is_so():
        assert time.monotonic() - started < SLOWER * seconds, problem
        time.sleep(0.02)
    return time.monotonic() - started
