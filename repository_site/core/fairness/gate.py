"""The gate of a worker process: who runs now, and who waits (D195).

It has a place for each database connection. A storage that is alone can use all places but one. While others are
active, it gets half of them; with its budget used up, it gets one. Waiting requests of the storage with the fewest
running requests come first.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from repository_site.core.environment import Rate
from repository_site.core.fairness.budgets import Budget
from repository_site.core.fairness.cost import spent
from repository_site.core.fairness.presence import Presence
from repository_site.core.fairness.shares import Shares
from repository_site.core.problems import TooManyRequests

# Seconds that a request waits for a place before it is refused.
PATIENCE = 5.0
# A batch of a stream cannot be refused. After this many seconds it runs without a place.
PATIENCE_OF_BATCHES = 20.0
# Requests that wait at the same time; each occupies a thread.
WAITING_AT_ONCE = 384
CROWDED = "Too many requests for this storage are waiting; try again in {wait}, with fewer requests at once."
OVER_BUDGET = (
    "This storage or caller uses more than its share of the server while others need theirs; try again in {wait},"
    " with fewer or cheaper requests at once."
)

T = TypeVar("T")
Who = tuple[str, int]
"""A storage and a caller."""


@dataclass(slots=True, eq=False)
class Ticket:
    """A request, or a batch of a stream, that runs or waits to run."""

    who: Who
    needs_connection: bool = True
    runs: bool = False
    is_limited: bool = False
    """Whether the budget was used up while others were active, when it began to run."""
    came_in: threading.Lock | None = None
    """Released by the thread that admits a waiting ticket."""

    @property
    def storage(self) -> str:
        return self.who[0]


@dataclass(slots=True)
class Tallies:
    """Numbers for the metrics, since they were taken last."""

    refused: Counter[str] = field(default_factory=Counter)
    """Refusals by reason."""
    seconds: dict[str, float] = field(default_factory=dict)
    """Cost by storage."""


class Gate:
    def __init__(self, places: int, of_storage: Rate | None, of_caller: Rate | None, presence: Presence) -> None:
        self.places = places
        self.presence = presence
        self.storages, self.callers = Budget(of_storage), Budget(of_caller)
        self.tallies = Tallies()
        self._lock = threading.Lock()
        self._connections = 0
        self._running: dict[str, int] = {}
        self._running_callers: dict[Who, int] = {}
        self._limited = 0
        # Waiting tickets by storage and caller, in the order of their arrival; batches of streams come first.
        self._queues: dict[str, dict[int, deque[Ticket]]] = {}
        self._batches: dict[str, deque[Ticket]] = {}
        self._threads = Shares(WAITING_AT_ONCE)

    @property
    def waiting(self) -> int:
        return self._threads.taken

    def enter(self, storage: str, caller: int) -> Ticket:
        """Return the ticket of a request that may run now. Raise TooManyRequests if it would have to wait too long."""
        ticket = Ticket((storage, caller))
        self.presence.note(storage, caller)
        with self._lock:
            if storage not in self._queues and self._can_run(ticket):
                self._run(ticket)
                return ticket
            self._wait_in_line(ticket)
        try:
            self._await(ticket, PATIENCE)
        finally:
            self._threads.give_back(storage)
        return ticket

    def leave(self, ticket: Ticket, cost: float) -> None:
        """End a ticket, charge its cost, and let others run."""
        who = ticket.who
        storage = who[0]
        with self._lock:
            seconds = self.tallies.seconds
            self.storages.charge(storage, cost)
            self.callers.charge(who, cost)
            seconds[storage] = seconds.get(storage, 0.0) + cost
            if ticket.runs:
                ticket.runs = False
                self._connections -= ticket.needs_connection
                self._limited -= ticket.is_limited
                _lower(self._running, storage)
                _lower(self._running_callers, who)
            if self._queues or self._batches:
                self._admit()

    @contextmanager
    def batch(self, storage: str, caller: int) -> Iterator[None]:
        """Run a batch of a stream, which holds its connection anyway, in a place of its storage."""
        ticket = Ticket((storage, caller), needs_connection=False)
        self.presence.note(storage, caller)
        with self._lock:
            if self._can_run(ticket):
                self._run(ticket)
            else:
                ticket.came_in = threading.Lock()
                ticket.came_in.acquire()
                self._batches.setdefault(storage, deque()).append(ticket)
        if ticket.came_in is not None and not ticket.came_in.acquire(timeout=PATIENCE_OF_BATCHES):
            self._leave_line(ticket)
        before = spent()
        try:
            yield
        finally:
            self.leave(ticket, spent() - before)

    def hold_connection(self) -> None:
        """Note that a stream keeps its connection after its request has ended."""
        with self._lock:
            self._connections += 1

    def release_connection(self) -> None:
        with self._lock:
            self._connections -= 1
            if self._queues or self._batches:
                self._admit()

    def part_left(self, ticket: Ticket) -> float:
        """Return how much of its budget a request may use, from 0 to 1; all of it while others need nothing."""
        with self._lock:
            if self.presence.has_other_storages(ticket.storage):
                return min(self.callers.part_left(ticket.who), self.storages.part_left(ticket.storage))
            return self.callers.part_left(ticket.who) if self.presence.has_other_callers(*ticket.who) else 1.0

    def take_tallies(self) -> Tallies:
        """Return the numbers since the last call."""
        with self._lock:
            taken, self.tallies = self.tallies, Tallies()
        return taken

    def refuse(self, reason: str, text: str, who: Who) -> TooManyRequests:
        """Return the refusal, with the seconds until its debt is paid."""
        self.tallies.refused[reason] += 1
        wait = max(2, self.storages.seconds_in_debt(who[0]), self.callers.seconds_in_debt(who))
        return TooManyRequests(text.format(wait=f"{wait} seconds"), wait)

    def _wait_in_line(self, ticket: Ticket) -> None:
        storage, caller = ticket.who
        queues = self._queues.get(storage, {})
        waiting = len(queues.get(caller, ()))
        # Some threads are left for other callers of the storage.
        is_crowded = 8 * waiting >= 3 * (self._threads.total - self._threads.taken + waiting)
        if is_crowded or not self._threads.take(storage):
            raise self.refuse("crowded", CROWDED, ticket.who)
        ticket.came_in = threading.Lock()
        ticket.came_in.acquire()
        self._queues.setdefault(storage, queues).setdefault(caller, deque()).append(ticket)
        # Others may have become quiet since the last request ended.
        self._admit()

    def _await(self, ticket: Ticket, seconds: float) -> None:
        assert ticket.came_in is not None  # noqa: S101  set by _wait_in_line
        if not ticket.came_in.acquire(timeout=seconds) and not self._leave_line(ticket):
            raise self.refuse("late", OVER_BUDGET, ticket.who)

    def _leave_line(self, ticket: Ticket) -> bool:
        """Take a ticket out of its queue, and return whether it has been admitted at the last moment."""
        with self._lock:
            if ticket.runs:
                return True
            storage, caller = ticket.who
            (self._queues[storage][caller] if ticket.needs_connection else self._batches[storage]).remove(ticket)
            self._drop_empty(ticket)
            return False

    def _drop_empty(self, ticket: Ticket) -> None:
        storage, caller = ticket.who
        if not ticket.needs_connection:
            if not self._batches[storage]:
                del self._batches[storage]
        elif not self._queues[storage][caller]:
            del self._queues[storage][caller]
            if not self._queues[storage]:
                del self._queues[storage]

    def _has_others(self, ticket: Ticket) -> bool:
        """Return whether other storages, or other callers of this storage, are active."""
        return self.presence.has_other_storages(ticket.storage) or self.presence.has_other_callers(*ticket.who)

    def _can_run(self, ticket: Ticket) -> bool:
        if ticket.needs_connection and self._connections >= self.places:
            return False
        storage, has_others = ticket.who[0], self.presence.has_other_storages
        running = self._running.get(storage, 0)
        if not running:
            # Its first place; but all that are over their budgets have half of the places together.
            ticket.is_limited = self.storages.level(storage) < 0 and has_others(storage)
            return not ticket.is_limited or self._limited < max(1, self.places // 2)
        ticket.is_limited = False
        if running >= max(1, self.places - 1):
            return False
        is_over_budget = running >= max(1, self.places // 2) or self.storages.level(storage) < 0
        if is_over_budget and has_others(storage):
            return False
        is_over_budget = ticket.who in self._running_callers and self.callers.level(ticket.who) < 0
        return not (is_over_budget and self._has_others(ticket))

    def _run(self, ticket: Ticket) -> None:
        ticket.runs = True
        self._connections += ticket.needs_connection
        self._limited += ticket.is_limited
        who = ticket.who
        self._running[who[0]] = self._running.get(who[0], 0) + 1
        self._running_callers[who] = self._running_callers.get(who, 0) + 1

    def _admit(self) -> None:
        """Let waiting tickets run, as long as one may. The caller has the lock."""
        while (found := self._next()) is not None:
            self._run(found)
            assert found.came_in is not None  # noqa: S101  it waits
            found.came_in.release()

    def _next(self) -> Ticket | None:
        """Take the next ticket out of its queue: of the storage with the fewest running, then with the most budget."""
        waiting = {*self._queues, *self._batches}
        for storage in sorted(waiting, key=lambda each: (self._running.get(each, 0), -self.storages.level(each))):
            for queue in self._queues_of(storage):
                if self._can_run(queue[0]):
                    found = queue.popleft()
                    self._drop_empty(found)
                    return found
        return None

    def _queues_of(self, storage: str) -> list[deque[Ticket]]:
        """Return the queues of a storage: batches, then the caller with the fewest running, then the most budget."""
        queues = self._queues.get(storage, {})

        def order(caller: int) -> tuple[int, float]:
            who = storage, caller
            return self._running_callers.get(who, 0), -self.callers.level(who)

        first = [self._batches[storage]] if storage in self._batches else []
        return first + [queues[caller] for caller in sorted(queues, key=order)]


def _lower(counts: dict[T, int], key: T) -> None:
    """Subtract one, and forget a count of zero."""
    count = counts[key] - 1
    if count:
        counts[key] = count
    else:
        del counts[key]
