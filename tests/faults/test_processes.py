"""A worker is killed while it writes: the other worker continues, and a new one replaces it."""

from __future__ import annotations

import time
from functools import partial

import psutil
import pytest

from repository_site.core.cores import cores_for
from tests.faults.installation import WORKERS, Installation, wait_for
from tests.faults.load import Load
from tests.patience import BUSY_SECONDS

pytestmark = [pytest.mark.server, pytest.mark.fault]


def test_workers_are_killed_during_writes(installation: Installation) -> None:
    with Load(installation, "killed", writers=4) as load:
        for _ in range(2):
            # Kill the other worker the second time: a worker that dies twice within seconds stops the server.
            killed = min(installation.server.workers(), key=psutil.Process.create_time)
            killed.kill()
            over = time.monotonic()
            wait_for(partial(is_replaced, installation, killed.pid), 40, "the worker is not replaced")
            load.run_for(1)
    load.settle(since=over, within=15 + BUSY_SECONDS, alike="a worker killed, twice", may_break=True)
    if cores := cores_for(WORKERS):
        expected = [[core] for core in sorted(cores * (WORKERS // len(cores)))]
        wait_for(
            lambda: sorted(each.cpu_affinity() for each in installation.server.workers()) == expected,
            20,
            "the workers do not keep to their cores",
        )


def is_replaced(installation: Installation, pid: int) -> bool:
    pids = [each.pid for each in installation.server.workers()]
    return len(pids) == WORKERS and pid not in pids
