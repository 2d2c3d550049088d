"""Restart of the embedded PostgreSQL under a running server, in a thread of its own (D153)."""

from __future__ import annotations

import threading
import time

from repository_site.core.cores import run_anywhere
from repository_site.core.database.pool import PATIENCE, RESPITE
from repository_site.core.embedded_postgres import EmbeddedPostgres, EmbeddedPostgresError


class Revival:
    """Starts PostgreSQL in a thread: recovery after a crash may take minutes, and requests wait for seconds only."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._problem: EmbeddedPostgresError | None = None
        self._seen_running = self._failed = float("-inf")

    def see_that_it_runs(self, embedded: EmbeddedPostgres) -> None:
        """Check at most once a second that it runs, and start it if not. Called for each request."""
        with self._lock:
            now = time.monotonic()
            if now - self._seen_running < 1:
                return
            if embedded.is_running():
                self._seen_running = now
                return
            if self._problem is not None and now - self._failed < RESPITE:
                raise self._problem
            if self._thread is None or not self._thread.is_alive():
                self._problem = None
                self._thread = threading.Thread(target=self._start, args=(embedded,), daemon=True)
                self._thread.start()
            thread = self._thread
        thread.join(PATIENCE)
        if thread.is_alive():
            raise EmbeddedPostgresError("The embedded PostgreSQL is being started.")
        if self._problem is not None:
            raise self._problem

    def _start(self, embedded: EmbeddedPostgres) -> None:
        # Otherwise the database of all workers would share the core of this worker.
        run_anywhere()
        try:
            embedded.ensure_running()
        except EmbeddedPostgresError as problem:
            self._problem, self._failed = problem, time.monotonic()
