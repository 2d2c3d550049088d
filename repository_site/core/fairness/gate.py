"""The gate of a worker process: which requests run now, and which wait (D195).

It has a place for each database connection. A storage that is alone can use all places but one. While others are
active, it gets half of them, or one if its budget is used up. Waiting requests of the storage with the fewest running
requests come first.

While the cores are saturated, few requests that have just begun run at the same time (D379): they would only take
turns at Python's lock, in an order that leaves some of them far behind.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from repository_site.core.environment.values import Rate
from repository_site.core.fairness.budgets import Budget
from repository_site.core.fairness.cost import Spending
from repository_site.core.fairness.origin import ELSEWHERE
from repository_site.core.fairness.presence import MAY_COME_BACK, WINDOW, Presence
from repository_site.core.fairness.shares import Shares
from repository_site.core.problems import Busy, TooManyRequests

# Seconds that a request waits for a place before it is refused.
PATIENCE = 5.0
# A batch of a stream cannot be refused, and its transaction must not be idle for long (`REPOSITORY_STREAM_TIMEOUT`).
# After this many seconds it runs without a place.
PATIENCE_OF_BATCHES = 5.0
# Seconds that a place of a storage over its budget stays empty after a request, at most (D201).
LONGEST_PAUSE = 0.25
# On saturated cores, this many requests that have begun within these seconds run at the same time: a request or its
# statement keeps a core busy. Older ones do not count: most of them wait for the database.
YOUNG_SECONDS = 0.1
MOST_YOUNG = 1
# All callers of a storage without an accepted credential are one part of it (D217).
UNKNOWN = "unknown"
# Requests that wait at the same time; each occupies a thread.
WAITING_AT_ONCE = 384
CROWDED = "Too many requests for this storage are waiting; try again in {wait}, with fewer requests at once."
OVER_BUDGET = (
    "This storage or caller uses more than its share while others need theirs; try again in {wait}, with fewer or"
    " cheaper requests at once."
)

T = TypeVar("T")
BUSY = "The requests before this one take too long; try again in a few seconds."

Who = tuple[str, int]
"""A storage and a caller."""


@dataclass(slots=True, eq=False)
class Ticket:
    """A request, or a batch of a stream, that runs or waits to run."""

    who: Who
    needs_connection: bool = True
    only_reads: bool = True
    """Whether its time counts while it runs. A write may only be waiting for a lock."""
    is_accepted: bool = True
    """Whether an earlier request with this credential was accepted."""
    runs: bool = False
    began: float = 0.0
    is_limited: bool = False
    """Whether the budget was used up while others were active, when it began to run."""
    came_in: threading.Lock | None = None
    """Released by the thread that admits a waiting ticket."""

    @property
    def storage(self) -> str:
        return self.who[0]

    @property
    def parts(self) -> tuple[Hashable, ...]:
        """The parts of its storage among which the waiting threads are shared."""
        return (self.who[1],) if self.is_accepted else (self.who[1], UNKNOWN)

    def stand_in(self, line: deque[Ticket]) -> None:
        self.came_in = threading.Lock()
        self.came_in.acquire()
        line.append(self)


@dataclass(slots=True)
class Tallies:
    """Numbers for the metrics, since they were taken last."""

    refused: Counter[str] = field(default_factory=Counter)
    """Refusals by reason."""
    seconds: dict[str, float] = field(default_factory=dict)
    """Cost by storage."""


class Gate:
    def __init__(
        self,
        places: int,
        of_storage: Rate | None,
        of_caller: Rate | None,
        presence: Presence,
        is_saturated: Callable[[], bool] = lambda: False,
    ) -> None:
        self.places = places
        self._is_saturated = is_saturated
        self.presence = presence
        self.storages, self.callers = Budget(of_storage), Budget(of_caller)
        self.tallies = Tallies()
        self._lock = threading.Lock()
        self._connections = 0
        self._running: dict[str, int] = {}
        # Number of running reads of a storage, and sum of the times at which they began, to know their cost so far.
        self._reads: dict[str, tuple[int, float]] = {}
        self._running_callers: dict[Who, int] = {}
        self._limited = 0
        # Running requests, without those that have turned out to be old.
        self._young: deque[Ticket] = deque()
        # Whether a ticket waits, or may wait, only because of these. It stays set until all that wait are tried again.
        self._is_held_back = False
        # Running requests of unknown callers by storage, and storages with waiting requests whose last one to begin was
        # one of these.
        self._unknown: dict[str, int] = {}
        self._turned: set[str] = set()
        # Waiting tickets by storage and caller, in the order of their arrival; batches of streams come first.
        self._queues: dict[str, dict[int, deque[Ticket]]] = {}
        self._batches: dict[str, deque[Ticket]] = {}
        self._threads = Shares(WAITING_AT_ONCE)

    @property
    def waiting(self) -> int:
        return self._threads.taken

    def enter(self, storage: str, caller: int, only_reads: bool = True, is_accepted: bool = True) -> Ticket:
        """Return the ticket of a request that may run now. Raise TooManyRequests or Busy if it would wait too long."""
        ticket = Ticket((storage, caller), only_reads=only_reads, is_accepted=is_accepted)
        self.presence.note(storage, caller, is_accepted)
        with self._lock:
            if self._is_held_back:
                # Those that were young may be old by now. Who waits comes before who has just arrived.
                self._admit()
            if storage not in self._queues and self._can_run(ticket):
                self._run(ticket)
                return ticket
            self._wait_in_line(ticket)
        try:
            self._await(ticket, PATIENCE)
        finally:
            self._threads.give_back(storage, *ticket.parts)
        return ticket

    def leave(self, ticket: Ticket, cost: float, payer: Who | None = None) -> None:
        """End a ticket, charge its cost to it or to another payer, and let others run."""
        who = ticket.who
        storage = who[0]
        if ticket.needs_connection and self._uses_too_much(ticket):
            with self._lock:
                # It needs no core while it pauses.
                self._forget_young(ticket)
                if self._is_held_back:
                    self._admit()
            # Its place stays taken as long as it has worked, so that the others have at least half of the time.
            time.sleep(min(cost, LONGEST_PAUSE))
        paying, payer = (payer or who)[0], payer or who
        with self._lock:
            seconds = self.tallies.seconds
            self.storages.charge(paying, cost)
            self.callers.charge(payer, cost)
            self.presence.charge(paying, cost)
            seconds[paying] = seconds.get(paying, 0.0) + cost
            if ticket.runs:
                ticket.runs = False
                self._connections -= ticket.needs_connection
                self._limited -= ticket.is_limited
                self._forget_young(ticket)
                _lower(self._running, storage)
                if not ticket.is_accepted:
                    _lower(self._unknown, storage)
                if ticket.only_reads:
                    self._count_read(ticket, -1)
                _lower(self._running_callers, who)
            if self._queues or self._batches:
                self._admit()

    @contextmanager
    def batch(self, storage: str, caller: int, is_accepted: bool = True) -> Iterator[None]:
        """Run a batch of a stream, which holds its connection anyway, in a place of its storage."""
        ticket = Ticket((storage, caller), needs_connection=False)
        self.presence.note(storage, caller, is_accepted)
        with self._lock:
            if self._can_run(ticket):
                self._run(ticket)
            else:
                ticket.stand_in(self._batches.setdefault(storage, deque()))
        if ticket.came_in is not None and not ticket.came_in.acquire(timeout=PATIENCE_OF_BATCHES):
            self._leave_line(ticket)
        spending = Spending()
        try:
            yield
        finally:
            self.leave(ticket, spending.cost(ticket.only_reads))

    def hold_connection(self) -> None:
        """Note that a stream keeps its connection after its request has ended."""
        with self._lock:
            self._connections += 1

    def release_connection(self) -> None:
        with self._lock:
            self._connections -= 1
            if self._queues or self._batches:
                self._admit()

    def begin_read(self, ticket: Ticket) -> float:
        """Note that a request only reads, and return the part of its budget that it may use, from 0 to 1: the running
        ones share what is left.

        All of it, if nobody else was active recently: what begins now still runs when others come back.
        """
        who, recently = ticket.who, MAY_COME_BACK
        with self._lock:
            if not ticket.only_reads:
                ticket.only_reads = True
                if ticket.runs:
                    self._count_read(ticket, 1)
            if self.has_other_storages(who[0], recently) and self.presence.takes_most(who[0]):
                return self.storages.part_left(who[0]) / max(1, self._running.get(who[0], 0))
            if self.presence.has_other_callers(*who, recently):
                return self.callers.part_left(who) / max(1, self._running_callers.get(who, 0))
            return 1.0

    def has_other_storages(self, storage: str, within: float = WINDOW) -> bool:
        """Return whether other storages are active. What is elsewhere counts only while it runs or waits here."""
        if self.presence.has_other_storages(storage, within):
            return True
        return storage != ELSEWHERE and (ELSEWHERE in self._running or ELSEWHERE in self._queues)

    def take_tallies(self) -> Tallies:
        """Return the numbers since the last call."""
        with self._lock:
            taken, self.tallies = self.tallies, Tallies()
        return taken

    def refuse(self, reason: str, text: str, who: Who, at_least: int = 2) -> TooManyRequests:
        """Return the refusal, with the seconds until its debt is paid."""
        self.tallies.refused[reason] += 1
        wait = max(at_least, self.storages.seconds_in_debt(who[0]), self.callers.seconds_in_debt(who))
        return TooManyRequests(text.format(wait=f"{wait} seconds"), wait)

    def _wait_in_line(self, ticket: Ticket) -> None:
        storage, caller = ticket.who
        queues = self._queues.get(storage, {})
        if not self._threads.take(storage, *ticket.parts):
            raise self.refuse("crowded", CROWDED, ticket.who)
        ticket.stand_in(self._queues.setdefault(storage, queues).setdefault(caller, deque()))
        # Others may have become quiet since the last request ended.
        self._admit()

    def _await(self, ticket: Ticket, seconds: float) -> None:
        assert ticket.came_in is not None  # noqa: S101  set by _wait_in_line
        while seconds > 0:
            if ticket.came_in.acquire(timeout=min(seconds, YOUNG_SECONDS)):
                return
            seconds -= YOUNG_SECONDS
            with self._lock:
                # Those that were young may be old by now.
                if self._is_held_back:
                    self._admit()
        if self._leave_line(ticket):
            return
        if self._uses_too_much(ticket):
            raise self.refuse("late", OVER_BUDGET, ticket.who)
        # It takes nothing from others: its own requests are slow, or wait for locks or for the database.
        self.tallies.refused["busy"] += 1
        raise Busy(BUSY, retry_after=2)

    def _uses_too_much(self, ticket: Ticket) -> bool:
        """Return whether a storage or caller is over its budget while others are active."""
        with self._lock:
            if self.storages.level(ticket.storage) < 0 and self._disturbs(ticket.storage):
                return True
            return self.callers.level(ticket.who) < 0 and self.presence.has_other_callers(*ticket.who)

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
                self._turned.discard(storage)

    def _can_run(self, ticket: Ticket) -> bool:
        if ticket.needs_connection and (self._connections >= self.places or self._are_enough_young()):
            return False
        storage = ticket.who[0]
        running = self._running.get(storage, 0)
        is_over_budget = self._level(storage) < 0
        if not running:
            # Its first place; but all that are over their budgets have half of the places together.
            ticket.is_limited = is_over_budget and self._disturbs(storage)
            return not ticket.is_limited or self._limited < max(1, self.places // 2)
        ticket.is_limited = False
        most = self._most(storage, is_over_budget)
        if running >= most or (not ticket.is_accepted and self._is_kept_free(storage, most)):
            return False
        if ticket.who in self._running_callers and self.callers.level(ticket.who) < 0:
            return not self.presence.has_other_callers(*ticket.who)
        return True

    def _are_enough_young(self) -> bool:
        limit = time.monotonic() - YOUNG_SECONDS
        while self._young and self._young[0].began < limit:
            self._young.popleft()
        if len(self._young) < MOST_YOUNG or not self._is_saturated():
            return False
        self._is_held_back = True
        return True

    def _forget_young(self, ticket: Ticket) -> None:
        if ticket in self._young:
            self._young.remove(ticket)

    def _is_kept_free(self, storage: str, most: int) -> bool:
        """Return whether unknown callers have their part of the places, and others of the storage are active."""
        return self._unknown.get(storage, 0) >= max(1, 3 * most // 4) and self.presence.has_accepted_callers(storage)

    def _disturbs(self, storage: str) -> bool:
        """Return whether other storages are active that take less."""
        return self.has_other_storages(storage) and self.presence.takes_most(storage)

    def _level(self, storage: str) -> float:
        """Return what is left of the budget, less what the running reads have cost so far."""
        reads, began = self._reads.get(storage, (0, 0.0))
        return self.storages.level(storage) - (reads * time.monotonic() - began)

    def _count_read(self, ticket: Ticket, change: int) -> None:
        reads, began = self._reads.pop(ticket.storage, (0, 0.0))
        if reads + change:
            self._reads[ticket.storage] = reads + change, began + change * ticket.began

    def _most(self, storage: str, is_over_budget: bool) -> int:
        """Return the number of places that a storage can use."""
        if self.has_other_storages(storage):
            return 1 if is_over_budget and self.presence.takes_most(storage) else max(1, self.places // 2)
        return max(1, self.places - 1)

    def _run(self, ticket: Ticket) -> None:
        ticket.runs = True
        self._connections += ticket.needs_connection
        self._limited += ticket.is_limited
        who, ticket.began = ticket.who, time.monotonic()
        if ticket.needs_connection:
            self._young.append(ticket)
        self._running[who[0]] = self._running.get(who[0], 0) + 1
        if not ticket.is_accepted:
            self._unknown[who[0]] = self._unknown.get(who[0], 0) + 1
        if who[0] in self._queues:
            (self._turned.discard if ticket.is_accepted else self._turned.add)(who[0])
        if ticket.only_reads:
            self._count_read(ticket, 1)
        self._running_callers[who] = self._running_callers.get(who, 0) + 1

    def _admit(self) -> None:
        """Let waiting tickets run, as long as one may. The caller has the lock."""
        self._is_held_back = False
        while (found := self._next()) is not None:
            self._run(found)
            assert found.came_in is not None  # noqa: S101  it waits
            found.came_in.release()

    def _next(self) -> Ticket | None:
        """Take the next ticket out of its queue: of the storage with the fewest running, then with the most budget."""
        # Batches need no connection.
        waiting = set(self._batches) if self._are_enough_young() else {*self._queues, *self._batches}
        for storage in sorted(waiting, key=lambda each: (self._running.get(each, 0), -self.storages.level(each))):
            for queue in self._queues_of(storage):
                if self._can_run(queue[0]):
                    found = queue.popleft()
                    self._drop_empty(found)
                    return found
        return None

    def _queues_of(self, storage: str) -> list[deque[Ticket]]:
        """Return the queues of a storage: batches, then the caller with the fewest running, then the most budget.

        After an unknown caller it is the turn of accepted ones: unknown callers could come from any number of networks.
        """
        queues = self._queues.get(storage, {})
        is_turned = storage in self._turned

        def order(caller: int) -> tuple[bool, int, float]:
            who = storage, caller
            is_later = is_turned and not queues[caller][0].is_accepted
            return is_later, self._running_callers.get(who, 0), -self.callers.level(who)

        first = [self._batches[storage]] if storage in self._batches else []
        return first + [queues[caller] for caller in sorted(queues, key=order)]


def _lower(counts: dict[T, int], key: T) -> None:
    """Subtract one, and forget a count of zero."""
    if counts[key] > 1:
        counts[key] -= 1
    else:
        del counts[key]
