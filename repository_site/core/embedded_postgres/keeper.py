"""The keeper: one small process per running server that stops it when nobody holds a lease any more.

It waits in flock(2), so it also notices users that died by kill -9. Standard library only, to stay small.
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

from . import locks, state
from .layout import EmbeddedPostgresError, Layout

# What pg_ctl calls fast and immediate, and the last resort. Signals rather than pg_ctl itself: they work when
# the virtual environment is gone, and the server lock tells when the last child, not just the postmaster, left.
STOP_STEPS = ((signal.SIGINT, 60.0), (signal.SIGQUIT, 10.0), (signal.SIGKILL, 10.0))
LOG_CHECK_SECONDS = 600.0


def start_keeper(layout: Layout) -> None:
    """Start a keeper, and return when it keeps. To be called with start.lock and a lease: without a lease it
    would find the server unused."""
    search = os.pathsep.join(filter(None, (str(Path(__file__).parents[3]), os.environ.get("PYTHONPATH"))))
    log = state.open_log(layout)
    try:
        begin = os.fstat(log).st_size
        for _ in range(3):  # somebody may kill it at once
            subprocess.run(
                [sys.executable, "-P", "-m", __package__, "keep", str(layout.data_dir)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, timeout=60, check=False,
                cwd="/", env={**os.environ, "PYTHONPATH": search}, start_new_session=True,
            )  # fmt: skip
            if locks.is_held(layout.keeper_lock):
                return
    finally:
        os.close(log)
    raise EmbeddedPostgresError(
        f"The process that stops the embedded PostgreSQL after use does not start, see {layout.log_file}:"
        f" {state.log_tail(layout, begin)}"
    )


def keep(layout: Layout) -> NoReturn:
    """What the keeper does from its start to its end."""
    # Handlers, as ignored signals would stay ignored in children. A `pkill python` shall not end the keeper
    # before the users that it ends, too.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    signal.signal(signal.SIGALRM, lambda *_: state.cut_log(layout))
    keeping = locks.acquire(layout.keeper_lock, fcntl.LOCK_EX, 5)
    users = locks.open_lock(layout.users_lock)
    # The process that started us waits for this: the lock is taken, and we are nobody's child to be reaped.
    if os.fork():
        os._exit(0)
    signal.setitimer(signal.ITIMER_REAL, LOG_CHECK_SECONDS, LOG_CHECK_SECONDS)
    fcntl.flock(users, fcntl.LOCK_EX)
    signal.setitimer(signal.ITIMER_REAL, 0)
    if locks.is_open_on(users, layout.users_lock):
        stop_server(layout)
        with suppress(OSError):
            layout.socket_dir.rmdir()
    else:
        log("the run folder was removed or replaced; the server in it is not ours to stop")
    # In this order: a newcomer who gets its lease must not take us for a keeper that goes on keeping. The users
    # lock ends with the process, so whoever waits for that finds no process of ours afterwards.
    os.close(keeping)
    os._exit(0)


def stop_server(layout: Layout, steps: Iterable[tuple[signal.Signals, float]] = STOP_STEPS) -> bool:
    """Stop the server, more and more firmly; True when all of its processes are gone."""
    for number, patience in steps:
        if _stopped_by(layout, number, patience):
            return True
        log(f"PostgreSQL did not stop within {patience:.0f} s of {number.name}")
    return False


def _stopped_by(layout: Layout, number: signal.Signals, patience: float) -> bool:
    deadline = time.monotonic() + patience
    signalled = None
    while locks.is_held(layout.server_lock):
        # Looked up again and again: a starter that was killed may have left a server that has no pid file yet.
        postmaster = state.read_postmaster(layout)
        if postmaster and postmaster.pid != signalled and state.is_postmaster(postmaster.pid, layout):
            with suppress(ProcessLookupError):
                os.kill(postmaster.pid, number)
            signalled = postmaster.pid
        if time.monotonic() > deadline:
            return False
        time.sleep(locks.POLL_SECONDS)
    return True


def wait_until_down(layout: Layout, seconds: float) -> bool:
    """Wait until server and keeper are gone; False when others use the server or it takes too long."""
    deadline = time.monotonic() + seconds
    seen_shared = 0
    while any(map(locks.is_held, (layout.server_lock, layout.keeper_lock, layout.users_lock))):
        # Several times in a row, as another process that asks at this moment looks like a user.
        seen_shared = seen_shared + 1 if locks.is_shared(layout.users_lock) else 0
        if seen_shared >= 5 or time.monotonic() > deadline:
            return False
        time.sleep(locks.POLL_SECONDS)
    return True


def log(message: str) -> None:
    """In the manner of the server, whose log file our standard error is."""
    now = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())
    sys.stderr.write(f"{now} [{os.getpid()}] keeper: {message}\n")
