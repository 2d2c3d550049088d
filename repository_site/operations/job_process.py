"""The worker process beside the server (D335): started with it, restarted when it dies, stopped with it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import structlog
from django.conf import settings

log = structlog.get_logger("jobs")
# Seconds until a worker that has died is started again.
RESTART_SECONDS = 1.0
# Seconds between two looks at it.
WATCH_SECONDS = 0.2
# The worker gives its jobs ten seconds, and then needs a moment to return them.
STOP_SECONDS = 15.0


@contextmanager
def job_process(jobs: int) -> Iterator[None]:
    """Run a worker process for up to `jobs` jobs at the same time; none for 0."""
    if not jobs:
        yield
        return
    keeper = JobProcess(jobs)
    keeper.forbid_forks_during_launches()
    keeper.start()
    try:
        yield
    finally:
        keeper.stop()


class JobProcess(threading.Thread):
    """Starts the process and waits for its end.

    The system signals the death of the parent when the thread that started the child ends, so one thread starts all.
    """

    def __init__(self, jobs: int) -> None:
        super().__init__(name="job-process", daemon=True)
        self.jobs = jobs
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def forbid_forks_during_launches(self) -> None:
        """Let a fork of this process wait while the worker is launched.

        A web process that is forked meanwhile would inherit the pipe by which the launch learns that the worker has
        started. The launch would then wait for the end of that web process, and nobody would watch the worker.
        """
        os.register_at_fork(
            before=self._lock.acquire, after_in_parent=self._lock.release, after_in_child=self._lock.release
        )

    def run(self) -> None:
        while (process := self._launch()) is not None:
            while (code := process.poll()) is None:
                time.sleep(WATCH_SECONDS)
            if not self._stopping.is_set():
                log.warning("the job worker has ended and is started again", code=code)
            self._stopping.wait(RESTART_SECONDS)

    def stop(self) -> None:
        """Let the worker finish or return its jobs; kill it if it takes too long, which returns them later."""
        with self._lock:
            self._stopping.set()
            process = self._process
        if process is not None:
            process.terminate()
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
        self.join(STOP_SECONDS)

    def _launch(self) -> subprocess.Popen[bytes] | None:
        with self._lock:
            if self._stopping.is_set():
                return None
            words = ["work", "--jobs", str(self.jobs), "--parent", str(os.getpid())]
            # A group of its own: Ctrl-C goes to the whole group of the terminal, but the server decides when to stop.
            self._process = subprocess.Popen(
                [sys.executable, "manage.py", *words], cwd=settings.PROJECT_DIR, process_group=0
            )
            return self._process
