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
from pathlib import Path

from . import accounts, file_locks, keeper, paths, state
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


class EmbeddedPostgres:
    """The server of one data folder. A process that has called `ensure_running` has a lease on it until it ends."""

    ROLE, DATABASE, PORT = paths.ROLE, paths.DATABASE, paths.PORT

    def __init__(self, data_dir: Path) -> None:
        # All processes must use the same name, whatever their working directory and the symbolic links on the way.
        self.data_dir = Path(os.path.realpath(data_dir))
        self._paths = ServerPaths(self.data_dir)
        self.log_file = self._paths.log_file

    @property
    def socket_dir(self) -> Path:
        """The host for connections. It is known before the server runs."""
        return self._paths.socket_dir

    def is_made(self) -> bool:
        """Return whether a database exists, without creating one. A folder that we may not read counts as one."""
        try:
            return (self.data_dir / "PG_VERSION").exists()
        except PermissionError:
            return True

    def is_running(self) -> bool:
        """Return whether it accepts connections and we have a lease. Never waits, not even while it is starting."""
        try:
            return _has_lease(self._paths) and state.is_healthy(self._paths)
        except OSError:
            return False

    def ensure_running(self) -> None:
        """Take a lease and return when the server accepts connections. Cheap when it already runs."""
        with _mutex:
            try:
                if not (_has_lease(self._paths) and state.is_healthy(self._paths)):
                    _lease_and_start(self._paths)
            except (OSError, subprocess.SubprocessError) as error:
                raise EmbeddedPostgresError(
                    f"The embedded PostgreSQL in {self.data_dir} cannot be started: {error}."
                    " Check permissions and free space, or set DATABASE_URL."
                ) from error

    def release(self, wait: float = 0.0) -> bool:
        """Give up the lease, and return whether the server is down, after at most `wait` seconds.

        It does not wait if others use the server. Processes need not call this: their end gives up the lease, too.
        """
        with _mutex:
            if _has_lease(self._paths):
                _revive_keeper(self._paths)
                # Closed, not unlocked: LOCK_UN would end the lease of forked children, too.
                os.close(_leases[self.data_dir])
            _leases.pop(self.data_dir, None)
        return keeper.wait_until_down(self._paths, wait)

    def status(self) -> Status:
        return state.status(self._paths)


def _has_lease(here: ServerPaths) -> bool:
    """Return whether we still have it: daemons close all descriptors, and the folder may have been removed."""
    descriptor = _leases.get(here.data_dir)
    return descriptor is not None and file_locks.is_open_on(descriptor, here.users_lock)


def _lease_and_start(here: ServerPaths) -> None:
    from . import server

    accounts.open_run_folder(here)
    if not _has_lease(here):
        # The old descriptor, if any, is not closed: its number may belong to another file by now.
        _leases[here.data_dir] = file_locks.acquire(here.users_lock, fcntl.LOCK_SH, LEASE_SECONDS)
    try:
        # The lease comes first: the keeper then finds the server in use, or has already stopped it.
        with file_locks.holding(here.start_lock, fcntl.LOCK_EX, QUEUE_SECONDS) as start_lock:
            server.bring_up(here, start_lock)
    except BaseException:
        os.close(_leases.pop(here.data_dir))
        raise


def _revive_keeper(here: ServerPaths) -> None:
    """Start the keeper again if it was killed: otherwise nothing would stop the server after its last user."""
    try:
        if file_locks.is_held(here.server_lock) and not file_locks.is_held(here.keeper_lock):
            with file_locks.holding(here.start_lock, fcntl.LOCK_EX, LEASE_SECONDS):
                if not file_locks.is_held(here.keeper_lock):
                    keeper.start_keeper(here)
    except (OSError, subprocess.SubprocessError, EmbeddedPostgresError) as error:
        logger.warning("the embedded PostgreSQL in %s may keep running: %s", here.data_dir, error)


@atexit.register
def _at_exit() -> None:
    for here in map(ServerPaths, list(_leases)):
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
