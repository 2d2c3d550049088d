"""Streams give their place back once, after their transaction has ended, and also if nobody closes them (D199)."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Generator

import pytest

from elements.reading.lists import streams
from elements.reading.lists.streams import Stream
from repository_site.core.fairness.gate import Gate, Ticket
from repository_site.core.fairness.presence import Presence
from repository_site.core.fairness.stream_places import StreamPlaces

TICKET = Ticket(("acme/handbook", 1))


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Gate:
    made = Gate(8, None, None, Presence())
    monkeypatch.setattr(streams, "gate", made)
    monkeypatch.setattr(streams, "stream_places", StreamPlaces(4, made))
    return made


def test_the_transaction_ends_before_the_place_is_given_back(gate: Gate) -> None:
    connections: list[int] = []

    def pieces(fails: bool) -> Generator[bytes]:
        try:
            yield b"x"
            yield b"y"
        finally:
            connections.append(gate._connections)
            if fails:
                raise RuntimeError("the connection is gone")

    stream = Stream(pieces(fails=False), TICKET)
    assert next(stream) == b"x"
    stream.close()
    stream.close()
    broken = Stream(pieces(fails=True), TICKET)
    next(broken)
    with pytest.raises(RuntimeError):
        broken.close()
    assert (connections, gate._connections) == ([1, 1], 0)


def test_a_stream_that_nobody_closes(gate: Gate) -> None:
    """The garbage collector may end it in a thread that has the lock of the gate."""
    streams_left = [Stream(iter([b"x"]), TICKET)]

    def collect() -> None:
        with gate._lock:
            streams_left.clear()

    thread = threading.Thread(target=collect, daemon=True)
    thread.start()
    thread.join(60)
    assert not thread.is_alive()
    end = time.monotonic() + 60
    while gate._connections:
        assert time.monotonic() < end
        time.sleep(0.001)


def test_the_garbage_collector_ends_no_part_of_a_stream(gate: Gate) -> None:
    """It would end the transaction in a thread that has another connection."""
    ended_in: list[int] = []

    def pieces() -> Generator[bytes]:
        try:
            yield b"x"
            yield b"y"
        finally:
            ended_in.append(threading.get_ident())

    stream = Stream(pieces(), TICKET)
    stream.own = stream  # type: ignore[attr-defined]  # a reference cycle
    del stream
    gc.collect()
    end = time.monotonic() + 60
    while gate._connections:
        assert time.monotonic() < end
        time.sleep(0.001)
    assert len(ended_in) == 1
    assert ended_in != [threading.get_ident()]
