"""An installation for measuring: a data folder with an embedded database, storages, tokens and servers."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import orjson
import psutil
import psycopg

from repository_site.core.embedded_postgres import EmbeddedPostgres
from repository_site.core.environment import PROJECT_DIR

BYPASS_ROLE = "benchmark_bypass"
"""A role with BYPASSRLS, for the floor, for plain DRF, and for measuring the cost of row-level security."""
COLLECTION = "bench"
WORKERS = 2
MEGABYTE = 1_000_000


class BenchmarkInstallation:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.environ = {
            **os.environ,
            "DATABASE_URL": "",
            "DJANGO_SETTINGS_MODULE": "repository_site.settings",
            "REPOSITORY_DATA_DIR": str(folder),
            "REPOSITORY_TOKEN_RATE": "off",
            "REPOSITORY_ANONYMOUS_RATE": "off",
            "REPOSITORY_LOG_LEVEL": "ERROR",
        }
        self.postgres = EmbeddedPostgres(folder / "postgres")
        self.servers: list[BenchmarkServer] = []

    def make(self, storages: Mapping[str, int]) -> None:
        """Create storages with these numbers of elements. Existing storages are kept."""
        self.run("manage.py", "migrate", "-v", "0")
        self.run("-m", "benchmarks.storages", str(self.folder), orjson.dumps(storages).decode())
        self.postgres.ensure_running()
        with self.connect() as connection:
            if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [BYPASS_ROLE]).fetchone():
                connection.execute(f"CREATE ROLE {BYPASS_ROLE} LOGIN BYPASSRLS")
            connection.execute(f"GRANT {EmbeddedPostgres.ROLE} TO {BYPASS_ROLE}")
            # Statistics and visibility map as autovacuum would leave them.
            connection.execute("VACUUM (ANALYZE)")
            connection.execute("CHECKPOINT")

    def database_url(self, user: str) -> str:
        place = f"host={self.postgres.socket_dir}&port={EmbeddedPostgres.PORT}"
        return f"postgresql://{user}@/{EmbeddedPostgres.DATABASE}?{place}"

    def connect(self) -> psycopg.Connection[Any]:
        return psycopg.connect(self.database_url("postgres"), autocommit=True)

    def storage_id(self, key: str) -> str:
        """Return the id of a storage, or an empty text."""
        with self.connect() as connection:
            found = connection.execute("SELECT id::text FROM storage_storage WHERE key = %s", [key]).fetchone()
            return found[0] if found else ""

    @cached_property
    def tokens(self) -> dict[str, str]:
        found: dict[str, str] = orjson.loads((self.folder / "tokens.json").read_bytes())
        return found

    def change_configuration(self, key: str) -> None:
        """Touch the type configuration, so that every process reads it again."""
        storage = self.storage_id(key)
        with self.connect() as connection:
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
        started = time.perf_counter()
        done = subprocess.run(
            [sys.executable, *arguments], cwd=PROJECT_DIR, env=self.environ, stdout=subprocess.DEVNULL, check=False
        )
        if done.returncode:
            sys.exit(f"error: {' '.join(arguments)} ended with {done.returncode}")
        return time.perf_counter() - started

    def serve(self, target: str = "", **environ: str) -> BenchmarkServer:
        """Start the service, or another WSGI program (`module:factory`) under the same server."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        program = ["-m", "benchmarks.serving", target] if target else ["manage.py", "serve", "--no-migrate"]
        with (self.folder / "servers.log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, *program, "--bind", f"127.0.0.1:{port}", "--workers", str(WORKERS)],
                cwd=PROJECT_DIR,
                env=self.environ | environ,
                stdout=log,
                stderr=log,
            )
        server = BenchmarkServer(process, port)
        self.servers.append(server)
        server.wait_until_ready()
        return server

    def close(self) -> None:
        for server in self.servers:
            server.stop()


@dataclass(frozen=True)
class BenchmarkServer:
    process: subprocess.Popen[bytes]
    port: int

    def wait_until_ready(self) -> None:
        end = time.monotonic() + 60
        while time.monotonic() < end:
            if self.process.poll() is not None:
                sys.exit("error: a server has ended; see servers.log in the folder of the benchmark")
            with suppress(OSError):
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                if len(self.workers()) >= WORKERS:
                    # Both workers share the port. Give the second one time to load.
                    time.sleep(2)
                    return
            time.sleep(0.05)
        sys.exit("error: a server does not accept connections; see servers.log in the folder of the benchmark")

    def workers(self) -> list[psutil.Process]:
        return [each for each in psutil.Process(self.process.pid).children() if "python" in each.name()]

    def wait_until_idle(self) -> None:
        """Wait for requests whose client has gone; they would slow down the next contender."""
        before = -1.0
        while (now := sum(sum(worker.cpu_times()[:2]) for worker in self.workers())) > before + 0.02:
            before = now
            time.sleep(0.2)

    def forget_peak_memory(self) -> None:
        for worker in self.workers():
            Path(f"/proc/{worker.pid}/clear_refs").write_text("5")

    def peak_memory(self) -> float:
        """Return the peak resident memory of the largest worker, in MB, since the last `forget_peak_memory`."""
        status = [Path(f"/proc/{worker.pid}/status").read_text() for worker in self.workers()]
        return max(int(text.split("VmHWM:")[1].split()[0]) for text in status) * 1024 / MEGABYTE

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(30)
