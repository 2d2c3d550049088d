"""A Citus cluster for a test process: a coordinator and two workers on loopback, with migrated and distributed tables.

It needs a PostgreSQL with the Citus extension: `REPOSITORY_CITUS_BIN` names its folder of programs. Run as a module, it
runs the tests that fit into a few minutes (`make test-citus`), or all (`TEST_SCALE=full make test-citus`).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

import psutil
import psycopg
from django.conf import settings
from django.core.management import call_command
from django.db import connection

from repository_site.core.environment import PROJECT_DIR
from tests.databases import delete_all
from tests.patience import SLOWER
from tests.scale import IS_FULL
from tests.server_process import free_port

SWITCH = "REPOSITORY_TEST_CITUS"
"""Environment variable that makes a test run use a cluster."""
DATABASE = ROLE = "repository"
SUPERUSER = "postgres"
# Of clusters whose shards move, and of those that only run statements: every change of a table is made in each shard.
SHARDS = 4
FEWEST_SHARDS = 2
MOVES = PROJECT_DIR / "docs/how-to/files/citus-moves.sql"
WORKERS = 2
SKIPPED = (
    "Skipped: no PostgreSQL with the Citus extension was found. Install the packages of Citus, or name the folder of"
    " pg_ctl: REPOSITORY_CITUS_BIN=/path/to/bin make test-citus"
)
# Isolation, races, idempotency, lifecycle, import, export, backup, restore, writing, reading, search, events, webhooks,
# messages, pages and operation.
TESTS = (
    "tests/citus_cluster",
    "tests/test_citus.py",
    "tests/repository_site/test_doctor.py",
    "tests/repository_site/test_doctor_storages.py",
    "tests/repository_site/test_refused_commits.py",
    "tests/repository_site/test_routing.py",
    "tests/repository_site/test_shared_sessions.py",
    "tests/storage/jobs",
    "tests/storage/test_checks.py",
    "tests/storage/test_events.py",
    "tests/storage/test_later_migrations.py",
    "tests/storage/test_sessions.py",
    "tests/storage/test_sign_ins.py",
    "tests/storage/test_site_office.py",
    "tests/storage/webhooks",
    "tests/storage/test_tenancy.py",
    "tests/storage/test_provisioning.py",
    "tests/storage/test_bulk.py",
    "tests/storage/test_backup.py",
    "tests/storage/test_quotas.py",
    "tests/elements/writing/test_idempotency.py",
    "tests/elements/back_office/test_culture_changes.py",
    "tests/elements/files/test_file_life.py",
    "tests/elements/files/test_files_api.py",
    "tests/elements/filters/test_ordering.py",
    "tests/elements/writing/test_positions_api.py",
    "tests/elements/tables/test_table_import.py",
    "tests/release/bulk/test_bulk_api.py",
    "tests/release/bulk/test_bulk_runs.py",
    "tests/elements/bpmn/test_bpmn_api.py",
    "tests/elements/search",
    "tests/elements/events/test_changes_api.py",
    "tests/elements/writing/test_content_side_by_side.py",
    "tests/elements/reading/test_reading_side_by_side.py",
    "tests/elements/transfer/test_transfer.py",
    "tests/elements/writing/test_create_api.py",
    "tests/elements/writing/test_update_api.py",
    "tests/elements/writing/test_deletion_api.py",
    "tests/elements/reading/test_elements_api.py",
    "tests/elements/reading/test_history_api.py",
    "tests/elements/reading/test_query_counts.py",
    "tests/elements/filters/test_searching.py",
    "tests/facets/test_configuration.py",
    "tests/facets/test_changes.py",
    "tests/release/test_story.py",
    "tests/release/messages/test_message_jobs.py",
    "tests/release/test_runs.py",
)
# With a slash: a run of `tests` would also check that every operation is called.
WHOLE_SUITE = ("tests/",)
# Random changes and filters, and many clients of a server.
LONG_TESTS = (
    "tests/elements/events/test_feed_side_by_side.py",
    "tests/elements/filters/test_filter_agreement.py",
    "tests/elements/writing/test_writing_model.py",
    "tests/elements/writing/test_writing_under_load.py",
    "tests/release/test_release_under_load.py",
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
jit = off
shared_buffers = 64MB
fsync = off
synchronous_commit = off
full_page_writes = off
autovacuum_naptime = 1d
citus.node_conninfo = 'sslmode=disable'
citus.enable_statistics_collection = off
citus.max_cached_conns_per_worker = 2
# Moves of shards wait for these; the defaults are five seconds each.
citus.background_task_queue_interval = 500ms
wal_retrieve_retry_interval = 200ms
"""
# Tables that are not distributed, and shards.
TABLES_OF_NODE = """SELECT oid::regclass::text FROM pg_class WHERE relkind = 'r'
    AND regexp_replace(relname, '_[0-9]+$', '') = ANY(%s) AND oid NOT IN (SELECT logicalrelid FROM pg_dist_partition)"""


def citus_programs() -> Path | None:
    """Return the folder with the programs of a PostgreSQL that has Citus, or None."""
    named = os.environ.get("REPOSITORY_CITUS_BIN")
    found = [Path(named)] if named else sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((each for each in found if (each.parent / "lib" / "citus.so").exists()), None)


class CitusCluster:
    pristine: ClassVar[Path | None] = None
    """Data folder of a new server, which this process copies: creating one takes seconds."""

    def __init__(self, folder: Path, workers: int = WORKERS, **settings: str) -> None:
        programs = citus_programs()
        assert programs is not None, "no PostgreSQL with Citus was found"
        self.programs, self.folder = programs, folder
        self.settings = SETTINGS + "".join(f"{name} = '{value}'\n" for name, value in settings.items())
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
        self._make_folder()
        for node in range(len(self.ports)):
            self._create(node)

    def start_copy(self, original: Path) -> None:
        """Start a copy of another cluster, which is stopped, with as many nodes."""
        self._make_folder()
        for node in range(len(self.ports)):
            self._copy(original / str(node), node)
            self.revive(node)
        for node in range(len(self.ports)):
            with self.superuser(node) as server, server.transaction():
                # Negative first: a port of the other cluster may be one of another node here.
                server.execute("UPDATE pg_dist_node SET nodeport = -nodeport")
                server.execute("UPDATE pg_dist_node SET nodeport = (%s::int[])[groupid + 1]", [self.ports])

    def _make_folder(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        if os.geteuid() == 0:
            # Only let the account through: a parent can be a folder of the system, such as /tmp.
            for folder in (self.folder, *self.folder.parents):
                folder.chmod(folder.stat().st_mode | 0o011)
            shutil.chown(self.folder, SUPERUSER)

    def join(self) -> None:
        with self.superuser(0) as coordinator:
            coordinator.execute("CREATE EXTENSION citus")
            coordinator.execute("SELECT citus_set_coordinator_host('127.0.0.1', %s)", [self.ports[0]])
            for port in self.ports[1:]:
                coordinator.execute("SELECT citus_add_node('127.0.0.1', %s)", [port])
        for node in range(len(self.ports)):
            self.let_shards_move(node)

    def add_worker(self) -> None:
        """Start one more worker and make it known. It has no shards until they are rebalanced."""
        self.ports.append(free_port())
        self._create(len(self.ports) - 1)
        self.let_shards_move(len(self.ports) - 1)
        with self.superuser(0) as coordinator:
            coordinator.execute("SELECT citus_add_node('127.0.0.1', %s)", [self.ports[-1]])

    def rebalance(self, seconds: float = 240) -> None:
        """Move shards until all workers have as many, as a superuser: the role of the service cannot read rows without
        a scope."""
        end = time.monotonic() + SLOWER * seconds
        with self.superuser(0) as coordinator:
            coordinator.execute("SELECT citus_rebalance_start('by_shard_count')")
            state, details = "", ""
            while state != "finished":
                assert time.monotonic() < end, details
                time.sleep(0.5)
                [[state, details]] = coordinator.execute(
                    "SELECT state::text, details::text FROM citus_rebalance_status()"
                ).fetchall()
                assert state not in {"failed", "cancelled", "failing"}, details
            # Citus keeps the old shards for a while, for statements that still read them.
            coordinator.execute("CALL citus_cleanup_orphaned_resources()")

    def let_shards_move(self, node: int) -> None:
        """Run the file that the documentation tells operators to run on every node."""
        with self.superuser(node) as server:
            server.execute(MOVES.read_text(encoding="utf-8"))

    def _create(self, node: int) -> None:
        self._make(node)
        self.revive(node)
        with self.superuser(node, "postgres") as server:
            server.execute(f"CREATE ROLE {ROLE} LOGIN")
            server.execute(f"CREATE DATABASE {DATABASE} OWNER {ROLE}")
        if node:
            with self.superuser(node) as server:
                server.execute("CREATE EXTENSION citus")

    def stop(self, how: str = "immediate") -> None:
        for node in range(len(self.ports)):
            if (self.folder / str(node) / "postmaster.pid").exists():
                self._run("pg_ctl", "-D", str(self.folder / str(node)), "-m", how, "-w", "stop")

    def kill(self, node: int) -> None:
        """Kill all processes of a node, as if its machine were lost."""
        processes = self._processes(node)
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(processes, timeout=60)

    def freeze(self, node: int) -> None:
        """Stop all processes of a node without ending them: connections stay open, and nothing answers."""
        for process in self._processes(node):
            with suppress(psutil.NoSuchProcess):
                process.suspend()

    def thaw(self, node: int) -> None:
        for process in self._processes(node):
            with suppress(psutil.NoSuchProcess):
                process.resume()

    def _processes(self, node: int) -> list[psutil.Process]:
        number = int((self.folder / str(node) / "postmaster.pid").read_text().split()[0])
        postmaster = psutil.Process(number)
        return [postmaster, *postmaster.children(recursive=True)]

    def revive(self, node: int) -> None:
        data = self.folder / str(node)
        options = f"-p {self.ports[node]}"
        self._run("pg_ctl", "-D", str(data), "-l", f"{data}.log", "-w", "-t", "60", "-o", options, "start")

    def superuser(self, node: int, database: str = DATABASE) -> psycopg.Connection[Any]:
        return psycopg.connect(
            host="127.0.0.1", port=self.ports[node], user=SUPERUSER, dbname=database, autocommit=True
        )

    def _make(self, node: int) -> None:
        if self.pristine is None or not self.pristine.exists():
            made = self.folder / "pristine"
            self._run("initdb", "-D", str(made), "-A", "trust", "-U", SUPERUSER, "-E", "UTF8", "--locale=C.UTF-8", "-N")
            CitusCluster.pristine = made
        assert self.pristine is not None
        self._copy(self.pristine, node)

    def _copy(self, original: Path, node: int) -> None:
        data = self.folder / str(node)
        # Files belong to the account that runs PostgreSQL.
        subprocess.run(["cp", "-a", str(original), str(data)], check=True)
        with (data / "postgresql.conf").open("a") as configuration:
            configuration.write(self.settings)

    def _run(self, program: str, *arguments: str) -> None:
        # PostgreSQL refuses to run as root.
        prefix: Sequence[str] = ("runuser", "-u", SUPERUSER, "--") if os.geteuid() == 0 else ()
        command = [*prefix, str(self.programs / program), *arguments]
        done = subprocess.run(
            command, cwd="/", check=False, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        assert done.returncode == 0, done.stderr


def use_cluster(cluster: CitusCluster) -> None:
    """Connect this process to a cluster with the tables of the project, and add those of the tests."""
    connection.close()
    place = {"HOST": "127.0.0.1", "PORT": str(cluster.ports[0]), "NAME": DATABASE, "USER": ROLE, "PASSWORD": ""}
    settings.DATABASES["default"].update(place)
    connection.settings_dict.update(place)
    settings.EMBEDDED_POSTGRES = None
    call_command("migrate", verbosity=0)


def delete_rows(cluster: CitusCluster, tables: Collection[str]) -> bool:
    """Delete the rows of all nodes: truncating all shards takes seconds."""
    for node in range(len(cluster.ports)):
        with cluster.superuser(node) as superuser:
            superuser.execute("SET citus.show_shards_for_app_name_prefixes = '*'")
            found = superuser.execute(TABLES_OF_NODE, [[*tables]]).fetchall()
            delete_all(superuser, [table for (table,) in found])
    return True


def main(arguments: Sequence[str]) -> int:
    """Run the given tests, or those above, or all with TEST_SCALE=full, on clusters of their own. Without Citus, say so
    and succeed. Options are for pytest."""
    if citus_programs() is None:
        print(SKIPPED)  # noqa: T201  the output of a command
        return 0
    environ = {**os.environ, SWITCH: "1"}
    # One run: a cluster takes longer to start than most tests.
    chosen = ["-m", "not long and not fault or on_cluster", *(WHOLE_SUITE if IS_FULL else (*TESTS, *LONG_TESTS))]
    has_tests = any(not each.startswith("-") for each in arguments)
    words = [sys.executable, "-m", "pytest", "-n", "3", *([] if has_tests else chosen), *arguments]
    return subprocess.run(words, env=environ, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
