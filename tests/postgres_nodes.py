"""PostgreSQL servers on loopback, with streaming replication, from the programs of the embedded PostgreSQL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg

from repository_site.core.embedded_postgres import accounts
from repository_site.core.embedded_postgres.paths import ServerPaths
from repository_site.core.embedded_postgres.server import SUPERUSER, programs
from tests.server_process import free_port

# Tests crash no machine, so commits wait for no disk. A standby must not cancel a long read.
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "80",
    "shared_buffers": "32MB",
    "fsync": "off",
    "hot_standby_feedback": "on",
}


class PostgresNode:
    """A server with its data folder and port. Only this machine can reach it, and it asks for no passwords."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        self.account = accounts.server_account(ServerPaths(folder))
        accounts.let_through(self.account, folder, programs())
        accounts.private_folder(folder, self.account)

    @property
    def url(self) -> str:
        return f"postgresql://repository@127.0.0.1:{self.port}/repository"

    def create(self) -> None:
        """Create a cluster with the role and the database of the service."""
        self._run("initdb", f"--username={SUPERUSER}", "--encoding=UTF8", "--locale=C", "--no-sync")
        self.start()
        with self.connect("postgres") as superuser:
            superuser.execute("CREATE ROLE repository LOGIN NOSUPERUSER NOBYPASSRLS")
            superuser.execute("CREATE DATABASE repository OWNER repository")

    def follow(self, primary: PostgresNode) -> None:
        """Create a standby of the primary."""
        source = f"postgresql://{SUPERUSER}@127.0.0.1:{primary.port}/postgres"
        self._run("pg_basebackup", "-R", "--checkpoint=fast", "--no-sync", "-d", source)
        self.start()

    def start(self) -> None:
        options = " ".join(f"-c {name}='{value}'" for name, value in {**SETTINGS, "port": self.port}.items())
        self._run("pg_ctl", "start", "-l", f"{self.folder}/server.log", "-w", "-o", options)

    def stop(self) -> None:
        """End the server at once, as if it were killed."""
        if (self.folder / "postmaster.pid").exists():
            self._run("pg_ctl", "stop", "-m", "immediate", "-w")

    def connect(self, database: str = "repository") -> psycopg.Connection[tuple[Any, ...]]:
        return psycopg.connect(host="127.0.0.1", port=self.port, dbname=database, user=SUPERUSER, autocommit=True)

    def ask(self, sql: str) -> Any:
        """Return one value, past row-level security."""
        with self.connect() as superuser:
            row = superuser.execute(sql).fetchone()
            return row[0] if row else None

    def _run(self, name: str, *words: str) -> None:
        output = self.folder.with_name(f"{self.folder.name}.out")
        # Not a pipe: the server would inherit it, and this process would wait for its end.
        with output.open("ab") as file:
            command = [str(programs() / name), "-D", str(self.folder), *words]
            done = accounts.run_as(self.account, command, seconds=120, output=file.fileno())
        assert done.returncode == 0, output.read_text(errors="replace")
