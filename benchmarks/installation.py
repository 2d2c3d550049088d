"""An installation for measuring: a data folder with an embedded database, storages, tokens and servers."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import orjson
from django.utils.functional import cached_property

from repository_site.core.embedded_postgres import EmbeddedPostgres
from repository_site.core.environment import PROJECT_DIR
from tests.server_process import Server, free_port, peak_memory

BYPASS_ROLE = "benchmark_bypass"
"""A role with BYPASSRLS, for the floor, for plain DRF, and for measuring the cost of row-level security."""
COLLECTION = "bench"
WORKERS = 2
MEGABYTE = 1_000_000


class BenchmarkServer(Server):
    """The service, or another WSGI program (`module:factory`) under the same server."""

    def __init__(self, folder: Path, target: str = "", **environ: str) -> None:
        super().__init__(folder, free_port())
        self.log = folder / "servers.log"
        self.program = (
            ("-m", "benchmarks.contenders.serving", target) if target else ("manage.py", "serve", "--no-migrate")
        )
        del self.environ["REPOSITORY_BODY_LIMIT"]
        self.environ |= {
            "REPOSITORY_TOKEN_RATE": "off",
            "REPOSITORY_ANONYMOUS_RATE": "off",
            "REPOSITORY_LOG_LEVEL": "ERROR",
            **environ,
        }

    @cached_property
    def tokens(self) -> dict[str, str]:
        found: dict[str, str] = orjson.loads((self.data_dir / "tokens.json").read_bytes())
        return found

    def wait_until_ready(self, seconds: float = 60) -> None:
        end = time.monotonic() + seconds
        while self.process and self.process.poll() is None and time.monotonic() < end:
            with suppress(OSError):
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                if len(self.workers()) >= WORKERS:
                    # Both workers share the port. Give the second one time to load.
                    time.sleep(2)
                    return
            time.sleep(0.05)
        sys.exit(f"error: a server does not accept connections; see {self.log}")

    def wait_until_idle(self) -> None:
        """Wait for requests whose client has gone; they would slow down the next contender."""
        before = -1.0
        while (now := sum(sum(worker.cpu_times()[:2]) for worker in self.workers())) > before + 0.02:
            before = now
            time.sleep(0.2)

    def close(self) -> None:
        self.stop(signal.SIGTERM)


class BenchmarkInstallation:
    def __init__(self, folder: Path, checkout: Path = PROJECT_DIR) -> None:
        self.folder, self.checkout = folder, checkout
        folder.mkdir(parents=True, exist_ok=True)
        self.postgres = EmbeddedPostgres(folder / "postgres")
        self.database = BenchmarkServer(folder)
        """Never started; knows the environment and the database."""
        self.servers: list[BenchmarkServer] = []

    @property
    def is_made(self) -> bool:
        return (self.folder / "tokens.json").exists()

    def make(self, storages: Mapping[str, int]) -> None:
        """Create storages with these numbers of elements. Existing storages are kept."""
        self.run("manage.py", "migrate", "-v", "0")
        self.run("-m", "benchmarks.storages", str(self.folder), orjson.dumps(storages).decode())
        self.settle()

    def settle(self) -> None:
        """Bring the database into the state in which it is measured."""
        self.postgres.ensure_running()
        with self.database.superuser() as connection:
            if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [BYPASS_ROLE]).fetchone():
                connection.execute(f"CREATE ROLE {BYPASS_ROLE} LOGIN BYPASSRLS")
            connection.execute(f"GRANT {EmbeddedPostgres.ROLE} TO {BYPASS_ROLE}")
            # Statistics and visibility map as autovacuum would leave them.
            connection.execute("VACUUM (ANALYZE)")
            connection.execute("CHECKPOINT")

    @property
    def bypass_url(self) -> str:
        place = f"host={self.postgres.socket_dir}&port={EmbeddedPostgres.PORT}"
        return f"postgresql://{BYPASS_ROLE}@/{EmbeddedPostgres.DATABASE}?{place}"

    def storage_id(self, key: str) -> str:
        """Return the id of a storage, or an empty text."""
        return self.database.ask(f"SELECT id::text FROM storage_storage WHERE key = '{key}'") or ""  # noqa: S608  ours

    def change_configuration(self, key: str) -> None:
        """Touch the type configuration, so that every process reads it again."""
        storage = self.storage_id(key)
        with self.database.superuser() as connection:
            connection.execute("SELECT set_config('repository.storage', %s, false)", [storage])
            connection.execute("UPDATE facets_facet SET position = position WHERE storage_id = %s", [storage])

    def read_files(self) -> None:
        """Read all files of the database once, so that no measurement waits for a cold disk."""
        for file in (self.postgres.data_dir / "base").rglob("*"):
            with suppress(IsADirectoryError, FileNotFoundError), file.open("rb") as content:
                while content.read(1 << 20):
                    pass

    def run(self, *arguments: str) -> float:
        """Run a Python program in the environment of this installation, and return the seconds that it took."""
        return self.run_measured(*arguments)[0]

    def run_measured(self, *arguments: str) -> tuple[float, int]:
        """Run a Python program, and return the seconds that it took and the bytes of memory that it has used.

        The memory is read while it runs: the system would count what this process had when it started the program.
        """
        started, used = time.perf_counter(), 0
        command = [sys.executable, *arguments]
        process = subprocess.Popen(command, cwd=self.checkout, env=self.database.environ, stdout=subprocess.DEVNULL)
        while process.poll() is None:
            # A process that has just ended has no memory.
            with suppress(OSError, IndexError):
                used = peak_memory(process.pid)
            time.sleep(0.05)
        if process.returncode:
            sys.exit(f"error: {' '.join(arguments)} ended with {process.returncode}")
        return time.perf_counter() - started, used

    def serve(self, target: str = "", **environ: str) -> BenchmarkServer:
        self.servers.append(BenchmarkServer(self.folder, target, **environ))
        self.servers[-1].checkout = self.checkout
        self.servers[-1].start("--workers", str(WORKERS))
        return self.servers[-1]

    def close(self) -> None:
        for server in self.servers:
            server.close()
