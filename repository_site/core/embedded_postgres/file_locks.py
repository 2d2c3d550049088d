"""Locks by flock(2). The kernel releases them with the last descriptor, even after kill -9."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from .paths import EmbeddedPostgresError

POLL_SECONDS = 0.02


def open_lock(path: Path) -> int:
    """Open a lock file. Programs that are started later do not inherit the descriptor."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)


def is_open_on(descriptor: int, path: Path) -> bool:
    """Return whether the descriptor still is the file of that name: it may have been closed, removed or replaced."""
    try:
        ours, named = os.fstat(descriptor), path.stat()
    except OSError:
        return False
    return os.path.samestat(ours, named)


def try_lock(descriptor: int, mode: int) -> bool:
    try:
        fcntl.flock(descriptor, mode | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def acquire(path: Path, mode: int, seconds: float) -> int:
    """Lock the file and return its descriptor. Close it to release the lock.

    LOCK_UN would release it for every forked child that shares the open file, too.
    """
    deadline = time.monotonic() + seconds
    while True:
        descriptor = open_lock(path)
        try:
            while not try_lock(descriptor, mode):
                if time.monotonic() > deadline:
                    raise EmbeddedPostgresError(
                        f"Another process has locked {path} for more than {seconds:.0f} s. See server.log next to it,"
                        " end the processes that hang, and try again."
                    )
                time.sleep(POLL_SECONDS)
        except BaseException:
            os.close(descriptor)
            raise
        if is_open_on(descriptor, path):
            return descriptor
        os.close(descriptor)  # removed while we waited: a lock on it would have no effect


@contextmanager
def holding(path: Path, mode: int, seconds: float) -> Iterator[int]:
    descriptor = acquire(path, mode, seconds)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def is_held(path: Path) -> bool:
    """Return whether a process has an exclusive lock on the file. Two checks do not disturb each other."""
    return _check(path, lambda descriptor: not try_lock(descriptor, fcntl.LOCK_SH))


def is_shared(path: Path) -> bool:
    """Return whether a process has a shared lock on the file. May be wrong while two processes check at once."""
    return _check(
        path, lambda descriptor: not try_lock(descriptor, fcntl.LOCK_EX) and try_lock(descriptor, fcntl.LOCK_SH)
    )


def _check(path: Path, check: Callable[[int], bool]) -> bool:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return False
    try:
        return check(descriptor)
    finally:
        os.close(descriptor)


def count_shared(path: Path) -> int | None:
    """Return the number of open files with a shared lock on it; None on systems other than Linux."""
    try:
        wanted = path.stat().st_ino
        lines = Path("/proc/locks").read_text().splitlines()
    except FileNotFoundError:
        return None
    # Such as "7: FLOCK  ADVISORY  READ 4711 fe:00:1234 0 EOF"; waiting requests have "->" in second place.
    rows = [line.split() for line in lines]
    return sum(row[1] == "FLOCK" and row[3] == "READ" and row[5].endswith(f":{wanted}") for row in rows)
