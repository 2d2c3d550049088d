"""The benchmark itself: turns of contenders, and the estimate of a run."""

from __future__ import annotations

from collections import Counter
from typing import Any, cast

import pytest

from benchmarks import load
from benchmarks.load import Contender, Latencies, Workload
from benchmarks.report import SCALES, load_table
from benchmarks.steps import Step, run_steps
from benchmarks.workloads import CONNECTIONS, FLOOR, PLAIN, SERVICE

SECONDS = {SERVICE: 0.017, FLOOR: 0.016, PLAIN: 0.31}
"""Duration of one request, by contender."""


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Contenders and seconds of all turns. Contenders answer as fast as in the warm-up."""
    turns: list[tuple[str, int]] = []

    def send_load(contender: Contender, connections: int, seconds: int, turn: int, found: Latencies) -> None:
        name = cast("str", contender.server)
        turns.append((name, seconds))
        found.counts[1000] += round(seconds / SECONDS[name] * min(connections, 2))
        found.seconds += seconds

    monkeypatch.setattr(load, "warm_up", lambda contender: SECONDS[contender.server])
    monkeypatch.setattr(load, "send_load", send_load)
    return turns


def measured(connections: int, names: tuple[str, ...] = (SERVICE, FLOOR, PLAIN)) -> Workload:
    scale = SCALES["usual"]
    limits = {PLAIN: scale.plain_seconds}
    contenders = {name: Contender(bytes, cast("Any", name), limits.get(name, 0.0)) for name in names}
    workload = Workload("W1", contenders, connections)
    workload.measure(scale.requests, scale.rounds)
    return workload


@pytest.mark.parametrize("connections", CONNECTIONS)
def test_service_and_floor_answer_all_requests_and_the_slow_contender_has_a_limit(
    sent: list[tuple[str, int]], connections: int
) -> None:
    found = measured(connections).found
    assert min(found[SERVICE].requests, found[FLOOR].requests) >= 2_000
    seconds = Counter[str]()
    for name, each in sent:
        seconds[name] += each
    assert [name for name, _ in sent].count(PLAIN) == 2
    # Two requests of each of 64 connections take longer.
    assert seconds[PLAIN] <= max(10, 2 * 2 * connections * SECONDS[PLAIN] / 2 + 2)
    assert found[PLAIN].requests >= 2 * connections


def test_percentiles_of_few_requests_are_left_out(sent: list[tuple[str, int]]) -> None:
    rows = [line.split(" | ") for line in load_table([measured(1)]).splitlines()[2:]]
    assert [(row[2], row[5:9]) for row in rows] == [
        (SERVICE, ["1.00"] * 4),
        (FLOOR, ["1.00"] * 4),
        (PLAIN, ["1.00", "1.00", "", ""]),
    ]


def test_the_estimate_follows_the_speed_of_the_machine(capsys: pytest.CaptureFixture[str]) -> None:
    now = [0.0]

    def step(title: str, minutes: float, takes: float) -> Step:
        return Step(title, minutes, lambda: now.__setitem__(0, now[0] + 60 * takes))

    run_steps([step("Storages", 2, 4), step("Workloads", 5, 10), step("Soak", 1, 2)], lambda: now[0])
    assert capsys.readouterr().err.splitlines() == [
        "[1 of 3] Storages: 0 minutes passed, about 8 left",
        "[2 of 3] Workloads: 4 minutes passed, about 12 left",
        "[3 of 3] Soak: 14 minutes passed, about 2 left",
    ]
