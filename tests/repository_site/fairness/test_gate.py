"""The gate: places of storages and callers, the order of the queue, and refusals (D195)."""

from __future__ import annotations

import threading
import time

import pytest

from repository_site.core.environment.values import Rate
from repository_site.core.fairness import gate as gates
from repository_site.core.fairness.gate import Gate
from repository_site.core.fairness.origin import ELSEWHERE
from repository_site.core.fairness.presence import WINDOW, Presence
from repository_site.core.fairness.shares import Shares
from repository_site.core.problems import Busy, TooManyRequests
from tests.repository_site.fairness.gates import ACME, ANNA, BEN, RIVAL, GateClock, entered, wait_for, waiting

PLACES = 8


@pytest.fixture
def clock() -> GateClock:
    return GateClock()


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch, clock: GateClock) -> Gate:
    monkeypatch.setattr(gates, "PATIENCE", 0.05)
    monkeypatch.setattr(gates, "time", clock)
    return Gate(PLACES, Rate(0.001, 5), Rate(0.001, 3), Presence(clock.monotonic))


def refusal(gate: Gate, storage: str = ACME, caller: int = ANNA) -> tuple[str, int]:
    with pytest.raises((TooManyRequests, Busy)) as caught:
        gate.enter(storage, caller)
    assert isinstance(caught.value, TooManyRequests | Busy)
    return caught.value.message, caught.value.retry_after


class TestPlaces:
    def test_a_storage_alone_gets_all_places_but_one(self, gate: Gate) -> None:
        entered(gate, PLACES - 1)
        assert refusal(gate) == (gates.BUSY, 2)
        assert gate.tallies.refused == {"busy": 1}
        entered(gate, 1, RIVAL)

    def test_a_storage_gets_half_of_the_places_while_others_are_active(self, gate: Gate) -> None:
        entered(gate, 1, RIVAL)
        entered(gate, PLACES // 2)
        assert refusal(gate)[1] == 2
        assert len(entered(gate, PLACES // 2 - 1, RIVAL)) == 3

    def test_a_storage_over_its_budget_gets_one_place_while_others_are_active(self, gate: Gate) -> None:
        gate.leave(gate.enter(RIVAL, ANNA), 0)
        gate.leave(gate.enter(ACME, ANNA), 6)
        gate.leave(gate.enter(ACME, BEN), 0)
        [ticket] = entered(gate, 1)
        assert ticket.is_limited
        text, wait = refusal(gate, ACME, BEN)
        assert (text, wait > 2) == (gates.OVER_BUDGET.format(wait=f"{wait} seconds"), True)
        gate.leave(ticket, 0)
        entered(gate, 1)

    def test_the_place_of_a_storage_over_its_budget_stays_taken_as_long_as_it_has_worked(
        self, gate: Gate, clock: GateClock
    ) -> None:
        gate.leave(gate.enter(ACME, ANNA), 6)
        gate.leave(gate.enter(ACME, ANNA), 6)
        assert clock.slept == []
        gate.leave(gate.enter(RIVAL, ANNA), 0.5)
        assert clock.slept == []
        gate.leave(gate.enter(ACME, ANNA), 0.1)
        gate.leave(gate.enter(ACME, BEN), 6)
        assert clock.slept == [0.1, gates.LONGEST_PAUSE]

    def test_a_storage_that_works_less_than_others_is_not_limited(self, gate: Gate) -> None:
        """Its requests may be expensive because others keep the machine busy."""
        gate.leave(gate.enter(RIVAL, ANNA), 20)
        gate.leave(gate.enter(ACME, ANNA), 6)
        assert len(entered(gate, PLACES // 2)) == 4
        [ticket] = entered(gate, 1, RIVAL)
        assert ticket.is_limited

    def test_a_storage_alone_and_over_its_budget_gets_all_places_but_one(self, gate: Gate) -> None:
        gate.leave(gate.enter(ACME, ANNA), 100)
        entered(gate, PLACES - 1)
        assert refusal(gate) == (gates.BUSY, 2)

    @pytest.mark.parametrize("is_noted", [False, True])
    def test_reads_count_while_they_run(self, gate: Gate, clock: GateClock, is_noted: bool) -> None:
        """Some requests are known as reads only after they have begun."""
        for ticket in [gate.enter(ACME, ANNA, only_reads=not is_noted) for _ in range(2)]:
            gate.begin_read(ticket)
        clock.now += 2
        gate.leave(gate.enter(RIVAL, ANNA), 0)
        entered(gate, 1)
        clock.now += 1
        refusal(gate)

    def test_writes_do_not_count_while_they_wait_for_a_lock(self, gate: Gate, clock: GateClock) -> None:
        held = [gate.enter(ACME, ANNA, only_reads=False) for _ in range(2)]
        clock.now += 10
        gate.leave(gate.enter(RIVAL, ANNA), 0)
        held += entered(gate, PLACES // 2 - 2)
        for each in held:
            gate.leave(each, 0)
        assert (gate._running, gate._reads) == ({}, {})

    def test_unknown_addresses_are_active_only_while_they_run(self, gate: Gate) -> None:
        """Else anybody could halve the places of a storage that is alone."""
        gate.leave(gate.enter(ELSEWHERE, ANNA), 0)
        held = entered(gate, PLACES - 1)
        ticket = gate.enter(ELSEWHERE, ANNA)
        gate.leave(held.pop(), 0)
        assert refusal(gate) == (gates.BUSY, 2)
        gate.leave(ticket, 0)
        entered(gate, 1)

    def test_somebody_else_can_pay(self, gate: Gate) -> None:
        gate.leave(gate.enter(ACME, ANNA), 2, (ELSEWHERE, ANNA))
        levels = [gate.storages.level(each) for each in (ACME, ELSEWHERE)]
        assert levels == pytest.approx([5, 3], abs=0.01)
        assert (gate.callers.level((ACME, ANNA)), gate.tallies.seconds) == (3, {ELSEWHERE: 2})
        assert (gate._running, gate._connections) == ({}, 0)

    def test_storages_over_their_budgets_have_half_of_the_places_together(self, gate: Gate) -> None:
        storages = [f"acme/{number}" for number in range(PLACES)]
        for each in storages:
            gate.leave(gate.enter(each, ANNA), 6)
        for each in storages[: PLACES // 2]:
            entered(gate, 1, each)
        refusal(gate, storages[-1])
        entered(gate, 1, RIVAL)

    def test_a_caller_over_the_budget_gets_one_place_while_other_callers_are_active(self, gate: Gate) -> None:
        gate.leave(gate.enter(ACME, ANNA), 4)
        assert len(entered(gate, 2)) == 2
        entered(gate, 1, ACME, BEN)
        assert "uses more than its share" in refusal(gate)[0]
        assert len(entered(gate, 2, ACME, BEN)) == 2

    def test_without_budgets(self) -> None:
        gate = Gate(PLACES, None, None, Presence())
        gate.leave(gate.enter(RIVAL, ANNA), 1000)
        gate.leave(gate.enter(ACME, ANNA), 1000)
        assert len(entered(gate, PLACES // 2)) == 4

    def test_an_installation_with_one_connection(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(gates, "PATIENCE", 0.01)
        gate = Gate(1, Rate(1, 1), Rate(1, 1), Presence())
        [ticket] = entered(gate, 1)
        refusal(gate, RIVAL)
        gate.leave(ticket, 10)
        gate.leave(entered(gate, 1, RIVAL)[0], 0)
        entered(gate, 1)


class TestOrder:
    def test_a_storage_without_running_requests_comes_first(self, gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(gates, "PATIENCE", 60)
        held = [*entered(gate, 4), *entered(gate, 4, RIVAL)]
        with waiting(gate) as own, waiting(gate, "new/comer") as other:
            gate.leave(held.pop(), 0)
            gate.leave(wait_for(other), 0)
            gate.leave(held.pop(0), 0)
            assert wait_for(own).storage == ACME

    def test_the_storage_with_more_budget_comes_first(self, gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(gates, "PATIENCE", 60)
        gate.leave(gate.enter("dear/one", ANNA), 2)
        gate.leave(gate.enter("cheap/one", ANNA), 1)
        held = [*entered(gate, 4), *entered(gate, 4, RIVAL)]
        with waiting(gate, "dear/one") as dear, waiting(gate, "cheap/one") as cheap:
            gate.leave(held.pop(), 0)
            gate.leave(wait_for(cheap), 0)
            wait_for(dear)

    def test_the_caller_with_fewer_running_requests_comes_first(
        self, gate: Gate, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(gates, "PATIENCE", 60)
        held = entered(gate, PLACES - 1)
        with waiting(gate) as first, waiting(gate, ACME, BEN) as second:
            gate.leave(held.pop(), 0)
            wait_for(second)
            assert not first
            gate.leave(held.pop(), 0)
            wait_for(first)

    def test_a_request_does_not_overtake_waiting_ones_of_its_caller(
        self, gate: Gate, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(gates, "PATIENCE", 60)
        held = entered(gate, PLACES - 1)
        with waiting(gate) as first, waiting(gate) as second:
            gate.leave(held.pop(), 0)
            wait_for(first)
            assert not second
            gate.leave(held.pop(), 0)
            wait_for(second)
        assert gate.waiting == 0


class TestUnknownCallers:
    """Callers without an accepted credential, together, in a storage whose own callers are active (D217)."""

    def test_they_have_three_quarters_of_the_places(self, gate: Gate) -> None:
        gate.leave(gate.enter(ACME, ANNA), 0)
        strangers = [gate.enter(ACME, 100 + number, is_accepted=False) for number in range(5)]
        with pytest.raises(Busy):
            gate.enter(ACME, 200, is_accepted=False)
        entered(gate, 2)
        assert gate._unknown == {ACME: 5}
        for each in strangers:
            gate.leave(each, 0)
        assert gate._unknown == {}

    def test_they_have_all_of_them_while_no_other_caller_is_active(self, gate: Gate, clock: GateClock) -> None:
        gate.leave(gate.enter(ACME, ANNA), 0)
        gate.enter(RIVAL, ANNA)
        clock.now += WINDOW
        assert len([gate.enter(ACME, number, is_accepted=False) for number in range(PLACES - 1)]) == 7

    def test_waiting_ones_do_not_keep_accepted_callers_waiting(
        self, gate: Gate, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(gates, "PATIENCE", 60)
        gate.leave(gate.enter(ACME, ANNA), 0)
        strangers = [gate.enter(ACME, 100 + number, is_accepted=False) for number in range(5)]
        with waiting(gate, ACME, 200, is_accepted=False) as later:
            gate.leave(gate.enter(ACME, ANNA), 0)
            assert not later
            gate.leave(strangers.pop(), 0)
            wait_for(later)

    def test_accepted_callers_get_every_second_turn(self, gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
        """Also if the storage has one place, and each request comes from another network with a full budget."""
        monkeypatch.setattr(gates, "PATIENCE", 60)
        gate.leave(gate.enter(RIVAL, ANNA), 0)
        gate.leave(gate.enter(ACME, ANNA), 6)
        [held] = entered(gate, 1)
        with (
            waiting(gate, ACME, 100, is_accepted=False) as first,
            waiting(gate, ACME, 101, is_accepted=False) as third,
            waiting(gate) as second,
        ):
            gate.leave(held, 0)
            gate.leave(wait_for(first), 0)
            gate.leave(wait_for(second), 0)
            assert not third or third[0].runs
            gate.leave(wait_for(third), 0)
        assert (gate._turned, gate._unknown) == (set(), {})

    def test_they_leave_waiting_threads_to_accepted_callers(self, gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
        gate._threads = Shares(16)
        monkeypatch.setattr(gates, "PATIENCE", 60)
        held = entered(gate, PLACES - 1)
        threads = []
        for number in range(6):
            threads.append(threading.Thread(target=enter_and_leave, args=(gate, ACME, 100 + number, False)))
            threads[-1].start()
            while gate.waiting == number:
                time.sleep(0.001)
        with pytest.raises(TooManyRequests):
            gate.enter(ACME, 200, is_accepted=False)
        with waiting(gate) as own:
            for each in held:
                gate.leave(each, 0)
            gate.leave(wait_for(own), 0)
        for thread in threads:
            thread.join(60)
        assert (gate.waiting, gate._unknown) == (0, {})


class TestWaiting:
    def test_a_refused_request_leaves_nothing_behind(self, gate: Gate) -> None:
        held = entered(gate, PLACES - 1)
        refusal(gate)
        assert (gate.waiting, gate._queues, gate._batches) == (0, {}, {})
        for each in held:
            gate.leave(each, 0)
        assert (gate._running, gate._running_callers, gate._reads) == ({}, {}, {})
        assert (gate._connections, gate._limited) == (0, 0)
        entered(gate, PLACES - 1)

    def test_a_storage_has_at_most_half_of_the_waiting_threads(
        self, gate: Gate, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """And a caller at most three quarters of that."""
        gate._threads = Shares(16)
        monkeypatch.setattr(gates, "PATIENCE", 60)
        held = [*entered(gate, 4), *entered(gate, 4, RIVAL)]
        threads = []
        for number in range(6):
            threads.append(threading.Thread(target=enter_and_leave, args=(gate, ACME, ANNA)))
            threads[-1].start()
            while gate.waiting == number:
                time.sleep(0.001)
        crowded = gates.CROWDED.format(wait="2 seconds"), 2
        assert refusal(gate) == crowded
        for number in range(2):
            threads.append(threading.Thread(target=enter_and_leave, args=(gate, ACME, BEN + number)))
            threads[-1].start()
            while gate.waiting == 6 + number:
                time.sleep(0.001)
        assert refusal(gate, ACME, 9) == crowded
        threads.append(threading.Thread(target=enter_and_leave, args=(gate, RIVAL, ANNA)))
        threads[-1].start()
        for each in held:
            gate.leave(each, 0)
        for thread in threads:
            thread.join(60)
        assert gate.tallies.refused == {"crowded": 2}
        assert gate.waiting == 0


def enter_and_leave(gate: Gate, storage: str, caller: int, is_accepted: bool = True) -> None:
    gate.leave(gate.enter(storage, caller, is_accepted=is_accepted), 0)


class TestStreams:
    def test_a_stream_takes_a_connection_and_no_place(self, gate: Gate) -> None:
        gate.hold_connection()
        entered(gate, PLACES - 1)
        refusal(gate, RIVAL)
        gate.release_connection()
        entered(gate, 1, RIVAL)

    def test_batches_need_a_place_but_no_connection(self, gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(gates, "PATIENCE_OF_BATCHES", 0.05)
        held = [*entered(gate, 4, RIVAL), *entered(gate, 4)]
        with gate.batch("new/comer", ANNA):
            assert gate._running.get("new/comer") == 1
        started = time.monotonic()
        with gate.batch(ACME, ANNA):
            # It had to wait; it cannot be refused, and runs without a place in the end.
            assert time.monotonic() - started >= 0.05
            assert gate._running[ACME] == 4
        gate.leave(held.pop(), 0)
        with gate.batch(ACME, ANNA):
            assert gate._running[ACME] == 4
        assert gate._batches == {}

    def test_batches_come_before_requests_of_their_storage(self, gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(gates, "PATIENCE", 60)
        held = entered(gate, PLACES - 1)
        order: list[str] = []

        def batch() -> None:
            with gate.batch(ACME, ANNA):
                order.append("batch")

        with waiting(gate) as request:
            thread = threading.Thread(target=batch)
            thread.start()
            while not gate._batches:
                time.sleep(0.001)
            assert not request
            gate.leave(held.pop(), 0)
            thread.join(60)
            wait_for(request)
            assert order == ["batch"]

    def test_batches_are_charged(self, gate: Gate) -> None:
        with gate.batch(ACME, ANNA):
            sum(range(200_000))
        assert 4 < gate.storages.level(ACME) < 5
        assert gate.tallies.seconds[ACME] > 0.0001


def test_budget_that_is_left(gate: Gate, clock: GateClock) -> None:
    """Requests that run at the same time share it."""
    [ticket] = entered(gate, 1)
    gate.leave(gate.enter(ACME, ANNA), 1.5)
    assert gate.begin_read(ticket) == 1
    gate.leave(gate.enter(ACME, BEN), 0)
    assert gate.begin_read(ticket) == pytest.approx(0.5, abs=0.01)
    gate.leave(gate.enter(RIVAL, ANNA), 0)
    assert gate.begin_read(ticket) == pytest.approx(0.7, abs=0.01)
    entered(gate, 1, ACME, BEN)
    assert gate.begin_read(ticket) == pytest.approx(0.35, abs=0.01)
    gate.storages.charge(ACME, 40)
    assert gate.begin_read(ticket) == 0
    clock.now += 1
    gate.leave(gate.enter(RIVAL, ANNA), 100)
    assert gate.begin_read(ticket) == pytest.approx(0.5, abs=0.01)
