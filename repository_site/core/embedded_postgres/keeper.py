"""The keeper: a small process for each running server, which stops the server when no lease is left.

It waits in flock(2), so it also notices users that ended by kill -9. It uses the standard library only, to stay small.
"""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from . import file_locks, state
from .paths import EmbeddedPostgresError, ServerPaths

# The modes fast and immediate of pg_ctl, and the last resort. Signals work without the virtual environment, and the
# server lock tells when the last child process has ended, not just the postmaster.
STOP_STEPS = ((signal.SIGINT, 60.0), (signal.SIGQUIT, 10.0), (signal.SIGKILL, 10.0))
LOG_CHECK_SECONDS = 600.0


def start_keeper(paths: ServerPaths) -> None:
    """Start a keeper, and return when it works. The caller has start.lock and a lease: without a lease, the keeper
    would find the server unused."""
    search = os.pathsep.join(filter(None, (str(Path(__file__).parents[3]), os.environ.get("PYTHONPATH"))))
    log = state.open_log(paths)
    try:
        begin = os.fstat(log).st_size
        for _ in range(3):  # it may be killed at once
            subprocess.run(
                [sys.executable, "-P", "-m", __package__, "keep", str(paths.data_dir)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, timeout=60, check=False,
                cwd="/", env={**os.environ, "PYTHONPATH": search}, start_new_session=True,
            )  # fmt: skip
            if file_locks.is_held(paths.keeper_lock):
                return
    finally:
        os.close(log)
    raise EmbeddedPostgresError(
        f"The process that stops the embedded PostgreSQL after use does not start, see {paths.log_file}:"
        f" {state.log_tail(paths, begin)}"
    )


def keep(paths: ServerPaths) -> NoReturn:
    # Handlers, because ignored signals would stay ignored in child processes. A `pkill python` must not end the keeper
    # before it ends the processes that use PostgreSQL.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    signal.signal(signal.SIGALRM, lambda *_: state.cut_log(paths))
    keeping = file_locks.acquire(paths.keeper_lock, fcntl.LOCK_EX, 5)
    users = file_locks.open_lock(paths.users_lock)
    # The process that started us waits for this: the lock is taken, and no process has to reap us.
    if os.fork():
        os._exit(0)
    signal.setitimer(signal.ITIMER_REAL, LOG_CHECK_SECONDS, LOG_CHECK_SECONDS)
    fcntl.flock(users, fcntl.LOCK_EX)
    signal.setitimer(signal.ITIMER_REAL, 0)
    if file_locks.is_open_on(users, paths.users_lock):
        stop_server(paths)
        with suppress(OSError):
            paths.socket_dir.rmdir()
    else:
        log("the run folder was removed or replaced; this keeper does not stop the server in it")
    # In this order: a process that gets a lease now must not take us for a keeper that continues. The users lock ends
    # with the process, so a process that waits for this lock finds no process of ours afterwards.
    os.close(keeping)
    os._exit(0)


def stop_server(paths: ServerPaths, steps: Iterable[tuple[signal.Signals, float]] = STOP_STEPS) -> bool:
    """Stop the server, step by step with stronger signals, and return whether all of its processes have ended."""
    for number, patience in steps:
        if _stopped_by(paths, number, patience):
            return True
        log(f"PostgreSQL did not stop within {patience:.0f} s of {number.name}")
    return False


def _stopped_by(paths: ServerPaths, number: signal.Signals, patience: float) -> bool:
    deadline = time.monotonic() + patience
    signalled = None
    while file_locks.is_held(paths.server_lock):
        # Read in each round: a starter that was killed may have left a server without a pid file.
        postmaster = state.read_postmaster(paths)
        if postmaster and postmaster.pid != signalled and state.is_postmaster(postmaster.pid, paths):
            with suppress(ProcessLookupError):
                os.kill(postmaster.pid, number)
            signalled = postmaster.pid
        if time.monotonic() > deadline:
            return False
        time.sleep(file_locks.POLL_SECONDS)
    return True


def wait_until_down(paths: ServerPaths, seconds: float) -> bool:
    """Wait until server and keeper have ended; return False if others use the server or it takes too long."""
    deadline = time.monotonic() + seconds
    seen_shared = 0
    while any(map(file_locks.is_held, (paths.server_lock, paths.keeper_lock, paths.users_lock))):
        # Several times in a row, because another process that checks at this moment looks like a user.
        seen_shared = seen_shared + 1 if file_locks.is_shared(paths.users_lock) else 0
        if seen_shared >= 5 or time.monotonic() > deadline:
            return False
        time.sleep(file_locks.POLL_SECONDS)
    return True


def log(message: str) -> None:
    """Write a line in the log format of PostgreSQL; our standard error is its log file."""
    now = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())
    sys.stderr.write(f"{now} [{os.getpid()}] keeper: {message}\n")
