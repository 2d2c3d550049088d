"""How times grow with the elements of a storage.

Each size is in an installation of its own: in the same tables a large storage makes a small one slower, too, which
would hide how slow it is itself. How much slower is measured as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from benchmarks import report
from benchmarks.client import Reply
from benchmarks.growth import HALF_WAY, PLAIN_PAGE, Call, calls, check_filters, half_way, label, medians, wide_calls
from benchmarks.installation import Installation, Server
from benchmarks.measuring import Work, check
from benchmarks.memory import watched
from benchmarks.report import Bar
from benchmarks.run import Run
from benchmarks.site import ELEMENTS, Site, StorageClient, storage_key

STEADY = ("name -eq", "StartsWith", "-in", "date range")
"""Filters that find as many elements in a storage of any size."""
WHOLE_LISTS = 3
# Ten times as many elements are some 400 MB more of JSON. A service that keeps what it has sent would be seen at once;
# what is allowed is what an allocator keeps of batches of different sizes.
MOST_FOR_LONGER_LISTS = 20


def installation_of(run: Run, count: int) -> Installation:
    return run.installation if count == ELEMENTS else Installation(run.folder / f"size-{count}")


def make_sizes(run: Run) -> None:
    for count in run.scale.sizes:
        step = run.task(f"A storage of {count:,}", count)
        installation = installation_of(run, count)
        installation.prepare()
        installation.sample(storage_key(ELEMENTS), ELEMENTS)
        installation.sample(storage_key(count), count, step)
        installation.tokens()
        installation.settle()


def client_of(installation: Installation, server: Server, count: int) -> StorageClient:
    key = storage_key(count)
    return StorageClient(server.client(installation.tokens()[key]), key, count)


def measure_sizes(run: Run, site: Site) -> None:
    clients = {label(ELEMENTS): site.storage}
    installations = {count: installation_of(run, count) for count in run.scale.sizes}
    names, largest = run.installation.names, run.scale.sizes[-1]
    try:
        servers = {count: installation.serve() for count, installation in installations.items()}
        for count, server in servers.items():
            installations[count].warm()
            clients[label(count)] = client_of(installations[count], server, count)
        beside = client_of(installations[largest], servers[largest], ELEMENTS)
        clients[f"{label(ELEMENTS)} beside {label(largest)}"] = beside
        for storage in clients.values():
            check_filters(storage, names)
        works = {
            title: Work(title, {name: _bound(call, storage) for name, storage in clients.items()}, times=3)
            for title, call in (calls(names) | wide_calls()).items()
        }
        run.turns("Growth of a storage", list(works.values()), run.scale.growth_rounds)
    finally:
        for installation in installations.values():
            installation.close()
    text = (
        "Elements in one storage, each in an installation of its own; the first column in milliseconds, the others as"
        " ratios to it. The last one is a small storage in the same tables as a large one.\n\n"
    )
    run.sections.append(("Growth of a storage", text + report.growth_table(medians(works.values()))))
    run.bars += bars_of_sizes(works, (ELEMENTS, *run.scale.sizes))


def bars_of_sizes(works: Mapping[str, Work], sizes: Sequence[int]) -> list[Bar]:
    smallest, larger, largest = label(sizes[0]), label(sizes[1]), label(sizes[-1])

    def median(title: str, size: str) -> float:
        return works[title].figures(size).median

    later_page = median(HALF_WAY, largest) / median(PLAIN_PAGE, largest)
    contains = median("W5 Contains", larger) / median(PLAIN_PAGE, larger)
    return [
        Bar(f"W4 page {half_way(sizes[-1]):,} of {largest} elements, times page 1", later_page, 3),
        *(
            Bar(f"W5 {name} at {largest}, times that at {smallest}", works[f"W5 {name}"].ratio(largest, smallest), 3)
            for name in STEADY
        ),
        Bar(f"W5 Contains at {larger}, times a plain page", contains, 20),
    ]


def measure_whole_lists(run: Run) -> None:
    """W7: the memory of a worker does not depend on the length of a list."""
    sizes = (ELEMENTS, run.scale.sizes[0])
    step = run.task("Memory of whole lists", len(sizes) * WHOLE_LISTS)
    peaks: list[float] = []
    for size in sizes:
        # A server for each: what one list has left in memory would hide what the other takes.
        installation = installation_of(run, size)
        server = installation.serve()
        storage = client_of(installation, server, size)
        for number in range(100):
            check("memory of whole lists", storage.one(number))
        with watched(server) as peak:
            for _ in range(WHOLE_LISTS):
                check("memory of whole lists", storage.whole_list(keeps=False))
                step(1)
        server.stop()
        peaks.append(peak.megabytes)
    small, large = map(label, sizes)
    title = f"W7 memory of a worker for {large} elements, more than for {small}"
    run.bars.append(Bar(title, peaks[1] - peaks[0], MOST_FOR_LONGER_LISTS, unit=" MB"))
    text = f"W7, the whole list: at most {peaks[0]:.0f} MB with {small} elements, {peaks[1]:.0f} MB with {large}.\n"
    run.sections.append(("Memory of a worker", text))


def _bound(call: Call, storage: StorageClient) -> Callable[[int], Reply]:
    return lambda number: call(storage, number)
