"""How times grow with the storages of an installation."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass, field

from benchmarks import report
from benchmarks.client import Reply
from benchmarks.growth import PLAIN_PAGE, Call, calls, check_filters, label, medians
from benchmarks.installation import Installation, Server
from benchmarks.measuring import Work, check
from benchmarks.memory import resident
from benchmarks.report import Bar
from benchmarks.run import Run
from benchmarks.site import StorageClient

ELEMENTS_EACH = 1_000
# Without a factor in common with the number of storages.
STRIDE = 617


@dataclass
class Crowd:
    """An installation of some storages, all alike, that are asked in turn on one connection and so by one worker."""

    installation: Installation
    count: int
    server: Server = field(init=False)
    storages: list[StorageClient] = field(init=False)
    first: list[float] = field(default_factory=list)
    """How long the first request of each storage took."""
    asked: int = 0

    @classmethod
    def of(cls, run: Run, count: int) -> Crowd:
        return cls(Installation(run.folder / f"storages-{count}"), count)

    @property
    def keys(self) -> list[str]:
        return [f"s{number:04}" for number in range(self.count)]

    def make(self, run: Run) -> None:
        step = run.task(f"Storages: {self.count:,}", self.count)
        self.installation.prepare()
        source = self.installation.sample(self.keys[0], ELEMENTS_EACH)
        self.installation.copies(source, self.keys, step)
        self.installation.tokens()
        self.installation.settle()

    def start(self) -> None:
        tokens = self.installation.tokens()
        self.server = self.installation.serve()
        client = self.server.client()
        self.storages = [StorageClient(client.called_by(tokens[key]), key, ELEMENTS_EACH) for key in self.keys]

    def warm(self) -> None:
        is_first = self.asked < self.count
        reply = self.ask(lambda storage, number: storage.page(), 0)
        check("first request", reply)
        if is_first:
            self.first.append(reply.seconds)

    @property
    def first_request(self) -> str:
        return f"{1000 * statistics.median(self.first):.2f}"

    def ask(self, call: Call, number: int) -> Reply:
        """Another storage with each request, whatever it is about; all of them before any again."""
        storage = self.storages[self.asked % self.count]
        self.asked += 1
        return call(storage, number)

    def ask_for_a_while(self, call: Call, number: int) -> Reply:
        """As clients do: one storage a round, the next round another one."""
        return call(self.storages[number // Work.times * STRIDE % self.count], number)


def make_storages(run: Run) -> None:
    for count in run.scale.storages:
        Crowd.of(run, count).make(run)


def measure_storages(run: Run) -> None:
    crowds = [Crowd.of(run, count) for count in run.scale.storages]
    try:
        for crowd in crowds:
            crowd.start()
        names = crowds[0].installation.names
        step = run.task("First requests", run.scale.storages[-1])
        for _ in range(run.scale.storages[-1]):
            # All of them: the server would close a connection on which nothing is asked for long.
            for crowd in crowds:
                crowd.warm()
            step(1)
        for crowd in crowds:
            check_filters(crowd.storages[-1], names)
        called = calls(names)
        works = [
            *(
                Work(title, {label(each.count): _asking(each, call) for each in crowds})
                for title, call in called.items()
            ),
            Work(
                f"{PLAIN_PAGE}, another storage each",
                {label(each.count): _wandering(each, called[PLAIN_PAGE]) for each in crowds},
            ),
        ]
        run.turns("Growth of an installation", works, run.scale.growth_rounds)
        beyond = [[label(crowd.count), crowd.first_request, f"{resident(crowd.server):.0f}"] for crowd in crowds]
    finally:
        for crowd in crowds:
            crowd.installation.close()
    fewest, most = label(run.scale.storages[0]), label(run.scale.storages[-1])
    run.bars.append(Bar(f"W1 with {most} storages, times with {fewest}", works[0].ratio(most, fewest), 1.2))
    text = (
        f"Storages of {ELEMENTS_EACH:,} elements in one installation; the first column in milliseconds, the others as"
        " ratios to it. One storage is asked for a while, then another one; in the last row another one with each"
        " request, so that nothing of it is at hand in any cache.\n\n"
    )
    head = ["storages", "first request of a storage, ms", "memory of a worker in the end, MB"]
    tables = f"{report.growth_table(medians(works))}\n{report.table(head, beyond)}"
    run.sections.append(("Growth of an installation", text + tables))


def _asking(crowd: Crowd, call: Call) -> Callable[[int], Reply]:
    return lambda number: crowd.ask_for_a_while(call, number)


def _wandering(crowd: Crowd, call: Call) -> Callable[[int], Reply]:
    return lambda number: crowd.ask(call, number)
