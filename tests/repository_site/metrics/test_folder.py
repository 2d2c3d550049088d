"""Metrics of several processes in one folder: counters outlive a process, gauges do not."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path

import pytest
from prometheus_client.multiprocess import MultiProcessCollector

from repository_site.operations.metrics import folder as folders
from repository_site.operations.metrics.folder import MetricsFolder
from repository_site.operations.metrics.instruments import Instruments

COUNT = "repository_request_duration_seconds_count a GET 2xx"


def in_a_worker(work: Callable[[], None]) -> int:
    """Run a function in a forked process, like a worker, and return its exit code."""
    process = get_context("fork").Process(target=work)
    process.start()
    process.join(60)
    return process.exitcode or 0


def start(folder: MetricsFolder) -> Instruments:
    return Instruments(folder, folder.claim_slot())


def read(folder: MetricsFolder) -> dict[str, float]:
    folder.forget_dead_workers()
    families = MultiProcessCollector(None, str(folder.path)).collect()
    samples = [sample for family in families for sample in family.samples if not sample.name.endswith("_bucket")]
    return {
        " ".join(
            [each.name, *(each.labels[name] for name in ("operation", "method", "status") if name in each.labels)]
        ): each.value
        for each in samples
    }


def request(recorded: Instruments, operation: str = "a") -> None:
    recorded.request_began()
    recorded.request_ended((operation, "GET", "2xx"), 0.5)


def test_counters_outlive_killed_workers_and_gauges_do_not(tmp_path: Path) -> None:
    folder = MetricsFolder.make(tmp_path)
    own = start(folder)
    request(own)

    def work() -> None:
        recorded = start(folder)
        assert recorded.slot == 1
        request(recorded)
        recorded.request_began()
        found = read(folder)
        assert (found["repository_worker_processes"], found["repository_requests_in_flight"]) == (2, 1)
        os.kill(os.getpid(), signal.SIGKILL)

    assert [in_a_worker(work), in_a_worker(work)] == [-signal.SIGKILL] * 2
    found = read(folder)
    assert {
        name: found[name]
        for name in (
            COUNT,
            "repository_worker_processes",
            "repository_worker_starts_total",
            "repository_requests_in_flight",
        )
    } == {
        COUNT: 3,
        "repository_worker_processes": 1,
        "repository_worker_starts_total": 3,
        "repository_requests_in_flight": 0,
    }


def test_a_successor_takes_the_slot_and_adds_no_files(tmp_path: Path) -> None:
    folder = MetricsFolder.make(tmp_path)

    def work() -> None:
        request(start(folder))

    assert in_a_worker(work) == 0
    files = sorted(folder.path.iterdir())
    assert in_a_worker(work) == 0
    assert sorted(folder.path.iterdir()) == files
    assert read(folder)[COUNT] == 2


def test_threads_lose_nothing(tmp_path: Path) -> None:
    folder = MetricsFolder.make(tmp_path)
    recorded = start(folder)

    def work() -> None:
        for number in range(1_000):
            request(recorded, str(number % 2))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = read(folder)
    name = "repository_request_duration_seconds_sum"
    assert [found[f"{name} {number} GET 2xx"] for number in (0, 1)] == [2_000, 2_000]
    assert found["repository_requests_in_flight"] == 0


def test_starts_are_counted(tmp_path: Path) -> None:
    folder = MetricsFolder.make(tmp_path)
    assert [folder.count_start() for _ in range(3)] == [0, 1, 2]


def test_folders_of_killed_servers_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    used, ended, killed = (MetricsFolder.make(tmp_path) for _ in range(3))
    ended.remove()
    os.close(killed._lock)
    fresh = MetricsFolder.make(tmp_path)
    assert {each.name for each in tmp_path.iterdir()} == {each.path.name for each in (used, killed, fresh)}
    monkeypatch.setattr(folders, "LEFT_OVER_SECONDS", 0)
    newest = MetricsFolder.make(tmp_path)
    assert {each.name for each in tmp_path.iterdir()} == {each.path.name for each in (used, fresh, newest)}
