"""A gate whose time stands still, and callers who wait at it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from repository_site.core.fairness.gate import Gate, Ticket

ACME, RIVAL = "acme/handbook", "rival/handbook"
ANNA, BEN = 1, 2


class GateClock:
    """The time of the gate, which stands still unless a test moves it."""

    def __init__(self) -> None:
        self.now = 100.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


def entered(gate: Gate, count: int, storage: str = ACME, caller: int = ANNA) -> list[Ticket]:
    return [gate.enter(storage, caller) for _ in range(count)]


@contextmanager
def waiting(gate: Gate, storage: str = ACME, caller: int = ANNA, is_accepted: bool = True) -> Iterator[list[Ticket]]:
    """A thread that waits at the gate; it has a ticket as soon as it may run."""
    found: list[Ticket] = []
    before = gate.waiting
    thread = threading.Thread(target=lambda: found.append(gate.enter(storage, caller, is_accepted=is_accepted)))
    thread.start()
    while gate.waiting == before:
        time.sleep(0.001)
    yield found
    thread.join(60)
    assert not thread.is_alive()


def wait_for(found: list[Ticket]) -> Ticket:
    end = time.monotonic() + 60
    while not found:
        assert time.monotonic() < end
        time.sleep(0.001)
    return found[0]
