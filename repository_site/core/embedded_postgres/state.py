"""What can be seen of a server from outside: its pid file, its processes, its log. Standard library only at the
top, as the keeper uses it."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from . import locks
from .layout import Layout

LOG_LIMIT = 8 * 1024 * 1024


class Postmaster(NamedTuple):
    """What postmaster.pid says: it outlives the process when that was killed."""

    pid: int
    run: str
    state: str


class Status(NamedTuple):
    running: bool
    pid: int | None
    users: int | None


def _read(path: Path | str) -> str:
    """The text of a small file, none if there is no such file; four times as fast as Path.read_text."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
        try:
            return os.read(descriptor, 16384).decode(errors="replace")
        finally:
            os.close(descriptor)
    except (FileNotFoundError, ProcessLookupError):  # the latter from /proc
        return ""


def read_postmaster(layout: Layout) -> Postmaster | None:
    lines = [line.strip() for line in _read(layout.pid_file).splitlines()]
    try:
        pid = abs(int(lines[0]))  # negative: somebody uses the folder in single-user mode
    except (ValueError, IndexError):
        return None  # not there, or not yet written
    # Lines: pid, data folder, start time, port, socket folder, address, shared memory, state.
    lines += [""] * 8
    return Postmaster(pid, f"{pid} {lines[2]}", lines[7])


def is_alive(pid: int) -> bool:
    # A killed postmaster stays a zombie until process 1 cares, which in containers may be never.
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


def is_postmaster(pid: int, layout: Layout) -> bool:
    """Whether the process is a PostgreSQL server of this folder, and not one that got the number after it."""
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
    # Without -D it may be ours, started by hand: better to leave it alone than to take its folder.
    return "-D" not in words[:-1] or os.path.realpath(words[words.index("-D") + 1]) == str(layout.data_dir)


def is_healthy(layout: Layout) -> bool:
    """Whether a server is ready, set up and kept. Asked before every new connection, so it takes some 50 µs.

    The server lock tells a dead server from a living process that got its pid, the pid from children that
    outlive the postmaster for a moment.
    """
    if not (locks.is_held(layout.server_lock) and locks.is_held(layout.keeper_lock)):
        return False
    postmaster = read_postmaster(layout)
    if postmaster is None or postmaster.state != "ready" or not is_alive(postmaster.pid):
        return False
    return is_provisioned(layout, postmaster)


def is_provisioned(layout: Layout, postmaster: Postmaster) -> bool:
    return _read(layout.provisioned) == postmaster.run


def status(layout: Layout) -> Status:
    running = locks.is_held(layout.server_lock)
    postmaster = read_postmaster(layout) if running else None
    return Status(running, postmaster.pid if postmaster else None, locks.count_shared(layout.users_lock))


def open_log(layout: Layout) -> int:
    """Always for appending, so that writers go on at the beginning after the log was cut."""
    return os.open(layout.log_file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)


def cut_log(layout: Layout) -> None:
    """Keep the log from growing for ever: what there is becomes the old log, and the log begins anew."""
    with suppress(OSError):
        if layout.log_file.stat().st_size > LOG_LIMIT:
            import shutil

            shutil.copyfile(layout.log_file, layout.log_file.with_suffix(".log.1"))
            os.truncate(layout.log_file, 0)


def log_tail(layout: Layout, begin: int, count: int = 4) -> str:
    """The last lines that were logged since the position, as one line."""
    try:
        with layout.log_file.open("rb") as log:
            log.seek(begin)
            lines = log.read().decode(errors="replace").splitlines()
    except OSError:
        return ""
    return " | ".join(line.strip() for line in lines[-count:] if line.strip())
