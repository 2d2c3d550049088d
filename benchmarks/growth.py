"""How times grow: with the elements of a storage, and with the storages of an installation."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks import report
from benchmarks.client import Reply
from benchmarks.filters import FILTERS, PAGE, WIDE_FILTERS, Filters
from benchmarks.installation import Installation, Server
from benchmarks.measuring import Work, check
from benchmarks.memory import resident
from benchmarks.report import Bar
from benchmarks.run import Run
from benchmarks.site import ELEMENTS, Site, StorageClient, storage_key

Call = Callable[[StorageClient, int], Reply]
ELEMENTS_EACH = 1_000
"""Where there are many storages."""
STEADY = ("name -eq", "StartsWith", "-in", "date range")
"""Filters that find the same number of elements in a storage of any size."""
PLAIN_PAGE, HALF_WAY = "W1 list of 100", "W4 page half-way"


def make_sizes(run: Run) -> None:
    for count in run.scale.sizes:
        run.installation.sample(storage_key(count), count, run.task(f"A storage of {count:,}", count))


def measure_sizes(run: Run, site: Site) -> None:
    clients = {count: site.client_of(storage_key(count)) for count in (ELEMENTS, *run.scale.sizes)}
    for storage in clients.values():
        check_filters(storage, site.installation.names)
    works = {
        title: Work(title, {label(count): _bound(call, clients[count]) for count in clients}, times=3)
        for title, call in calls(site.installation.names).items()
    }
    run.turns("Growth of a storage", list(works.values()), run.scale.growth_rounds)
    text = "Elements in one storage; the first column in milliseconds, the others as ratios to it.\n\n"
    run.sections.append(("Growth of a storage", text + report.growth_table(medians(works.values()))))
    run.bars += bars_of_sizes(works, list(clients))


def bars_of_sizes(works: Mapping[str, Work], sizes: Sequence[int]) -> list[Bar]:
    smallest, larger, largest = label(sizes[0]), label(sizes[1]), label(sizes[-1])

    def median(title: str, size: str) -> float:
        return works[title].figures(size).median

    half_way = median(HALF_WAY, largest) / median(PLAIN_PAGE, largest)
    contains = median("W5 Contains", larger) / median(PLAIN_PAGE, larger)
    return [
        Bar(f"W4 page {_half_way(sizes[-1]):,} of {largest} elements, times page 1", half_way, 3),
        *(
            Bar(f"W5 {name} at {largest}, times that at {smallest}", works[f"W5 {name}"].ratio(largest, smallest), 3)
            for name in STEADY
        ),
        Bar(f"W5 Contains at {larger}, times a plain page", contains, 20),
    ]


def calls(names: Sequence[str]) -> dict[str, Call]:
    def filtered(kind: Callable[[Filters, int], str]) -> Call:
        return lambda storage, number: storage.filtered(kind(Filters(names, storage.elements), number))

    def always(written: str) -> Call:
        return lambda storage, number: storage.filtered(written)

    return {
        PLAIN_PAGE: lambda storage, number: storage.page(),
        "W2 one element": lambda storage, number: storage.one(number * 7_919),
        HALF_WAY: lambda storage, number: storage.page(_half_way(storage.elements)),
        "W4 last page": lambda storage, number: storage.page(storage.elements // PAGE),
        **{f"W5 {title}": filtered(kind) for title, kind in FILTERS.items()},
        **{f"W5 {title}, asked again": always(written) for title, written in WIDE_FILTERS.items()},
    }


def check_filters(storage: StorageClient, names: Sequence[str]) -> None:
    """They find what they are meant to find; a filter that finds nothing is quick and says nothing."""
    filters = Filters(names, storage.elements)
    expected = {"name -eq": range(1, 2), "-in": range(3, 4), "date range": range(PAGE, PAGE + 1)}
    for title, kind in FILTERS.items():
        reply = storage.filtered(kind(filters, -1))
        check(title, reply)
        found = int(reply.header("X-Total-Count") or 0)
        if found not in expected.get(title, range(1, storage.elements)):
            raise SystemExit(f"error: {title} finds {found} elements in {storage.key}, which is not what it should")


def medians(works: Iterable[Work]) -> dict[str, dict[str, float]]:
    return {work.title: {name: work.figures(name).median for name in work.measured} for work in works}


@dataclass
class Crowd:
    """An installation of some storages, all alike, that are asked in turn on one connection and so by one worker."""

    installation: Installation
    count: int
    server: Server = field(init=False)
    storages: list[StorageClient] = field(init=False)
    first: list[float] = field(default_factory=list)
    """How long the first request of each storage took."""

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

    def warm(self, run: Run) -> None:
        step = run.task(f"First requests of {self.count:,}", self.count)
        for storage in self.storages:
            reply = storage.page()
            check("first request", reply)
            self.first.append(reply.seconds)
            step(1)

    @property
    def first_request(self) -> str:
        return f"{1000 * statistics.median(self.first):.2f}"

    def ask(self, call: Call, number: int) -> Reply:
        """Another storage with each number; all of them before any again."""
        return call(self.storages[number * 37 % self.count], number)


def make_storages(run: Run) -> None:
    for count in run.scale.storages:
        Crowd.of(run, count).make(run)


def measure_storages(run: Run) -> None:
    crowds = [Crowd.of(run, count) for count in run.scale.storages]
    try:
        for crowd in crowds:
            crowd.start()
        names = crowds[0].installation.names
        for crowd in crowds:
            crowd.warm(run)
            check_filters(crowd.storages[-1], names)
        works = [
            Work(title, {label(crowd.count): _asking(crowd, call) for crowd in crowds})
            for title, call in calls(names).items()
            if not title.endswith("asked again")
        ]
        run.turns("Growth of an installation", works, run.scale.growth_rounds)
        beyond = [[label(crowd.count), crowd.first_request, f"{resident(crowd.server):.0f}"] for crowd in crowds]
    finally:
        for crowd in crowds:
            crowd.installation.close()
    fewest, most = label(run.scale.storages[0]), label(run.scale.storages[-1])
    run.bars.append(Bar(f"W1 with {most} storages, times with {fewest}", works[0].ratio(most, fewest), 1.2))
    text = (
        f"Storages of {ELEMENTS_EACH:,} elements in one installation, each request to another of them; the first column"
        " in milliseconds, the others as ratios to it.\n\n"
    )
    head = ["storages", "first request of a storage, ms", "memory of a worker in the end, MB"]
    tables = f"{report.growth_table(medians(works))}\n{report.table(head, beyond)}"
    run.sections.append(("Growth of an installation", text + tables))


def label(count: int) -> str:
    return f"{count:,}"


def _asking(crowd: Crowd, call: Call) -> Callable[[int], Reply]:
    return lambda number: crowd.ask(call, number)


def _bound(call: Call, storage: StorageClient) -> Callable[[int], Reply]:
    return lambda number: call(storage, number)


def _half_way(elements: int) -> int:
    return elements // (2 * PAGE)
