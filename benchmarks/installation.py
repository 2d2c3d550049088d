"""An installation of its own for measuring: a data folder with an embedded database, storages, tokens and servers."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import psycopg
from psycopg import sql

from benchmarks.client import Client
from repository_site.embedded_postgres import EmbeddedPostgres
from repository_site.environment import PROJECT_DIR

BYPASS = "benchmark_bypass"
"""A role that row-level security does not bind: for the floor and the plain comparison, and to measure its cost."""
COLLECTION = "bench"
WORKERS = 2


@dataclass
class Installation:
    folder: Path
    servers: list[Server] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.environ = {
            **os.environ,
            "DATABASE_URL": "",
            "DJANGO_SETTINGS_MODULE": "repository_site.settings",
            "REPOSITORY_DATA_DIR": str(self.folder),
            "REPOSITORY_TOKEN_RATE": "off",
            "REPOSITORY_ANONYMOUS_RATE": "off",
            "REPOSITORY_LOG_LEVEL": "ERROR",
        }
        self.postgres = EmbeddedPostgres(self.folder / "postgres")

    def prepare(self) -> None:
        self.manage("migrate", "-v", "0")
        self.postgres.ensure_running()
        with self.database("postgres") as connection:
            if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [BYPASS]).fetchone():
                connection.execute(sql.SQL("CREATE ROLE {} LOGIN BYPASSRLS").format(sql.Identifier(BYPASS)))
            owner, role = sql.Identifier(EmbeddedPostgres.ROLE), sql.Identifier(BYPASS)
            connection.execute(sql.SQL("GRANT {} TO {}").format(owner, role))

    def database(self, user: str) -> psycopg.Connection:
        return psycopg.connect(self.address(user), autocommit=True)

    def address(self, user: str) -> str:
        place = f"host={self.postgres.socket_dir} port={EmbeddedPostgres.PORT}"
        return f"{place} dbname={EmbeddedPostgres.DATABASE} user={user}"

    def url(self, user: str) -> str:
        return f"postgresql://{user}@/{EmbeddedPostgres.DATABASE}?host={self.postgres.socket_dir}&port={EmbeddedPostgres.PORT}"

    def touch_configuration(self, key: str) -> None:
        """As a change does it: every process has to read the configuration anew."""
        storage = self.storage_id(key)
        with self.database("postgres") as connection:
            connection.execute("SELECT set_config('repository.storage', %s, false)", [storage])
            connection.execute("UPDATE facets_facet SET position = position WHERE storage_id = %s", [storage])

    def manage(self, *words: str) -> str:
        command = [sys.executable, "manage.py", *words]
        done = subprocess.run(
            command, cwd=PROJECT_DIR, env=self.environ, stdout=subprocess.PIPE, text=True, check=False
        )
        if done.returncode:
            sys.exit(f"error: {' '.join(words)} ended with {done.returncode}")
        return done.stdout

    def storage_id(self, key: str) -> str:
        with self.database("postgres") as connection:
            row = connection.execute("SELECT id FROM storage_storage WHERE key = %s", [key]).fetchone()
        return str(row[0]) if row else ""

    def time_zone(self, key: str) -> str:
        with self.database("postgres") as connection:
            row = connection.execute("SELECT time_zone FROM storage_storage WHERE key = %s", [key]).fetchone()
        return str(row[0]) if row else "UTC"

    def sample(self, key: str, count: int) -> str:
        """A storage of generated elements; made once and kept for the next run."""
        if not self.storage_id(key):
            self.manage("sample_storage", COLLECTION, key, str(count))
            with self.database("postgres") as connection:
                connection.execute("VACUUM ANALYZE")
        return self.storage_id(key)

    def token(self, key: str, role: str) -> str:
        """A new one each time: the value of an earlier one is known to nobody."""
        name = f"{role} {time.time_ns()}"
        return self.manage("issue_token", COLLECTION, key, "--name", name, "--role", role).strip()

    def serve(self) -> Server:
        return self._start([sys.executable, "manage.py", "serve", "--no-migrate", "--workers", str(WORKERS)], {})

    def serve_program(self, target: str, **environ: str) -> Server:
        """Another program under the same server with the same settings."""
        return self._start([sys.executable, "-m", "benchmarks.serving", target], environ)

    def _start(self, command: list[str], environ: dict[str, str]) -> Server:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        with (self.folder / "servers.log").open("ab") as log:
            process = subprocess.Popen(
                [*command, "--bind", f"127.0.0.1:{port}"],
                cwd=PROJECT_DIR,
                env=self.environ | environ,
                stdout=log,
                stderr=log,
            )
        server = Server(process, port)
        self.servers.append(server)
        server.wait()
        return server

    def close(self) -> None:
        for server in self.servers:
            server.stop()


@dataclass(frozen=True)
class Server:
    process: subprocess.Popen[bytes]
    port: int

    def client(self, token: str = "") -> Client:
        return Client(self.port, token)

    def wait(self, seconds: float = 60) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.process.poll() is not None:
                sys.exit("error: a server has ended; servers.log in the benchmark's folder says why")
            if len(self.workers()) >= WORKERS:
                try:
                    socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                except OSError:
                    pass
                else:
                    # Both workers share the port; give the second its time to load.
                    time.sleep(2)
                    return
            time.sleep(0.05)
        sys.exit("error: a server does not answer")

    def workers(self) -> list[psutil.Process]:
        return [each for each in psutil.Process(self.process.pid).children() if "python" in each.name()]

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(30)
