"""Workloads whose contenders take turns, so that a slow moment of the machine affects all of them."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from benchmarks.http_client import TimedResponse
from repository_site.core.progress import with_progress

Send = Callable[[int], TimedResponse]
"""Sends the request with this number. The number selects the element, page or filter."""

SLOW = 1.0
"""Seconds. A contender that takes longer sends one request a round."""


@dataclass
class Workload:
    title: str
    contenders: dict[str, Send]
    times: int = 20
    """Requests in a round."""
    strides: dict[str, int] = field(default_factory=dict)
    """A slow contender sends only every n-th request of a round, so that all still ask for the same."""
    seconds: dict[str, list[float]] = field(default_factory=dict)

    def warm_up(self) -> None:
        """Send requests with negative numbers, so that every measured request is new to the contender."""
        for name, send in self.contenders.items():
            for number in range(-3, 0):
                if checked(self.title, send(number)).seconds > SLOW:
                    self.strides[name] = self.times
                    break

    def run_round(self, turn: int) -> None:
        names = list(self.contenders)
        # The order rotates, so that no contender always follows the same other one.
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            measured = self.seconds.setdefault(name, [])
            for number in range(0, self.times, self.strides.get(name, 1)):
                response = self.contenders[name](turn * self.times + number)
                measured.append(checked(self.title, response).seconds)

    def median(self, name: str) -> float:
        return statistics.median(self.seconds[name])

    def percentile(self, name: str, percent: int) -> float:
        times = sorted(self.seconds[name])
        return times[min(len(times) - 1, percent * len(times) // 100)]

    def ratio(self, name: str, to: str) -> float:
        return self.median(name) / self.median(to)


def checked(title: str, response: TimedResponse) -> TimedResponse:
    if response.status != 200:
        raise SystemExit(f"error: {title}: status {response.status}: {response.body[:500]!r}")
    return response


def measure(title: str, workloads: Sequence[Workload], rounds: int) -> None:
    for workload in workloads:
        workload.warm_up()
    for turn in with_progress(range(rounds), title, rounds):
        for workload in workloads:
            workload.run_round(turn)
