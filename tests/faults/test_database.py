"""The database fails under load: stopped, killed, or with terminated connections (D153)."""

from __future__ import annotations

import fcntl
import math
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psutil
import pytest

from repository_site.core.cores import ALLOWED
from repository_site.core.database.pool import PATIENCE
from repository_site.core.embedded_postgres import file_locks
from repository_site.core.embedded_postgres.paths import ServerPaths
from tests.faults.installation import POOL, WORKERS, Installation, wait_for
from tests.faults.load import PROCESSES, Answer, Client, Load
from tests.patience import BUSY_SECONDS

pytestmark = [pytest.mark.server, pytest.mark.fault]
PROCESS = f"{PROCESSES}?$pageSize=5"
# Terminates the busy connections of the service, not those of the test.
CUT = """SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
    WHERE usename = 'repository' AND xact_start IS NOT NULL AND pid <> pg_backend_pid()"""
BLOCKED = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'repository' AND wait_event_type = 'Lock'"


@pytest.mark.parametrize(
    ("name", "sent", "is_away"),
    [
        ("PostgreSQL stopped (fast), and away for a while", signal.SIGINT, True),
        ("PostgreSQL stopped (immediate)", signal.SIGQUIT, False),
        ("PostgreSQL killed", signal.SIGKILL, False),
    ],
)
def test_postgres_stops_and_restarts(
    installation: Installation, name: str, sent: signal.Signals, is_away: bool
) -> None:
    with Load(installation, f"ended by {sent.name}") as load:
        postmaster = installation.postmaster()
        # No process can start the server while this lock is held, as during a long recovery.
        with file_locks.holding(ServerPaths(installation.postgres.data_dir).start_lock, fcntl.LOCK_EX, 5):
            postmaster.send_signal(sent)
            wait_for(lambda: is_gone(postmaster), 30, "PostgreSQL does not end")
            gone = time.monotonic()
            if is_away:
                load.run_until(lambda: any(each.sent > gone and each.is_refusal for each in load.answers))
            back = time.monotonic()
        load.run_until(lambda: installation.server.request("GET", "/readyz")[0] == 200)
        load.run_for(1.5)
    meanwhile = [each for each in load.answers if gone < each.sent and each.sent + each.seconds < back]
    # No answer takes longer than the service waits for a connection.
    assert {each.status for each in meanwhile} == ({503} if is_away else set())
    assert max(each.seconds for each in load.answers) < 2 * PATIENCE + BUSY_SECONDS
    assert load.ready_between(gone, back).keys() <= {503}
    load.settle(since=back, within=20 + BUSY_SECONDS, alike=name)
    # The server is not bound to the core of the worker that started it.
    assert installation.postmaster().cpu_affinity() == ALLOWED


def is_gone(process: psutil.Process) -> bool:
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


def test_connections_are_terminated_during_transactions(installation: Installation) -> None:
    with Load(installation, "cut", writers=4) as load:
        cut = 0
        with installation.server.superuser() as connection:
            end = time.monotonic() + 4
            while cut <= 20 or time.monotonic() < end:
                assert time.monotonic() < end + 60, f"only {cut} connections were at work"
                cut += sum(row[0] for row in connection.execute(CUT))
                time.sleep(0.05)
        over = time.monotonic()
        load.run_for(1.5)
    load.settle(since=over, within=PATIENCE + BUSY_SECONDS, alike="connections cut within transactions")


def test_the_pool_is_exhausted(installation: Installation) -> None:
    """All connections wait for a lock, for which it takes two storages: further requests are refused soon, and all
    continue after it."""

    def ask(method: str, address: str, body: Any = None) -> Answer:
        client = Client(installation, "asked")
        try:
            return client.call(method, address, body)
        finally:
            client.close()

    with Load(installation, "exhausted", readers=6) as load:
        # The observer must not be in a transaction: it would always see the same snapshot.
        with (
            installation.server.superuser() as onlooker,
            installation.server.superuser() as connection,
            connection.transaction(),
        ):
            connection.execute("LOCK TABLE elements_element IN ACCESS EXCLUSIVE MODE")
            with ThreadPoolExecutor(66) as pool:
                waiting = [pool.submit(ask, "GET", PROCESS) for _ in range(32)]
                others = [pool.submit(installation.everything_of_the_rival) for _ in range(32)]
                load.run_until(lambda: onlooker.execute(BLOCKED).fetchone() == (POOL * WORKERS,))
                held = time.monotonic()
                late = [pool.submit(ask, "GET", PROCESS), pool.submit(ask, "POST", PROCESSES, {"elements": []})]
                refused = [each.result() for each in late]
                load.run_until(lambda: load.ready_between(held, math.inf).total() > 0)
                connection.execute("ROLLBACK")
                over = time.monotonic()
                found = {each.result().status for each in waiting} | {each.result()[0] for each in others}
        load.run_for(2)
    assert found <= {200, 503}
    assert [each.status for each in refused] == [503, 503]
    assert max(each.seconds for each in refused) < PATIENCE + BUSY_SECONDS
    assert load.ready_between(held, over).keys() == {503}
    load.settle(since=over, within=PATIENCE + BUSY_SECONDS, alike="every connection of the pool held")
