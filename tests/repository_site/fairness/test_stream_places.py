"""Places for streams: shares of storages, and who waits (D199)."""

from __future__ import annotations

import threading
import time

import pytest

from repository_site.core.fairness import stream_places
from repository_site.core.fairness.gate import Gate, Who
from repository_site.core.fairness.presence import Presence
from repository_site.core.fairness.stream_places import ALL_TAKEN, StreamPlaces
from repository_site.core.problems import TooManyRequests

ACME, RIVAL, OTHER = ("acme/handbook", 1), ("rival/handbook", 1), ("other/handbook", 1)


@pytest.fixture
def gate() -> Gate:
    return Gate(8, None, None, Presence())


@pytest.fixture
def places(gate: Gate) -> StreamPlaces:
    return StreamPlaces(4, gate)


def taken(places: StreamPlaces, who: Who, is_accepted: bool = True) -> int:
    """Take places until one is refused at once."""
    count = 0
    with pytest.raises(TooManyRequests) as caught:
        while count < 10:
            places.take(who, is_accepted)
            count += 1
    assert (caught.value.message, caught.value.retry_after) == (ALL_TAKEN, 5)
    return count


def test_a_storage_alone_leaves_a_place_for_others(places: StreamPlaces, gate: Gate) -> None:
    assert taken(places, ACME) == 3
    gate.presence.note(*ACME)
    places.take(RIVAL)
    assert gate._connections == 4
    assert gate.tallies.refused == {"streams": 1}


def test_a_storage_gets_half_while_others_are_active(places: StreamPlaces, gate: Gate) -> None:
    gate.presence.note(*ACME)
    gate.presence.note(*RIVAL)
    assert (taken(places, ACME), taken(places, RIVAL)) == (2, 2)


def test_a_storage_with_less_than_its_share_waits(places: StreamPlaces, gate: Gate) -> None:
    assert taken(places, ACME) == 3
    gate.presence.note(*ACME)
    gate.presence.note(*RIVAL)
    places.take(RIVAL)
    waiting = threading.Thread(target=places.take, args=(RIVAL,))
    waiting.start()
    time.sleep(0.05)
    assert waiting.is_alive()
    places.give_back(ACME)
    waiting.join(60)
    assert not waiting.is_alive()
    assert places._held == {"acme/handbook": 2, "rival/handbook": 2}
    for who in (ACME, ACME, RIVAL, RIVAL):
        places.give_back(who)
    assert (places._held, gate._connections) == ({}, 0)


def test_nobody_waits_for_long(places: StreamPlaces, gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_places, "PATIENCE", 0.02)
    gate.presence.note(*ACME)
    gate.presence.note(*RIVAL)
    assert (taken(places, ACME), taken(places, RIVAL)) == (2, 2)
    started = time.monotonic()
    assert taken(places, OTHER) == 0
    assert time.monotonic() - started >= 0.02


def test_a_worker_with_few_connections(gate: Gate) -> None:
    places = StreamPlaces(1, gate)
    assert taken(places, ACME) == 1


def test_unknown_callers_leave_a_place_for_accepted_ones(places: StreamPlaces, gate: Gate) -> None:
    strangers = [("acme/handbook", number) for number in (2, 3)]
    assert [taken(places, who, is_accepted=False) for who in strangers] == [2, 0]
    assert taken(places, ACME) == 1
    for who, is_accepted in ((strangers[0], False), (strangers[0], False), (ACME, True)):
        places.give_back(who, is_accepted)
    assert (places._held, places.taken, gate._connections) == ({}, 0, 0)
    # While others are active, a storage has two places.
    gate.presence.note(*ACME)
    gate.presence.note(*RIVAL)
    assert taken(places, strangers[1], is_accepted=False) == 1
    assert taken(places, ACME) == 1
