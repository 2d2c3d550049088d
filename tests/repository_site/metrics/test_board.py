"""Numbers of several processes in one memory: nothing lost, nothing of the dead shown as alive."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from multiprocessing import get_context

import pytest

from repository_site.core.metrics import BUCKETS, GAUGES, LABEL_BYTES, METRICS, Board, Label, Part

IN_FLIGHT, IDLE = GAUGES.index("in_flight"), GAUGES.index("pool_idle")


def in_a_worker(work: Callable[[], None]) -> int:
    """Run in a forked process, as workers are; answers how it ended."""
    process = get_context("fork").Process(target=work)
    process.start()
    process.join(30)
    return process.exitcode or 0


def counts(board: Board) -> dict[Label, float]:
    return {label: sum(row.counts) for label, row in board.read().rows.items()}


def test_each_time_falls_into_its_bucket() -> None:
    board = Board(1)
    part = board.claim()
    for seconds in (0.0, 0.005, 0.0051, 10.0, 11.0):
        part.observe(("request", "x"), seconds)
    row = board.read().rows[("request", "x")]
    assert row.counts == [2, 1, *[0] * (len(BUCKETS) - 3), 1, 1]
    assert row.sum == pytest.approx(21.0101)


def test_workers_are_added_up_and_those_that_are_gone_stay_counted() -> None:
    board = Board(3)
    own = board.claim()
    own.count(("request", "a"))
    own.set(IDLE, 3)

    def work() -> None:
        part = board.claim()
        part.count(("request", "a"))
        part.count(("request", "b", "1"))
        part.set(IDLE, 5)
        part.add(IN_FLIGHT, 1)
        assert board.read().gauges == {**dict.fromkeys(GAUGES, 0), "pool_idle": 8, "in_flight": 1}
        assert sorted(board.read().workers) == sorted([os.getppid(), os.getpid()])

    assert [in_a_worker(work), in_a_worker(work)] == [0, 0]
    reading = board.read()
    assert counts(board) == {("request", "a"): 3, ("request", "b", "1"): 2}
    assert reading.gauges == {**dict.fromkeys(GAUGES, 0), "pool_idle": 3}
    assert (reading.workers, reading.starts) == ([os.getpid()], 3)


def test_a_part_of_one_that_was_killed_is_gone_on_with() -> None:
    board = Board(1)

    def work() -> None:
        part = board.claim()
        part.count(("request", "a"))
        part.add(IN_FLIGHT, 4)
        os.kill(os.getpid(), signal.SIGKILL)

    assert [in_a_worker(work), in_a_worker(work)] == [-signal.SIGKILL] * 2
    assert board.read().gauges["in_flight"] == 0
    part = board.claim()
    part.count(("request", "a"))
    reading = board.read()
    assert (sum(reading.rows[("request", "a")].counts), reading.gauges["in_flight"], reading.starts) == (3, 0, 3)


def test_a_process_that_has_come_to_the_number_of_a_dead_one_is_another() -> None:
    board = Board(1)
    part = board.claim()
    assert part.is_alive()
    board._numbers[part._head + 1] -= 100
    assert not part.is_alive()


def test_one_too_many_is_left_alone() -> None:
    board = Board(1)
    first = board.claim()

    def work() -> None:
        board.claim().count(("request", "a"))

    first.count(("request", "a"))
    assert in_a_worker(work) == 0
    assert sum(board.read().rows[("request", "a")].counts) == 1


def test_threads_lose_nothing() -> None:
    board = Board(1)
    part: Part = board.claim()

    def work() -> None:
        for number in range(2_000):
            part.observe(("request", str(number % 5)), 0.5)
            part.add(IN_FLIGHT, 1)
            part.add(IN_FLIGHT, -1)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    reading = board.read()
    assert {row.sum for row in reading.rows.values()} == {1_600.0}
    assert reading.gauges["in_flight"] == 0


def test_more_labels_than_there_is_room_for_are_counted_together_by_metric() -> None:
    board = Board(1, rows=2 + len(METRICS))
    part = board.claim()
    for name in "abcdea":
        part.count(("request", name, "GET"))
    for kind in ("look_up", "statement", "look_up"):
        part.observe(("database", kind), 0.5)
    expected = {
        ("request", "a", "GET"): 2,
        ("request", "b", "GET"): 1,
        ("request", "other", "other"): 3,
        ("database", "other"): 3,
    }
    assert counts(board) == expected
    # Whoever comes after goes on with the same rows.
    part.begin()
    part.count(("request", "f", "GET"))
    part.count(("database_error", "OperationalError"))
    assert counts(board) == {**expected, ("request", "other", "other"): 4, ("database_error", "other"): 1}


def test_a_label_that_is_too_long_is_cut_in_each_of_its_values() -> None:
    board = Board(2, rows=2 + len(METRICS))
    part = board.claim()
    long = "ü" * LABEL_BYTES
    for label in (("request", long, "GET", "1"), ("request", long, "GET", "2"), ("request", long + "x", "GET", "1")):
        part.count(label)
        part.count(label)
    part.begin()
    part.count(("request", long, "GET", "1"))
    cut = "ü" * 63 + "…"
    assert counts(board) == {("request", cut, "GET", "1"): 5, ("request", cut, "GET", "2"): 2}


def test_a_metric_without_a_row_in_reserve_is_noticed_at_once() -> None:
    with pytest.raises(ValueError, match="not in tuple"):
        Board(1).claim().count(("unheard_of", "a"))
