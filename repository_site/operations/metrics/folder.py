"""The folder where the worker processes of one server keep their metrics (D159).

prometheus-client maps a file of every process into memory. The folder therefore lies in memory, too, where the system
has such a file system: on a full disk, the first write to a new page of a mapped file would kill the worker.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from prometheus_client.multiprocess import mark_process_dead

PREFIX = "repository-metrics-"
IN_MEMORY = Path("/dev/shm")  # noqa: S108  a folder of our own is made in it
# A server locks its folder right after it has made it. Older folders without a lock are left over.
LEFT_OVER_SECONDS = 60


class MetricsFolder:
    """Locks tell the living from the dead: the kernel releases the lock of a process that ends, however it ends."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = os.open(path, os.O_RDONLY)
        fcntl.flock(self._lock, fcntl.LOCK_SH)
        self._slot_lock = -1

    @classmethod
    def make(cls, parent: Path | None = None) -> MetricsFolder:
        """Make the folder of a server, and remove those of servers that were killed."""
        parent = parent or (IN_MEMORY if os.access(IN_MEMORY, os.W_OK) else Path(tempfile.gettempdir()))
        for left_over in parent.glob(f"{PREFIX}*"):
            with suppress(OSError):
                _remove_unless_used(left_over)
        return cls(Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent)))

    def claim_slot(self) -> int:
        """Give this process the lowest free number.

        The files are named after it, so the successor of a dead worker continues its counters, and a server whose
        workers die again and again does not collect files. Gauges of the predecessor are removed.
        """
        slot = 0
        while (lock := self._try_lock(slot)) is None:
            slot += 1
        self._slot_lock = lock
        mark_process_dead(slot, str(self.path))
        return slot

    def count_start(self) -> int:
        """Return the number of workers that were started before this one."""
        file = os.open(self.path / "starts", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            before = os.fstat(file).st_size
            os.ftruncate(file, before + 1)
            return before
        finally:
            os.close(file)

    def forget_dead_workers(self) -> None:
        """Remove the gauges of workers that ended: requests in flight, connections, memory."""
        for file in self.path.glob("*.lock"):
            lock = self._try_lock(int(file.stem))
            if lock is not None:
                mark_process_dead(int(file.stem), str(self.path))
                os.close(lock)

    def remove(self) -> None:
        os.close(self._lock)
        shutil.rmtree(self.path, ignore_errors=True)

    def _try_lock(self, slot: int) -> int | None:
        lock = os.open(self.path / f"{slot}.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return None
        return lock


def _remove_unless_used(folder: Path) -> None:
    if time.time() - folder.stat().st_mtime < LEFT_OVER_SECONDS:
        return
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder)
    finally:
        os.close(lock)
