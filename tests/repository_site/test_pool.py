"""Waiting for a pooled connection, the order of connections, and the restart of the embedded PostgreSQL (D153)."""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Iterator
from typing import Any, cast
from unittest import mock

import pytest
from django.db import connection, connections, transaction
from psycopg import OperationalError
from psycopg_pool import PoolTimeout

from repository_site.core.cores import ALLOWED, keep_to
from repository_site.core.database import pool, revival
from repository_site.core.database.base import DatabaseWrapper
from repository_site.core.database.pool import RESPITE, PooledConnection, ReplicaPool, Turnstile, WarmPool
from repository_site.core.database.revival import Revival
from repository_site.core.database.silence import listening
from repository_site.core.embedded_postgres import EmbeddedPostgresError

# Lets one session take itself for a standby: the function of the schema hides that of PostgreSQL.
FALSE_STANDBY = """CREATE SCHEMA false_standby;
    CREATE FUNCTION false_standby.pg_is_in_recovery() RETURNS boolean RETURN true;
    SET search_path = false_standby, pg_catalog, public"""


class PoolClock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        for module in (pool, revival):
            monkeypatch.setattr(module.time, "monotonic", lambda: self.now)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> PoolClock:
    return PoolClock(monkeypatch)


class Pool:
    def __init__(self, available: int) -> None:
        self.available = available

    def get_stats(self) -> dict[str, int]:
        return {"pool_available": self.available}


class TestTurnstile:
    def test_all_requests_pass_while_connections_are_available(self, clock: PoolClock) -> None:
        turnstile = Turnstile()
        for _ in range(3):
            turnstile.pass_to(Pool(0))

    def test_one_request_at_a_time_tries_after_a_timeout(self, clock: PoolClock) -> None:
        turnstile = Turnstile()
        turnstile.close()
        with pytest.raises(PoolTimeout):
            turnstile.pass_to(Pool(0))
        clock.now += RESPITE
        turnstile.pass_to(Pool(0))
        with pytest.raises(PoolTimeout):
            turnstile.pass_to(Pool(0))

    def test_a_request_that_gets_a_connection_opens_the_turnstile(self, clock: PoolClock) -> None:
        turnstile = Turnstile()
        turnstile.close()
        turnstile.pass_to(Pool(1))
        turnstile.open()
        turnstile.pass_to(Pool(0))


class TestWarmPool:
    OPTIONS = {"min_size": 3, "max_size": 3}

    @pytest.fixture
    def pool(self) -> Iterator[WarmPool]:
        """A pool as Django creates it for a server process."""
        wrapper = cast("DatabaseWrapper", connection.copy("warm"))
        wrapper.settings_dict["OPTIONS"] = {**wrapper.settings_dict["OPTIONS"], "pool": self.OPTIONS}
        made = wrapper.pool
        assert isinstance(made, WarmPool)
        assert wrapper.pool is made
        made.open(wait=True)
        yield made
        wrapper.close_pool()

    @pytest.mark.django_db
    def test_the_connection_returned_last_is_used_first(self, pool: WarmPool) -> None:
        first, second, third = (pool.getconn() for _ in range(3))
        for each in (second, third, first):
            pool.putconn(each)
        assert pool.getconn() is first
        pool.putconn(first)
        assert [pool.getconn() for _ in range(3)] == [first, third, second]

    @pytest.mark.django_db
    def test_the_least_recently_used_connection_is_closed_first(self, pool: WarmPool) -> None:
        first, second, third = (pool.getconn() for _ in range(3))
        for each in (second, third, first):
            pool.putconn(each)
        pool.resize(1, 3)
        pool._shrink_pool()  # tells how few were idle since the last time
        pool._shrink_pool()
        assert [each.closed for each in (first, second, third)] == [False, True, False]

    @pytest.mark.django_db
    def test_a_check_replaces_the_connections_to_a_standby(self, pool: WarmPool) -> None:
        first, second, third = (pool.getconn() for _ in range(3))
        second.execute(FALSE_STANDBY)
        for each in (first, second, third):
            pool.putconn(each)
        try:
            pool.check()
            pool.wait(60)
        finally:
            first.execute("DROP SCHEMA false_standby CASCADE")
        assert [each.closed for each in (first, second, third)] == [False, True, False]
        assert pool.get_stats()["pool_available"] == 3

    @pytest.mark.long
    @pytest.mark.django_db
    def test_connections_that_the_database_has_ended_are_replaced_without_a_failure(self, pool: WarmPool) -> None:
        first, second, third = (pool.getconn() for _ in range(3))
        for each in (first, second):
            third.execute("SELECT pg_terminate_backend(%s, 10000)", [each.info.backend_pid])
        for each in (first, second, third):
            pool.putconn(each)
        # Ended while it is idle, and last in the pool, so it would be the next one.
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(%s, 10000)", [third.info.backend_pid])
        given = [pool.getconn(60) for _ in range(3)]
        assert not {first, second, third} & {*given}
        assert [each.execute("SELECT 1").fetchone() for each in given] == [(1,)] * 3
        for each in given:
            pool.putconn(each)

    @pytest.mark.django_db
    def test_an_idle_connection_with_a_notice_is_used(self, pool: WarmPool) -> None:
        first = pool.getconn()
        first.execute("LISTEN here")
        pool.putconn(first)
        other = pool._pool[0]
        other.execute("NOTIFY here")
        assert select.select([first], [], [], 60)[0]
        assert pool.getconn() is first
        first.execute("UNLISTEN here")
        pool.putconn(first)


class TestEndOfReading:
    """A transaction that only reads ends without a wait for the database (D609)."""

    @pytest.fixture
    def wrapper(self) -> Iterator[DatabaseWrapper]:
        wrapper = cast("DatabaseWrapper", connection.copy("ending"))
        pool = {"min_size": 1, "max_size": 1, "timeout": 60}
        wrapper.settings_dict["OPTIONS"] = {**wrapper.settings_dict["OPTIONS"], "pool": pool}
        connections["ending"] = wrapper
        yield wrapper
        wrapper.close()
        wrapper.close_pool()
        del connections["ending"]

    def read(self, wrapper: DatabaseWrapper) -> PooledConnection:
        with wrapper.reading_one_snapshot(), transaction.atomic("ending"):
            assert wrapper.look_up("SELECT current_setting('transaction_read_only')", []) == [("on",)]
            assert wrapper.look_up("SELECT current_setting('transaction_isolation')", []) == [("repeatable read",)]
        driver: PooledConnection = wrapper.connection
        assert (driver.is_ending, driver.autocommit, wrapper.get_autocommit()) == (True, True, True)
        return driver

    @pytest.mark.django_db
    def test_the_next_statement_is_in_another_transaction(self, wrapper: DatabaseWrapper) -> None:
        driver = self.read(wrapper)
        assert wrapper.look_up("SELECT current_setting('transaction_read_only')", []) == [("off",)]
        assert (driver.is_ending, driver.info.transaction_status.name) == (False, "IDLE")
        self.read(wrapper)
        with wrapper.cursor() as cursor:
            cursor.execute("SELECT current_setting('transaction_isolation')")
            assert cursor.fetchone() == ("read committed",)
        self.read(wrapper)
        assert self.read(wrapper) is driver
        with transaction.atomic("ending"):
            assert wrapper.look_up("SELECT current_setting('transaction_read_only')", []) == [("off",)]
        assert not driver.is_ending

    @pytest.mark.django_db
    def test_the_pool_gets_it_back_idle(self, wrapper: DatabaseWrapper) -> None:
        driver = self.read(wrapper)
        wrapper.close()
        assert (driver.is_ending, driver.info.transaction_status.name, driver.closed) == (False, "IDLE", False)
        assert self.read(wrapper) is driver

    @pytest.mark.django_db
    def test_a_connection_that_was_lost_meanwhile_is_replaced(self, wrapper: DatabaseWrapper) -> None:
        driver = self.read(wrapper)
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(%s, 10000)", [driver.info.backend_pid])
        wrapper.close()
        assert self.read(wrapper) is not driver

    @pytest.mark.django_db
    def test_a_listener_does_not_miss_the_end(self, wrapper: DatabaseWrapper) -> None:
        wrapper.ensure_connection()
        with listening(wrapper.connection, lambda seconds: None):
            driver = self.read(wrapper)
            with wrapper.cursor() as cursor:
                cursor.execute("SELECT 1")
            self.read(wrapper)
            with driver.pipeline():
                found = driver.execute("SELECT 1")
            assert found.fetchone() == (1,)

    @pytest.mark.django_db
    def test_a_read_on_a_cluster_waits(self, wrapper: DatabaseWrapper) -> None:
        with wrapper.reading_one_snapshot(waits=True), transaction.atomic("ending"):
            wrapper.look_up("SELECT 1", [])
        driver: PooledConnection = wrapper.connection
        assert (driver.is_ending, driver.info.transaction_status.name) == (False, "IDLE")

    @pytest.mark.django_db
    def test_a_failed_read_is_rolled_back(self, wrapper: DatabaseWrapper) -> None:
        with pytest.raises(ZeroDivisionError), wrapper.reading_one_snapshot(), transaction.atomic("ending"):
            wrapper.look_up("SELECT 1", [])
            raise ZeroDivisionError
        driver: PooledConnection = wrapper.connection
        assert (driver.is_ending, driver.info.transaction_status.name) == (False, "IDLE")

    @pytest.mark.django_db
    def test_a_change_waits_for_its_commit(self, wrapper: DatabaseWrapper) -> None:
        with transaction.atomic("ending"):
            wrapper.look_up("SELECT 1", [])
        driver: PooledConnection = wrapper.connection
        assert (driver.is_ending, driver.info.transaction_status.name) == (False, "IDLE")


class Embedded:
    """A PostgreSQL that is down until it is started, and may fail or take long."""

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
        self.may_go_on.wait(60)
        if self.problem:
            raise self.problem
        self.runs = True


class TestRevival:
    def see(self, subject: Revival, embedded: Any) -> None:
        subject.see_that_it_runs(embedded)

    def test_it_is_started_when_it_is_down(self, clock: PoolClock) -> None:
        subject, embedded = Revival(), Embedded()
        self.see(subject, embedded)
        assert embedded.starts == 1
        self.see(subject, embedded)
        embedded.runs = False
        # Checked again after a second only.
        self.see(subject, embedded)
        assert embedded.starts == 1
        clock.now += 1
        self.see(subject, embedded)
        assert embedded.starts == 2

    def test_it_is_not_bound_to_the_core_of_the_worker_that_starts_it(self, clock: PoolClock) -> None:
        subject, embedded = Revival(), Embedded()

        def ask_as_a_worker() -> None:
            keep_to(ALLOWED[0])
            self.see(subject, embedded)

        worker = threading.Thread(target=ask_as_a_worker)
        worker.start()
        worker.join()
        assert embedded.cores == ALLOWED

    def test_requests_do_not_wait_for_a_long_start_which_happens_once(
        self, clock: PoolClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(revival, "PATIENCE", 0.01)
        subject, embedded = Revival(), Embedded()
        embedded.may_go_on.clear()
        for _ in range(3):
            with pytest.raises(EmbeddedPostgresError, match="is being started"):
                self.see(subject, embedded)
        embedded.may_go_on.set()
        assert subject._thread is not None
        subject._thread.join(60)
        self.see(subject, embedded)
        assert embedded.starts == 1

    def test_a_failed_start_is_reported_and_retried_later(self, clock: PoolClock) -> None:
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


class TestCheckOfIdleConnections:
    """A connection of the primary that leads to a standby is replaced (D230). The replica is a standby (D238)."""

    @pytest.mark.parametrize(("kind", "is_kept"), [(WarmPool, False), (ReplicaPool, True)])
    def test_connections_to_a_standby(self, kind: type[WarmPool], is_kept: bool) -> None:
        standby = mock.MagicMock()
        standby.execute.return_value.fetchone.return_value = (True,)
        if is_kept:
            kind.check_connection(standby)
        else:
            with pytest.raises(OperationalError, match="the connection leads to a standby"):
                kind.check_connection(standby)
        assert standby.close.called is not is_kept
