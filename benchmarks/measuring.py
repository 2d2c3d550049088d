"""Requests that are timed in turns: whatever slows the machine for a moment slows all who are compared."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from benchmarks.client import Reply

Send = Callable[[int], Reply]
"""Sends the request with this number; the number chooses among elements, pages and so on."""

SLOW = 1.0
"""Seconds; whoever takes longer is asked once a round."""


@dataclass(frozen=True, slots=True)
class Figures:
    """Of one series of times, in seconds."""

    times: Sequence[float]

    @property
    def median(self) -> float:
        return statistics.median(self.times)

    @property
    def low(self) -> float:
        return self.at(0.1)

    @property
    def high(self) -> float:
        return self.at(0.9)

    @property
    def p99(self) -> float:
        return self.at(0.99)

    def at(self, part: float) -> float:
        return sorted(self.times)[min(len(self.times) - 1, int(part * len(self.times)))]


@dataclass
class Work:
    """The same work, done by each of some contenders."""

    title: str
    contenders: dict[str, Send]
    times: int = 20
    """How often in a round; contenders that are slow do it less often, see `slowness`."""
    slowness: dict[str, int] = field(default_factory=dict)
    measured: dict[str, list[float]] = field(default_factory=dict)

    def warm(self, times: int = 3) -> None:
        """With other numbers than those that are measured: what these ask for is to be new."""
        for name, send in self.contenders.items():
            for number in range(-times, 0):
                reply = send(number)
                check(self.title, reply)
                if reply.seconds > SLOW:
                    self.slowness[name] = self.times
                    break

    def run(self, turn: int) -> None:
        names = list(self.contenders)
        # Nobody always follows the same other one.
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            found = self.measured.setdefault(name, [])
            # Who does it less often passes over some of the numbers, so that all are asked for the same.
            for number in range(0, self.times, min(self.times, self.slowness.get(name, 1))):
                reply = self.contenders[name](turn * self.times + number)
                check(self.title, reply)
                found.append(reply.seconds)

    def figures(self, name: str) -> Figures:
        return Figures(self.measured[name])

    def ratio(self, name: str, to: str) -> float:
        return self.figures(name).median / self.figures(to).median


def check(title: str, reply: Reply) -> None:
    if reply.status != 200:
        raise SystemExit(f"error: {title}: status {reply.status}: {reply.body[:500]!r}")


def in_turns(works: Iterable[Work], rounds: int, step: Callable[[], None]) -> None:
    works = list(works)
    for work in works:
        work.warm()
    for turn in range(rounds):
        for work in works:
            work.run(turn)
            step()
