"""A Citus cluster for a test process: a coordinator and two workers on loopback, with migrated and distributed tables.

It needs a PostgreSQL with the Citus extension: `REPOSITORY_CITUS_BIN` names its folder of programs. Run as a module, it
runs the tests that fit into a few minutes (`make test-citus`).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
from django.conf import settings
from django.core.management import call_command
from django.db import connection

from tests.server_process import free_port

SWITCH = "REPOSITORY_TEST_CITUS"
"""Environment variable that makes a test run use a cluster."""
DATABASE = ROLE = "repository"
SUPERUSER = "postgres"
SHARDS = 4
WORKERS = 2
SKIPPED = (
    "Skipped: no PostgreSQL with the Citus extension was found. Install the packages of Citus, or name the folder of"
    " pg_ctl: REPOSITORY_CITUS_BIN=/path/to/bin make test-citus"
)
# Isolation, races, idempotency, lifecycle, import, export, backup, restore, writing and reading.
TESTS = (
    "tests/storage/test_tenancy.py",
    "tests/storage/test_provisioning.py",
    "tests/storage/test_bulk.py",
    "tests/storage/test_backup.py",
    "tests/storage/test_quotas.py",
    "tests/elements/test_idempotency.py",
    "tests/elements/test_content_side_by_side.py",
    "tests/elements/test_reading_side_by_side.py",
    "tests/elements/test_transfer.py",
    "tests/elements/test_create_api.py",
    "tests/elements/test_update_api.py",
    "tests/elements/test_deletion_api.py",
    "tests/elements/test_elements_api.py",
    "tests/elements/test_history_api.py",
    "tests/elements/test_query_counts.py",
    "tests/elements/test_searching.py",
    "tests/facets/test_configuration.py",
    "tests/release/test_story.py",
    "tests/release/test_runs.py",
    "tests/release/tasks",
    "tests/release/transitions",
)
# Not durable, as the cluster of the other tests.
SETTINGS = f"""
citus.shard_count = {SHARDS}
shared_preload_libraries = 'citus'
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 300
max_prepared_transactions = 300
wal_level = logical
shared_buffers = 64MB
fsync = off
synchronous_commit = off
full_page_writes = off
autovacuum = off
citus.node_conninfo = 'sslmode=disable'
citus.enable_statistics_collection = off
citus.max_cached_conns_per_worker = 2
"""


def citus_programs() -> Path | None:
    """Return the folder with the programs of a PostgreSQL that has Citus, or None."""
    named = os.environ.get("REPOSITORY_CITUS_BIN")
    found = [Path(named)] if named else sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((each for each in found if (each.parent / "lib" / "citus.so").exists()), None)


class CitusCluster:
    def __init__(self, folder: Path, workers: int = WORKERS) -> None:
        programs = citus_programs()
        assert programs is not None, "no PostgreSQL with Citus was found"
        self.programs, self.folder = programs, folder
        self.ports = [free_port() for _ in range(workers + 1)]

    @property
    def url(self) -> str:
        return f"postgresql://{ROLE}@127.0.0.1:{self.ports[0]}/{DATABASE}"

    def start(self) -> None:
        """Create and start all nodes, and make them know each other."""
        self.start_apart()
        self.join()

    def start_apart(self) -> None:
        """Create and start all nodes. The coordinator is a PostgreSQL server without Citus until `join`."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if os.geteuid() == 0:
            for folder in (self.folder, *self.folder.parents[:3]):
                folder.chmod(0o755)
            shutil.chown(self.folder, SUPERUSER)
        for node in range(len(self.ports)):
            self._create(node)

    def join(self) -> None:
        with self.superuser(0) as coordinator:
            coordinator.execute("CREATE EXTENSION citus")
            coordinator.execute("SELECT citus_set_coordinator_host('127.0.0.1', %s)", [self.ports[0]])
            for port in self.ports[1:]:
                coordinator.execute("SELECT citus_add_node('127.0.0.1', %s)", [port])

    def add_worker(self) -> None:
        """Start one more worker and make it known. It has no shards until they are rebalanced."""
        self.ports.append(free_port())
        self._create(len(self.ports) - 1)
        with self.superuser(0) as coordinator:
            coordinator.execute("SELECT citus_add_node('127.0.0.1', %s)", [self.ports[-1]])

    def _create(self, node: int) -> None:
        self._make(node)
        self.revive(node)
        with self.superuser(node, "postgres") as server:
            server.execute(f"CREATE ROLE {ROLE} LOGIN")
            server.execute(f"CREATE DATABASE {DATABASE} OWNER {ROLE}")
        if node:
            with self.superuser(node) as server:
                server.execute("CREATE EXTENSION citus")

    def stop(self) -> None:
        for node in range(len(self.ports)):
            if (self.folder / str(node) / "postmaster.pid").exists():
                self._run("pg_ctl", "-D", str(self.folder / str(node)), "-m", "immediate", "-w", "stop")

    def revive(self, node: int) -> None:
        data = self.folder / str(node)
        options = f"-p {self.ports[node]}"
        self._run("pg_ctl", "-D", str(data), "-l", f"{data}.log", "-w", "-t", "60", "-o", options, "start")

    def superuser(self, node: int, database: str = DATABASE) -> psycopg.Connection[Any]:
        return psycopg.connect(
            host="127.0.0.1", port=self.ports[node], user=SUPERUSER, dbname=database, autocommit=True
        )

    def _make(self, node: int) -> None:
        data = self.folder / str(node)
        self._run("initdb", "-D", str(data), "-A", "trust", "-U", SUPERUSER, "-E", "UTF8", "--locale=C.UTF-8", "-N")
        with (data / "postgresql.conf").open("a") as configuration:
            configuration.write(SETTINGS)

    def _run(self, program: str, *arguments: str) -> None:
        # PostgreSQL refuses to run as root.
        prefix: Sequence[str] = ("runuser", "-u", SUPERUSER, "--") if os.geteuid() == 0 else ()
        command = [*prefix, str(self.programs / program), *arguments]
        done = subprocess.run(
            command, cwd="/", check=False, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        assert done.returncode == 0, done.stderr


def use_cluster(cluster: CitusCluster) -> ExitStack:
    """Start the cluster, connect this process to it, and distribute the tables. Closing the result stops it."""
    ending = ExitStack()
    ending.callback(cluster.stop)
    cluster.start()
    connection.close()
    place = {"HOST": "127.0.0.1", "PORT": str(cluster.ports[0]), "NAME": DATABASE, "USER": ROLE, "PASSWORD": ""}
    settings.DATABASES["default"].update(place)
    connection.settings_dict.update(place)
    settings.EMBEDDED_POSTGRES = None
    call_command("migrate", verbosity=0)
    return ending


def main(arguments: Sequence[str]) -> int:
    """Run the given tests, or those above, on clusters of their own. Without Citus, say so and succeed."""
    if citus_programs() is None:
        print(SKIPPED)  # noqa: T201  the output of a command
        return 0
    command = [sys.executable, "-m", "pytest", *(arguments or TESTS)]
    return subprocess.run(command, env={**os.environ, SWITCH: "1"}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
