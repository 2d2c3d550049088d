"""Saturated cores, and what the gate does about them."""

from __future__ import annotations

import threading

import pytest

from repository_site.core.environment.values import Rate
from repository_site.core.fairness import gate as gates
from repository_site.core.fairness.gate import MOST_YOUNG, YOUNG_SECONDS, Gate, Ticket
from repository_site.core.fairness.presence import Presence
from repository_site.core.fairness.saturation import BETWEEN, Saturation, read_times
from tests.repository_site.fairness.gates import ACME, ANNA, BEN, RIVAL, GateClock, entered, wait_for, waiting

OTHER = "other/handbook"


class TestSaturation:
    def observe(self, *steps: tuple[float, int, int]) -> list[bool]:
        """Return what is found after each step: seconds, idle ticks and busy ticks that pass."""
        now, idle, total = 100.0, 500, 2_000
        saturation = Saturation(lambda: (idle, total), lambda: now)
        saturation()
        found = []
        for seconds, quiet, busy in steps:
            now, idle, total = now + seconds, idle + quiet, total + quiet + busy
            found.append(saturation())
        return found

    def test_cores_without_idle_time_are_saturated(self) -> None:
        assert self.observe((BETWEEN * 1.1, 0, 10), (BETWEEN * 1.1, 1, 19), (BETWEEN * 1.1, 5, 5)) == [
            True,
            True,
            False,
        ]

    def test_counters_are_read_at_intervals(self) -> None:
        assert self.observe((BETWEEN * 1.1, 0, 10), (BETWEEN / 2, 5, 0), (BETWEEN, 5, 5)) == [True, True, False]

    def test_nothing_is_known_after_a_quiet_time(self) -> None:
        assert self.observe((60, 0, 6_000)) == [False]

    def test_the_system_counts(self) -> None:
        idle, total = read_times()
        assert 0 < idle < total


class BusyCores:
    def __init__(self) -> None:
        self.are_saturated = True

    def __call__(self) -> bool:
        return self.are_saturated


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> GateClock:
    found = GateClock()
    monkeypatch.setattr(gates, "time", found)
    return found


@pytest.fixture
def cores() -> BusyCores:
    return BusyCores()


@pytest.fixture
def gate(clock: GateClock, cores: BusyCores) -> Gate:
    return Gate(8, Rate(0.001, 5), Rate(0.001, 3), Presence(clock.monotonic), cores)


class TestGate:
    """The clock stands still, so requests stay young until a test moves it."""

    def test_one_begins_at_a_time(self, gate: Gate) -> None:
        running = entered(gate, MOST_YOUNG)
        with waiting(gate, RIVAL) as later:
            assert not later
            gate.leave(running[0], 0.0)
            wait_for(later)

    def test_older_ones_do_not_count(self, gate: Gate, clock: GateClock) -> None:
        entered(gate, MOST_YOUNG)
        with waiting(gate, RIVAL) as later:
            # Who waits looks again, although no request begins or ends.
            clock.now += 1.1 * YOUNG_SECONDS
            wait_for(later)
        assert gate.waiting == 0

    def test_idle_cores_take_more(self, gate: Gate, cores: BusyCores) -> None:
        cores.are_saturated = False
        entered(gate, 5)

    def test_who_waits_comes_before_who_arrives(
        self, gate: Gate, clock: GateClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # So long that those who wait do not look by themselves.
        monkeypatch.setattr(gates, "YOUNG_SECONDS", 50.0)
        monkeypatch.setattr(gates, "PATIENCE", 60.0)
        entered(gate, MOST_YOUNG)
        with waiting(gate, RIVAL, ANNA) as first:
            clock.now += 55
            last: list[Ticket] = []
            thread = threading.Thread(target=lambda: last.append(gate.enter(OTHER, ANNA)))
            thread.start()
            running = wait_for(first)
            assert not last
            gate.leave(running, 0.0)
            wait_for(last)
            thread.join()

    def test_who_waits_comes_in_when_the_cores_become_idle(
        self, gate: Gate, cores: BusyCores, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        entered(gate, MOST_YOUNG)
        with waiting(gate, RIVAL) as later:
            cores.are_saturated = False
            # It finds idle cores first, and runs for long.
            gate.enter(OTHER, ANNA)
            wait_for(later)

    def test_a_place_that_stays_empty_keeps_nobody_from_the_cores(self, gate: Gate, clock: GateClock) -> None:
        """The requests of a storage over its budget pause before they give back their places."""
        gate.leave(gate.enter(RIVAL, ANNA), 0)
        gate.leave(gate.enter(ACME, ANNA), 6)
        expensive = gate.enter(ACME, ANNA)
        with waiting(gate, RIVAL, BEN) as later:
            pauses: list[Ticket] = []
            clock.sleep = lambda seconds: pauses.append(wait_for(later))  # type: ignore[method-assign]
            gate.leave(expensive, 0.1)
            assert pauses == later
