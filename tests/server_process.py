"""`manage.py` servers as real processes."""

from __future__ import annotations

import contextlib
import fcntl
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import psycopg

from repository_site.core import environment
from repository_site.core.embedded_postgres import EmbeddedPostgres
from tests.patience import SLOWER
from tests.warm_commands import WarmCommands


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def manage(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own with the settings of the project."""
    return subprocess.run(
        [sys.executable, "manage.py", *words],
        cwd=environment.PROJECT_DIR,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "repository_site.settings", **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def peak_memory(process: int | str) -> int:
    """Return the peak resident memory of a process, in bytes."""
    return int(Path(f"/proc/{process}/status").read_text().split("VmHWM:")[1].split()[0]) * 1024


@dataclass(frozen=True, slots=True)
class DataFolders:
    """Data folders as a command leaves them. The first process of a test run that needs one creates it.

    Creating a database and a demo takes seconds; copying them is fast.
    """

    folder: Path

    def copy(self, into: Path, *words: str) -> None:
        made = self.folder / "-".join(("made-by", *words))
        with made.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (made / "ready").exists():
                made.mkdir()
                server = Server(made / "var", 0)
                done = server.manage(*words)
                assert done.returncode == 0, done.stderr
                server.wait_until_nothing_is_left()
                shutil.rmtree(made / "var/postgres.run")
                (made / "ready").touch()
        # Files belong to the account that runs PostgreSQL.
        subprocess.run(["cp", "-a", made / "var", into], check=True)


class Server:
    """A `manage.py` server process with its own port and data folder."""

    program: tuple[str, ...] = ("manage.py",)
    command: tuple[str, ...] = (sys.executable, "manage.py")
    checkout = environment.PROJECT_DIR

    def __init__(self, data_dir: Path, port: int) -> None:
        self.data_dir, self.port = data_dir, port
        self.log = data_dir.parent / "server.log"
        self.process: subprocess.Popen[bytes] | None = None
        self.environ = {
            **os.environ,
            "DATABASE_URL": "",
            "DJANGO_SETTINGS_MODULE": "repository_site.settings",
            "REPOSITORY_BODY_LIMIT": "1000",
            "REPOSITORY_DATA_DIR": str(data_dir),
            # Tests of jobs start a worker; the others need not wait for one.
            "REPOSITORY_JOBS": "0",
        }

    def start(self, *words: str) -> None:
        self.launch(*words)
        self.wait_until_ready()

    def launch(self, *words: str) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, *self.program, *words, "--bind", f"127.0.0.1:{self.port}"],
                cwd=self.checkout,
                env=self.environ,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def manage(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command beside the server, on the same database."""
        return subprocess.run(
            [*self.command, *words],
            cwd=environment.PROJECT_DIR,
            env=self.environ,
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )

    def succeed(self, *words: str) -> str:
        """Run a command that must succeed, and return its output."""
        done = self.manage(*words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    @contextlib.contextmanager
    def warm_commands(self) -> Iterator[None]:
        """Let commands start at once inside, where the environment of the server must not change."""
        commands = WarmCommands(self.data_dir.parent / "commands", self.environ)
        self.command = (str(commands.program),)
        try:
            yield
        finally:
            commands.end()

    def wait_until_ready(self, seconds: float = 90) -> None:
        end = time.monotonic() + SLOWER * seconds
        while time.monotonic() < end:
            with contextlib.suppress(OSError, http.client.HTTPException):
                if self.request("GET", "/readyz")[0] == 200:
                    return
            time.sleep(0.05)
        raise AssertionError(self.log.read_text())

    def wait_for_line(self, text: str, seconds: float = 30) -> None:
        end = time.monotonic() + SLOWER * seconds
        while time.monotonic() < end:
            if text in self.log.read_text():
                return
            time.sleep(0.002)
        raise AssertionError(self.log.read_text())

    def request(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> tuple[int, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            chunked = isinstance(body, list)
            connection.request(method, path, body=body, headers=headers or {}, encode_chunked=chunked)
            response = connection.getresponse()
            content = response.read()
            return response.status, json.loads(content) if content else None
        finally:
            connection.close()

    def workers(self) -> list[psutil.Process]:
        """Return the forks of the server, which answer the requests; they have its command line."""
        assert self.process is not None
        server, found = psutil.Process(self.process.pid), []
        for each in server.children():
            with contextlib.suppress(psutil.Error):
                found += [each] if each.cmdline() == server.cmdline() else []
        return found

    def forget_peak_memory(self) -> None:
        for worker in self.workers():
            Path(f"/proc/{worker.pid}/clear_refs").write_text("5")

    def peak_memory(self) -> int:
        """Return the peak resident memory of the largest worker, in bytes, since the last `forget_peak_memory`."""
        return max(peak_memory(worker.pid) for worker in self.workers())

    def kill(self) -> None:
        """End the server after a test, in whatever state it is."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait(60)
        self.wait_until_nothing_is_left()

    @contextlib.contextmanager
    def superuser(self) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
        """Connect as the superuser of the database."""
        host = str(EmbeddedPostgres(self.data_dir / "postgres").socket_dir)
        with psycopg.connect(
            host=host, port=EmbeddedPostgres.PORT, dbname="repository", user="postgres", autocommit=True
        ) as connection:
            yield connection

    def ask(self, sql: str) -> Any:
        """Return one value, past row-level security."""
        with self.superuser() as connection:
            row = connection.execute(sql).fetchone()
            return row[0] if row else None

    def stop(self, sent: signal.Signals) -> int:
        assert self.process is not None
        self.process.send_signal(sent)
        return self.process.wait(60)

    def ctrl_c(self) -> int:
        """Interrupt every process of the group, as a terminal does."""
        assert self.process is not None
        os.killpg(self.process.pid, signal.SIGINT)
        return self.process.wait(60)

    def deadlocks(self) -> list[str]:
        log = self.data_dir / "postgres.run" / "server.log"
        return [line for line in log.read_text().splitlines() if "deadlock detected" in line]

    def left_over(self) -> list[str]:
        """Return every process that uses this data folder or port."""
        found = []
        for process in psutil.process_iter(["cmdline"]):
            words = process.info["cmdline"] or []
            if any(str(self.data_dir) in word or word.endswith(f":{self.port}") for word in words):
                found.append(" ".join(words))
        return found

    def wait_until_nothing_is_left(self, seconds: float = 20) -> None:
        end = time.monotonic() + SLOWER * seconds
        while self.left_over() and time.monotonic() < end:
            time.sleep(0.1)
        assert self.left_over() == []
