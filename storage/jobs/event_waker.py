"""The thread of a worker that adds jobs, or brings them forward, when a storage has new events (D368, D371)."""

from __future__ import annotations

import threading
from collections.abc import Collection

import structlog
from django.db import Error, connections
from psycopg_pool import PoolTimeout

from repository_site.core.embedded_postgres import EmbeddedPostgresError
from storage.events.waking import watching
from storage.jobs.declaring import StorageJob
from storage.jobs.enqueueing import add_missing, bring_forward
from storage.jobs.registry import declared_jobs

log = structlog.get_logger("jobs")
# Seconds between two statements. Jobs of a storage that changes all the time run a few times each second.
PAUSE = 0.2
# Seconds until the thread looks whether the worker ends.
LOOK = 1.0


class EventWaker(threading.Thread):
    """Brings forward the waiting jobs of the storages that announce events, and adds those with `after_events`.

    An announcement can get lost, so each of these jobs needs another way to run within a time that people accept.
    """

    def __init__(self) -> None:
        super().__init__(name="event-waker", daemon=True)
        self._ended = threading.Event()
        declared = [each for each in declared_jobs().values() if isinstance(each, StorageJob)]
        self._brought = [each for each in declared if each.on_events]
        self._added = [each for each in declared if each.after_events is not None]

    def run(self) -> None:
        if not self._brought and not self._added:
            return
        with watching() as watcher:
            while not self._ended.is_set():
                if storages := watcher.wait(LOOK):
                    self._wake(storages)
                    self._ended.wait(PAUSE)

    def stop(self) -> None:
        self._ended.set()

    def _wake(self, storages: Collection[str]) -> None:
        try:
            bring_forward(job.lock_of(each) for job in self._brought for each in storages)
            add_missing(job.new_after_events(each) for job in self._added for each in storages)
        except (Error, PoolTimeout, EmbeddedPostgresError) as problem:
            log.warning("jobs not added or brought forward", problem=" ".join(str(problem).split()))
        finally:
            connections.close_all()
