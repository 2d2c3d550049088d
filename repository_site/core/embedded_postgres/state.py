"""The state of a server as seen from outside: pid file, processes, log.

Imports only the standard library at the top, because the keeper uses it.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from . import file_locks
from .paths import ServerPaths

LOG_LIMIT = 8 * 1024 * 1024


class Postmaster(NamedTuple):
    """The content of postmaster.pid, which outlives a killed process."""

    pid: int
    run: str
    state: str


class Status(NamedTuple):
    running: bool
    pid: int | None
    users: int | None


def _read(path: Path | str) -> str:
    """Return the text of a small file, empty if it does not exist; four times as fast as Path.read_text."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
        try:
            return os.read(descriptor, 16384).decode(errors="replace")
        finally:
            os.close(descriptor)
    except (FileNotFoundError, ProcessLookupError):  # the latter from /proc
        return ""


def read_postmaster(paths: ServerPaths) -> Postmaster | None:
    lines = [line.strip() for line in _read(paths.pid_file).splitlines()]
    try:
        pid = abs(int(lines[0]))  # negative in single-user mode
    except (ValueError, IndexError):
        return None  # missing, or not yet written
    # Lines: pid, data folder, start time, port, socket folder, address, shared memory, state.
    lines += [""] * 8
    return Postmaster(pid, f"{pid} {lines[2]}", lines[7])


def is_alive(pid: int) -> bool:
    # A killed postmaster stays a zombie until process 1 reaps it, which in containers may never happen.
    words = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    if words:
        return words[0] not in "ZX"
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def is_postmaster(pid: int, paths: ServerPaths) -> bool:
    """Return whether the process is a PostgreSQL server of this folder, and not another one that got its pid."""
    try:
        import psutil  # takes 40 ms, needed rarely
    except ImportError:
        return is_alive(pid)  # the virtual environment was removed under a running keeper
    try:
        process = psutil.Process(pid)
        words = process.cmdline() if process.status() != psutil.STATUS_ZOMBIE else []
    except psutil.Error:
        return False
    if not words or Path(words[0]).name != "postgres":
        return False
    # Without -D it may be ours, started by hand. It is safer to leave it alone than to use its folder.
    return "-D" not in words[:-1] or os.path.realpath(words[words.index("-D") + 1]) == str(paths.data_dir)


def is_healthy(paths: ServerPaths) -> bool:
    """Return whether a server is ready, set up and has a keeper. Called before every new connection; takes some 50 µs.

    The server lock distinguishes a dead server from another process that got its pid; the pid distinguishes the
    server from child processes that outlive the postmaster for a moment.
    """
    if not (file_locks.is_held(paths.server_lock) and file_locks.is_held(paths.keeper_lock)):
        return False
    postmaster = read_postmaster(paths)
    if postmaster is None or postmaster.state != "ready" or not is_alive(postmaster.pid):
        return False
    return is_provisioned(paths, postmaster)


def is_provisioned(paths: ServerPaths, postmaster: Postmaster) -> bool:
    return _read(paths.provisioned) == postmaster.run


def status(paths: ServerPaths) -> Status:
    running = file_locks.is_held(paths.server_lock)
    postmaster = read_postmaster(paths) if running else None
    return Status(running, postmaster.pid if postmaster else None, file_locks.count_shared(paths.users_lock))


def open_log(paths: ServerPaths) -> int:
    """Open the log for appending, so that writers continue at the beginning after it was truncated."""
    return os.open(paths.log_file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)


def cut_log(paths: ServerPaths) -> None:
    """Limit the size of the log: copy it to the old log, and truncate it."""
    with suppress(OSError):
        if paths.log_file.stat().st_size > LOG_LIMIT:
            import shutil

            shutil.copyfile(paths.log_file, paths.log_file.with_suffix(".log.1"))
            os.truncate(paths.log_file, 0)


def log_tail(paths: ServerPaths, begin: int) -> str:
    """Return the last lines that were logged since the position, as one line."""
    try:
        with paths.log_file.open("rb") as log:
            log.seek(begin)
            return last_lines(log.read().decode(errors="replace"))
    except OSError:
        return ""


def last_lines(text: str) -> str:
    return " | ".join(line.strip() for line in text.splitlines()[-4:] if line.strip())
