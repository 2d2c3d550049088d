"""An installation of its own for measuring: a data folder with an embedded database, storages, tokens and servers."""

from __future__ import annotations

import hashlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from uuid import UUID

import orjson
import psutil
import psycopg
from psycopg import sql

from benchmarks.client import Client, Connection
from benchmarks.generating import Step, copy_storage, grow_storage
from repository_site.core.embedded_postgres import EmbeddedPostgres
from repository_site.core.environment import PROJECT_DIR

BYPASS = "benchmark_bypass"
"""A role that row-level security does not bind: for the floor and the plain comparison, and to measure its cost."""
COLLECTION = "bench"
WORKERS = 2
GENERATED = 10_000
"""So many elements are made by the generator; those beyond are copies."""
CHUNK = 1 << 20
COMPARED = 1_000
"""So many elements of a storage are compared with what the generator makes today."""


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
        return self.run("manage.py", *words)

    def run(self, *words: str) -> str:
        """A Python program in the environment of this installation."""
        command = [sys.executable, *words]
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

    def sample(self, key: str, count: int, step: Step = lambda count: None) -> str:
        """A storage of generated elements; made once and kept for the next run.

        Making it may be broken off at any time: it gets its key when it is whole.
        """
        if self.storage_id(key):
            step(count)
        elif count <= GENERATED:
            self.manage("sample_storage", COLLECTION, key, str(count))
            step(count)
        else:
            unfinished = self.sample(f"unfinished-{key}", GENERATED, step)
            with self.database("postgres") as connection:
                grow_storage(connection, unfinished, key, GENERATED, count, step)
        storage = self.storage_id(key)
        self._check(storage, count)
        return storage

    def copies(self, source: str, keys: Sequence[str], step: Step) -> None:
        """Storages that are like the source; those that are there are kept."""
        with self.database("postgres") as connection:
            there = {row[0] for row in connection.execute("SELECT key FROM storage_storage")}
            for key in keys:
                if key not in there:
                    copy_storage(connection, source, key)
                step(1)

    def settle(self) -> None:
        """Statistics and visibility of rows as they would be after a while, when there are new storages or tables."""
        state = self._state()
        note = self.folder / "settled"
        if not note.exists() or note.read_text() != state:
            with self.database("postgres") as connection:
                connection.execute("VACUUM (ANALYZE)")
                connection.execute("CHECKPOINT")
            note.write_text(state)

    def warm(self) -> None:
        """Reads all files of the database once, so that they are in memory: disks are not what is compared."""
        for file in (self.postgres.data_dir / "base").rglob("*"):
            with suppress(IsADirectoryError, FileNotFoundError), file.open("rb") as content:
                while content.read(CHUNK):
                    pass

    def _state(self) -> str:
        """Of storages and schema."""
        statements = ("SELECT key FROM storage_storage ORDER BY key", "SELECT name FROM django_migrations ORDER BY id")
        with self.database("postgres") as connection:
            names = [row[0] for statement in statements for row in connection.execute(statement)]
        return hashlib.sha256("\n".join(names).encode()).hexdigest()

    def _check(self, storage: str, count: int) -> None:
        """What an older generator, or an older way to copy, has made is not to be mistaken for what is measured."""
        compared = min(count, COMPARED)
        first, last, end = (UUID(int=(4 << 64) + number) for number in (0, compared - 1, count - 1))
        with self.database("postgres") as connection:
            connection.execute("SELECT set_config('repository.storage', %s, false)", [storage])
            values = {"storage": storage, "first": first, "last": last, "end": end}
            rows = connection.execute(
                "SELECT attributes FROM elements_elementversion"
                " WHERE storage_id = %(storage)s AND (id BETWEEN %(first)s AND %(last)s OR id = %(end)s) ORDER BY id",
                values,
            ).fetchall()
            versions = connection.execute(
                "SELECT count(*) FROM elements_elementversion"
                " WHERE storage_id = %(storage)s AND id BETWEEN %(first)s AND %(end)s",
                values,
            ).fetchone()
            # Storages that nobody has changed since there are marks have none; this leaves one, as any change does.
            connection.execute(
                "UPDATE elements_element SET position = position WHERE storage_id = %s AND id = %s",
                [storage, UUID(int=3 << 64)],
            )
        attributes = [row[0] for row in rows]
        is_whole = versions == (count,) and attributes[-1]["name"]["1033"].endswith(f" {count - 1}")
        if not is_whole or attributes[:compared] != self.generated[:compared]:
            sys.exit(f"error: the storages in {self.folder} are not what the generator makes; remove it to begin anew")

    @cached_property
    def generated(self) -> list[dict[str, Any]]:
        """The attributes of the first processes, as the generator makes them now."""
        found: list[dict[str, Any]] = orjson.loads(self.run("-m", "benchmarks.inside", "attributes", str(COMPARED)))
        return found

    @property
    def names(self) -> list[str]:
        return [attributes["name"]["1033"] for attributes in self.generated]

    def tokens(self) -> dict[str, str]:
        """Of administrators of all storages, by the keys of these; they are kept for the next run."""
        file = self.folder / "tokens.json"
        self.run("-m", "benchmarks.inside", "tokens", str(file))
        found = orjson.loads(file.read_bytes())
        with self.database("postgres") as connection:
            return {
                key: found[str(storage)] for storage, key in connection.execute("SELECT id, key FROM storage_storage")
            }

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
        return Client(Connection(self.port), token)

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
