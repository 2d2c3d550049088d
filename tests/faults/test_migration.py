"""Migrations of a later release under load: no request is refused or waits long (D155)."""

from __future__ import annotations

import math
import subprocess
import sys
import threading
import time
from contextlib import ExitStack

import pytest

from repository_site.core import environment
from repository_site.core.database.pool import PATIENCE
from tests.faults.installation import Installation
from tests.faults.load import Load
from tests.patience import BUSY_SECONDS

pytestmark = [pytest.mark.server, pytest.mark.fault]
LONGEST_WAIT = """SELECT coalesce(max(extract(epoch FROM clock_timestamp() - query_start)), 0)::float
    FROM pg_stat_activity WHERE usename = 'repository' AND wait_event_type = 'Lock'"""
APPLIED = "SELECT count(*) FROM django_migrations WHERE app = 'upgrade'"


def test_migrations_are_applied_under_load(installation: Installation) -> None:
    waits, stop = [0.0], threading.Event()

    def watch() -> None:
        with installation.server.superuser() as connection:
            while not stop.wait(0.02):
                waits.extend(row[0] for row in connection.execute(LONGEST_WAIT))

    with Load(installation, "migrated", writers=4) as load, ExitStack() as ends:
        watcher = threading.Thread(target=watch)
        watcher.start()
        ends.callback(watcher.join)
        ends.callback(stop.set)
        began = time.monotonic()
        with installation.server.superuser() as connection, connection.transaction():
            # A long read blocks the migration, which must not make other requests wait meanwhile.
            connection.execute("SELECT count(*) FROM elements_elementversion")
            migrating = ends.enter_context(upgrade(installation))
            ends.callback(migrating.kill)
            assert migrating.stdout is not None
            said = ""
            while "Other transactions use the tables" not in said:
                line = migrating.stdout.readline()
                assert line, said
                said += line
            load.run_for(1)
            assert migrating.poll() is None
            assert installation.server.ask(APPLIED) == 0
        said, _ = migrating.communicate(timeout=180)
        over = time.monotonic()
        load.run_for(1)
    assert migrating.returncode == 0, said
    assert installation.server.ask(APPLIED) == 5
    assert [each for each in load.answers if each.is_refusal] == []
    assert load.ready_between(began, over).keys() == {200}
    assert max(waits) < 2
    assert load.slowest(began) < PATIENCE + BUSY_SECONDS
    load.settle(since=over, within=math.inf, alike="migrations applied")


def upgrade(installation: Installation) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "manage.py", "migrate", "upgrade"],
        cwd=environment.PROJECT_DIR,
        env={**installation.server.environ, "DJANGO_SETTINGS_MODULE": "tests.faults.upgrade_settings"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
