"""Who waits for a connection, and for how long; which one it is; and who starts an embedded PostgreSQL again (D153)."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from typing import Any, cast

import pytest
from django.db import connection
from psycopg_pool import PoolTimeout

from repository_site.core.cores import ALLOWED, keep_to
from repository_site.core.database import pool, revival
from repository_site.core.database.base import DatabaseWrapper
from repository_site.core.database.pool import RESPITE, Turnstile, WarmPool
from repository_site.core.database.revival import Revival
from repository_site.core.embedded_postgres import EmbeddedPostgresError


class Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        for module in (pool, revival):
            monkeypatch.setattr(module.time, "monotonic", lambda: self.now)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


class Pool:
    def __init__(self, available: int) -> None:
        self.available = available

    def get_stats(self) -> dict[str, int]:
        return {"pool_available": self.available}


class TestTurnstile:
    def test_everybody_passes_while_all_is_well(self, clock: Clock) -> None:
        turnstile = Turnstile()
        for _ in range(3):
            turnstile.pass_to(Pool(0))

    def test_one_after_the_other_when_somebody_has_waited_in_vain(self, clock: Clock) -> None:
        turnstile = Turnstile()
        turnstile.close()
        with pytest.raises(PoolTimeout):
            turnstile.pass_to(Pool(0))
        clock.now += RESPITE
        turnstile.pass_to(Pool(0))
        with pytest.raises(PoolTimeout):
            turnstile.pass_to(Pool(0))

    def test_whoever_finds_a_connection_passes_and_opens_it_for_all(self, clock: Clock) -> None:
        turnstile = Turnstile()
        turnstile.close()
        turnstile.pass_to(Pool(1))
        turnstile.open()
        turnstile.pass_to(Pool(0))


class TestWarmPool:
    OPTIONS = {"min_size": 3, "max_size": 3}

    @pytest.fixture
    def pool(self) -> Iterator[WarmPool]:
        """As Django makes it for a server process."""
        wrapper = cast("DatabaseWrapper", connection.copy("warm"))
        wrapper.settings_dict["OPTIONS"] = {**wrapper.settings_dict["OPTIONS"], "pool": self.OPTIONS}
        made = wrapper.pool
        assert isinstance(made, WarmPool)
        assert wrapper.pool is made
        made.open(wait=True)
        yield made
        wrapper.close_pool()

    @pytest.mark.django_db
    def test_the_connection_that_came_back_last_is_taken_first(self, pool: WarmPool) -> None:
        first, second, third = (pool.getconn() for _ in range(3))
        for each in (second, third, first):
            pool.putconn(each)
        assert pool.getconn() is first
        pool.putconn(first)
        assert [pool.getconn() for _ in range(3)] == [first, third, second]

    @pytest.mark.django_db
    def test_the_one_that_was_used_least_recently_is_closed_first(self, pool: WarmPool) -> None:
        first, second, third = (pool.getconn() for _ in range(3))
        for each in (second, third, first):
            pool.putconn(each)
        pool.resize(1, 3)
        pool._shrink_pool()  # tells how few were idle since the last time
        pool._shrink_pool()
        assert [each.closed for each in (first, second, third)] == [False, True, False]


class Embedded:
    """One that is down until it is told to start, and may fail or take long."""

    def __init__(self) -> None:
        self.runs, self.starts = False, 0
        self.problem: EmbeddedPostgresError | None = None
        self.may_go_on = threading.Event()
        self.may_go_on.set()

    def is_running(self) -> bool:
        return self.runs

    def ensure_running(self) -> None:
        self.starts += 1
        self.cores = sorted(os.sched_getaffinity(0))
        self.may_go_on.wait(10)
        if self.problem:
            raise self.problem
        self.runs = True


class TestRevival:
    def see(self, subject: Revival, embedded: Any) -> None:
        subject.see_that_it_runs(embedded)

    def test_it_is_started_when_it_is_down(self, clock: Clock) -> None:
        subject, embedded = Revival(), Embedded()
        self.see(subject, embedded)
        assert embedded.starts == 1
        self.see(subject, embedded)
        embedded.runs = False
        # Looked at again after a second only.
        self.see(subject, embedded)
        assert embedded.starts == 1
        clock.now += 1
        self.see(subject, embedded)
        assert embedded.starts == 2

    def test_it_is_not_bound_to_the_core_of_the_worker_that_starts_it(self, clock: Clock) -> None:
        subject, embedded = Revival(), Embedded()

        def ask_as_a_worker() -> None:
            keep_to(ALLOWED[0])
            self.see(subject, embedded)

        worker = threading.Thread(target=ask_as_a_worker)
        worker.start()
        worker.join()
        assert embedded.cores == ALLOWED

    def test_nobody_waits_for_a_long_start_and_it_is_started_once(
        self, clock: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(revival, "PATIENCE", 0.01)
        subject, embedded = Revival(), Embedded()
        embedded.may_go_on.clear()
        for _ in range(3):
            with pytest.raises(EmbeddedPostgresError, match="is being started"):
                self.see(subject, embedded)
        embedded.may_go_on.set()
        assert subject._thread is not None
        subject._thread.join(10)
        self.see(subject, embedded)
        assert embedded.starts == 1

    def test_a_start_that_fails_is_told_and_tried_again_after_a_while(self, clock: Clock) -> None:
        subject, embedded = Revival(), Embedded()
        embedded.problem = EmbeddedPostgresError("no room")
        for _ in range(3):
            with pytest.raises(EmbeddedPostgresError, match="no room"):
                self.see(subject, embedded)
        assert embedded.starts == 1
        clock.now += RESPITE
        embedded.problem = None
        self.see(subject, embedded)
        assert (embedded.starts, embedded.runs) == (2, True)
