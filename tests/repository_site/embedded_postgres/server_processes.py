"""Processes that use an embedded PostgreSQL, and checks of the processes that serve it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import psutil
import psycopg
import pytest

from repository_site.core.embedded_postgres import (
    EmbeddedPostgres,
    EmbeddedPostgresError,
    file_locks,
    state,
)
from repository_site.core.embedded_postgres.paths import ServerPaths

PROJECT = Path(__file__).parents[3]
PATIENCE = 60.0
# A process that uses the server until its standard input is closed.
USER = """
import sys
from pathlib import Path
from repository_site.core.embedded_postgres import EmbeddedPostgres
server = EmbeddedPostgres(Path(sys.argv[1]))
server.ensure_running()
print(server.status().pid, flush=True)
sys.stdin.read()
"""


class Users:
    """Starts user processes, and ends all of them after the test."""

    def __init__(self) -> None:
        self.processes: list[subprocess.Popen[str]] = []

    def begin(
        self, data_dir: Path, code: str = USER, python: str = sys.executable, uid: int | None = None
    ) -> subprocess.Popen[str]:
        packages = {str(Path(str(find_spec(name).origin)).parents[1]) for name in ("psutil", "psycopg")}  # type: ignore[union-attr]
        process = subprocess.Popen(
            [python, "-c", code, str(data_dir)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd="/",
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(PROJECT), *packages])},
            user=uid,
            group=uid,
            extra_groups=None if uid is None else [],
        )
        self.processes.append(process)
        return process

    def start(self, data_dir: Path, code: str = USER) -> subprocess.Popen[str]:
        process = self.begin(data_dir, code)
        answer(process)
        return process

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.communicate(timeout=PATIENCE)


def answer(process: subprocess.Popen[str]) -> str:
    """Return the next line that a user process prints."""
    assert process.stdout is not None
    assert process.stderr is not None
    line: str = process.stdout.readline().strip()
    assert line, process.stderr.read()
    return line


def leave(process: subprocess.Popen[str]) -> None:
    """Let a user process end by itself."""
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 0


def make_folder() -> Path:
    # Not tmp_path: its name is too long for a socket beside the data, and another pytest that starts at the same
    # time takes the search bits from the folders above it.
    return Path(tempfile.mkdtemp(prefix="epg-")).resolve()


def end_processes_in(folder: Path) -> None:
    """End processes that a failed test has left; the children of a killed postmaster end by themselves."""
    for process in processes_in(folder):
        process.kill()
    for lock in folder.rglob("server.lock"):
        wait_for(lambda lock=lock: not file_locks.is_held(lock))  # type: ignore[misc]


def remove_folder(folder: Path) -> None:
    end_processes_in(folder)
    shutil.rmtree(folder, ignore_errors=True)


def copy(server: EmbeddedPostgres, data_dir: Path) -> EmbeddedPostgres:
    subprocess.run(["cp", "-a", str(server.data_dir), str(data_dir)], check=True, timeout=PATIENCE)
    return EmbeddedPostgres(data_dir)


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def processes_in(folder: Path) -> list[psutil.Process]:
    """Return the other running processes with the folder in their command line."""
    found = []
    for process in psutil.process_iter():
        try:
            words = process.cmdline() if process.status() != psutil.STATUS_ZOMBIE else []
        except psutil.Error:
            continue
        if process.pid != os.getpid() and any(str(folder) in word for word in words):
            found.append(process)
    return found


def assert_gone(server: EmbeddedPostgres) -> None:
    """Check that postmaster, its children and the keeper end by themselves."""
    wait_for(lambda: not file_locks.is_held(ServerPaths(server.data_dir).server_lock))
    wait_for(lambda: not processes_in(server.data_dir))
    assert state.read_postmaster(ServerPaths(server.data_dir)) is None, "not shut down in order"


def postmaster_pid(server: EmbeddedPostgres) -> int:
    pid = server.status().pid
    assert pid is not None
    return pid


def keeper_process(server: EmbeddedPostgres) -> psutil.Process:
    (found,) = [process for process in processes_in(server.data_dir) if "keep" in process.cmdline()]
    return found


def kill(*processes: psutil.Process | subprocess.Popen[str]) -> None:
    for process in processes:
        process.kill()
    for process in processes:
        if isinstance(process, psutil.Process):  # a zombie for as long as its parent likes
            wait_for(lambda p=process: not p.is_running() or p.status() == psutil.STATUS_ZOMBIE)  # type: ignore[misc]
        else:
            process.wait(timeout=PATIENCE)


def query(server: EmbeddedPostgres, statement: str, user: str = EmbeddedPostgres.ROLE) -> tuple[object, ...]:
    with psycopg.connect(
        host=str(server.socket_dir), port=server.PORT, user=user, dbname=server.DATABASE, connect_timeout=10
    ) as connection:
        row = connection.execute(statement.encode()).fetchone()
    assert row is not None
    return tuple(row)


def works(server: EmbeddedPostgres) -> bool:
    return query(server, "SELECT 1") == (1,)


def one_line(raised: pytest.ExceptionInfo[EmbeddedPostgresError]) -> str:
    message = str(raised.value)
    assert "\n" not in message
    return message
