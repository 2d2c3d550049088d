"""The embedded PostgreSQL, which is used without DATABASE_URL.

It starts with the first process that needs it and stops after the last one, however these processes end. This module
imports nothing heavy, because the keeper process loads it, too.
"""

from __future__ import annotations

import atexit
import fcntl
import logging
import os
import subprocess
import threading
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

from . import accounts, keeper, locks, paths, state
from .paths import EmbeddedPostgresError, ServerPaths
from .state import Status

__all__ = ["EmbeddedPostgres", "EmbeddedPostgresError", "Status"]

LEASE_SECONDS = 90.0  # longer than the keeper takes to stop a server that hangs
QUEUE_SECONDS = 600.0  # longer than another process takes to make and start one

logger = logging.getLogger(__name__)

# The descriptors of this process's leases, by data folder. A forked child has copies of them, so the lease lasts as
# long as either process lives.
_leases: dict[Path, int] = {}
_mutex = threading.RLock()
_paths_of = lru_cache(ServerPaths)  # saves joining the paths before each connection


@dataclass(frozen=True, slots=True)
class EmbeddedPostgres:
    """The server of one data folder. A process that has called `ensure_running` has a lease on it until it ends."""

    data_dir: Path

    ROLE: ClassVar[str] = paths.ROLE
    DATABASE: ClassVar[str] = paths.DATABASE
    PORT: ClassVar[int] = paths.PORT

    def __post_init__(self) -> None:
        # All processes must use the same name, whatever their working directory and the symbolic links on the way.
        object.__setattr__(self, "data_dir", Path(os.path.realpath(self.data_dir)))

    @property
    def socket_dir(self) -> Path:
        """The host for connections. It is known before the server runs."""
        return _paths_of(self.data_dir).socket_dir

    @property
    def log_file(self) -> Path:
        return _paths_of(self.data_dir).log_file

    def is_made(self) -> bool:
        """Return whether a database exists, without creating one. A folder that we may not read counts as one."""
        try:
            return (self.data_dir / "PG_VERSION").exists()
        except PermissionError:
            return True

    def is_running(self) -> bool:
        """Return whether it accepts connections and we have a lease. Never waits, not even while it is starting."""
        here = _paths_of(self.data_dir)
        try:
            return _has_lease(here) and state.is_healthy(here)
        except OSError:
            return False

    def ensure_running(self) -> None:
        """Take a lease and return when the server accepts connections. Cheap when it already runs."""
        here = _paths_of(self.data_dir)
        with _mutex:
            try:
                if not (_has_lease(here) and state.is_healthy(here)):
                    _lease_and_start(here)
            except (OSError, subprocess.SubprocessError) as error:
                raise EmbeddedPostgresError(
                    f"The embedded PostgreSQL in {self.data_dir} cannot be started: {error}."
                    " Check permissions and free space, or set DATABASE_URL."
                ) from error

    def release(self, wait: float = 0.0) -> bool:
        """Give up the lease, and return whether the server is down, after at most `wait` seconds.

        It does not wait if others use the server. Processes need not call this: their end gives up the lease, too.
        """
        here = _paths_of(self.data_dir)
        with _mutex:
            if _has_lease(here):
                _revive_keeper(here)
                # Closed, not unlocked: LOCK_UN would end the lease of forked children, too.
                os.close(_leases[self.data_dir])
            _leases.pop(self.data_dir, None)
        return keeper.wait_until_down(here, wait)

    def status(self) -> Status:
        return state.status(_paths_of(self.data_dir))


def _has_lease(here: ServerPaths) -> bool:
    """Return whether we still have it: daemons close all descriptors, and the folder may have been removed."""
    descriptor = _leases.get(here.data_dir)
    return descriptor is not None and locks.is_open_on(descriptor, here.users_lock)


def _lease_and_start(here: ServerPaths) -> None:
    from . import server

    accounts.open_run_folder(here)
    if not _has_lease(here):
        # The old descriptor, if any, is not closed: its number may belong to another file by now.
        _leases[here.data_dir] = locks.acquire(here.users_lock, fcntl.LOCK_SH, LEASE_SECONDS)
    try:
        # The lease comes first: the keeper then finds the server in use, or has already stopped it.
        with locks.holding(here.start_lock, fcntl.LOCK_EX, QUEUE_SECONDS) as start_lock:
            server.bring_up(here, start_lock)
    except BaseException:
        os.close(_leases.pop(here.data_dir))
        raise


def _revive_keeper(here: ServerPaths) -> None:
    """Start the keeper again if it was killed: otherwise nothing would stop the server after its last user."""
    try:
        if locks.is_held(here.server_lock) and not locks.is_held(here.keeper_lock):
            with locks.holding(here.start_lock, fcntl.LOCK_EX, LEASE_SECONDS):
                if not locks.is_held(here.keeper_lock):
                    keeper.start_keeper(here)
    except (OSError, subprocess.SubprocessError, EmbeddedPostgresError) as error:
        logger.warning("the embedded PostgreSQL in %s may keep running: %s", here.data_dir, error)


@atexit.register
def _at_exit() -> None:
    for here in map(_paths_of, list(_leases)):
        if _has_lease(here):
            _revive_keeper(here)


def _after_fork_in_child() -> None:
    global _mutex
    _mutex = threading.RLock()


# No fork while a thread works here: the child would keep the start lock and a mutex that nothing releases.
os.register_at_fork(
    before=lambda: _mutex.acquire(),
    after_in_parent=lambda: _mutex.release(),
    after_in_child=_after_fork_in_child,
)
