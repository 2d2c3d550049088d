"""The worker and the database are killed at random moments while jobs run: none is lost.

Half of the jobs do their work in one transaction; the others write before and after a wait, as a job does that sends
something.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest

from repository_site.core.embedded_postgres.paths import ServerPaths
from repository_site.core.embedded_postgres.state import read_postmaster
from tests import figures
from tests.scale import scaled
from tests.server_process import DataFolders
from tests.working_jobs.installation import JobInstallation

pytestmark = [pytest.mark.server, pytest.mark.fault]
JOBS = scaled(3000)
# Seconds after the last fault in which the jobs of a killed worker run again: 30 until it counts as dead, 10 until
# somebody looks, and the start of a worker on a busy machine.
WITHIN = 60.0
WORKING = "SELECT count(*) FROM procrastinate_jobs WHERE status = 'doing'"


@pytest.fixture
def installed(tmp_path: Path, data_folders: DataFolders) -> Iterator[JobInstallation]:
    installation = JobInstallation(tmp_path, data_folders)
    installation.enqueue("count", [{"number": number, "seconds": 0.05} for number in range(JOBS)])
    installation.enqueue("wait_outside", [{"number": number, "seconds": 0.05} for number in range(JOBS)], "rival")
    yield installation
    installation.close()


def test_workers_are_killed(installed: JobInstallation) -> None:
    kills = scaled(100)
    for _ in range(kills):
        worker = installed.work("--jobs", "8")
        installed.wait_for(lambda: installed.server.ask(WORKING) > 0, 40, "no job starts")
        time.sleep(random.uniform(0, 1))
        worker.kill()
        worker.wait(60)
    installed.work("--jobs", "8")
    settle(installed, "a worker killed", kills)


def test_the_database_is_killed(installed: JobInstallation) -> None:
    kills = scaled(30)
    installed.work("--jobs", "8")
    for _ in range(kills):
        installed.wait_for(lambda: is_working(installed), 60, "no job starts")
        time.sleep(random.uniform(0, 1))
        found = read_postmaster(ServerPaths(installed.postgres.data_dir))
        assert found is not None
        # The worker starts it again.
        psutil.Process(found.pid).kill()
    settle(installed, "the database killed", kills)


def settle(installed: JobInstallation, fault: str, kills: int) -> None:
    began = time.monotonic()
    left = JOBS * 2
    # What has not been tried yet takes its time; what the fault has interrupted must not take longer than a minute.
    while not is_done(installed):
        assert time.monotonic() < began + WITHIN + left * 0.05, installed.server.log.read_text()[-5000:]
        time.sleep(0.5)
    seconds = time.monotonic() - began
    inside, outside = installed.notes("acme"), installed.notes("ended")
    lost = 2 * JOBS - len(inside) - len(outside)
    repeated = sum((inside - Counter(range(JOBS))).values()) + sum((outside - Counter(range(JOBS))).values())
    figures.note("jobs", fault, killed=kills, jobs=2 * JOBS, idle=round(seconds, 1), repeated=repeated, lost=lost)
    assert lost == 0
    assert installed.server.ask("SELECT count(*) FROM procrastinate_jobs WHERE status = 'failed'") == 0


def is_done(installed: JobInstallation) -> bool:
    try:
        return installed.is_idle()
    except psycopg.OperationalError:
        return False


def is_working(installed: JobInstallation) -> bool:
    try:
        return bool(installed.server.ask(WORKING) > 0)
    except psycopg.OperationalError:
        return False
