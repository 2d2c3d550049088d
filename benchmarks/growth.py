"""Growth of response times with the elements of a storage and with the storages of an installation.

Each size has an installation of its own: in shared tables a large storage also slows down a small one, which would hide
how slow the large one is. The benchmark measures that effect as well.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from functools import partial
from itertools import cycle

from benchmarks.filters import EXPECTED, FILTERS, PAGE, WIDE_FILTERS
from benchmarks.http_client import TimedResponse
from benchmarks.installation import BenchmarkInstallation, BenchmarkServer
from benchmarks.measuring import Send, Workload, checked, measure
from benchmarks.report import growth_table, table
from benchmarks.run import Run
from benchmarks.workloads import ELEMENTS, StorageClient, spread
from repository_site.core.progress import with_progress

Call = Callable[[StorageClient, int], TimedResponse]
FIRST_PAGE, MIDDLE_PAGE = "W1 list of 100", "W4 page half-way"
STEADY = ("name -eq", "StartsWith", "-in", "date range")
"""Filters that match the same number of elements in a storage of any size."""
ELEMENTS_EACH = 1_000
STRIDE = 617
"""A prime that divides no number of storages."""
WHOLE_LISTS = 3
# Ten times as many elements are some 400 MB more of JSON. The limit allows for what an allocator keeps of batches of
# different sizes; a service that keeps what it has sent would exceed it at once.
LONGER_LIST_MEGABYTES = 20


def searching(title: str) -> Call:
    return lambda storage, number: storage.search(title, number)


def filtering(text: str) -> Call:
    return lambda storage, number: storage.filtered(text)


# The requests that every storage gets, by title.
CALLS: dict[str, Call] = {
    FIRST_PAGE: lambda storage, number: storage.page(),
    "W2 one element": lambda storage, number: storage.one(spread(number, storage.elements)),
    MIDDLE_PAGE: lambda storage, number: storage.page(storage.elements // (2 * PAGE)),
    "W4 last page": lambda storage, number: storage.page(storage.elements // PAGE),
    **{f"W5 {title}": searching(title) for title in FILTERS},
}
WIDE_CALLS = {f"W5 {title}, asked again": filtering(text) for title, text in WIDE_FILTERS.items()}


def check_filters(storage: StorageClient) -> None:
    """Check what the filters match: one that matches nothing is fast for the wrong reason."""
    for title in FILTERS:
        found = int(checked(title, storage.search(title, -1)).header("X-Total-Count"))
        if found != EXPECTED.get(title, found) or not 0 < found < storage.elements:
            raise SystemExit(f"error: {title} matches {found} elements in {storage.key}")


def installation_of_size(run: Run, count: int) -> BenchmarkInstallation:
    return run.installation if count == ELEMENTS else BenchmarkInstallation(run.folder / f"size-{count}")


def client_of_size(installation: BenchmarkInstallation, server: BenchmarkServer, count: int) -> StorageClient:
    return StorageClient(server.client(), installation.tokens[f"s{count}"], f"s{count}", count)


def make_sizes(run: Run) -> None:
    for count in run.scale.sizes:
        installation_of_size(run, count).make({f"s{each}": each for each in (ELEMENTS, count)})


def measure_sizes(run: Run, storage: StorageClient) -> None:
    clients = {f"{ELEMENTS:,}": storage}
    installations = {count: installation_of_size(run, count) for count in run.scale.sizes}
    try:
        for count, installation in installations.items():
            server = installation.serve()
            installation.read_files()
            clients[f"{count:,}"] = client_of_size(installation, server, count)
        clients[f"{ELEMENTS:,} beside {count:,}"] = client_of_size(installation, server, ELEMENTS)
        for client in clients.values():
            check_filters(client)
        workloads = {
            title: Workload(title, {name: partial(call, client) for name, client in clients.items()}, times=3)
            for title, call in (CALLS | WIDE_CALLS).items()
        }
        measure("Growth of a storage", list(workloads.values()), run.scale.growth_rounds)
    finally:
        for installation in installations.values():
            installation.close()
    text = (
        "Elements in one storage, each size in an installation of its own. The first column is in milliseconds, the"
        " others are ratios to it. The last column is a small storage in the same tables as a large one.\n\n"
    )
    run.report.add("Growth of a storage", text + growth_table(list(workloads.values())))
    add_size_limits(run, workloads)


def add_size_limits(run: Run, workloads: dict[str, Workload]) -> None:
    sizes = (ELEMENTS, *run.scale.sizes)
    smallest, larger, largest = (f"{size:,}" for size in (sizes[0], sizes[1], sizes[-1]))
    first = workloads[FIRST_PAGE]
    run.report.limit(
        f"W4 page {sizes[-1] // (2 * PAGE):,} of {largest} elements, times page 1",
        workloads[MIDDLE_PAGE].median(largest) / first.median(largest),
        most=3,
    )
    for name in STEADY:
        ratio = workloads[f"W5 {name}"].ratio(largest, smallest)
        run.report.limit(f"W5 {name} at {largest}, times that at {smallest}", ratio, most=3)
    contains = workloads["W5 Contains"].median(larger) / first.median(larger)
    run.report.limit(f"W5 Contains at {larger}, times a plain page", contains, most=20)


def measure_whole_lists(run: Run) -> None:
    """Measure whether the memory of a worker depends on the length of a list (W7)."""
    sizes = (ELEMENTS, run.scale.sizes[0])
    peaks = []
    for size in sizes:
        # A new server for each size: memory that one list has left allocated would hide what the other takes.
        installation = installation_of_size(run, size)
        server = installation.serve()
        storage = client_of_size(installation, server, size)
        for number in range(100):
            checked("memory of whole lists", storage.one(number))
        server.forget_peak_memory()
        for _ in with_progress(range(WHOLE_LISTS), f"Whole lists of {size:,}", WHOLE_LISTS):
            checked("memory of whole lists", storage.whole_list(keep_body=False))
        peaks.append(server.peak_memory())
        server.stop()
    small, large = (f"{size:,}" for size in sizes)
    title = f"W7 memory of a worker for {large} elements, more than for {small}"
    run.report.limit(title, peaks[1] - peaks[0], most=LONGER_LIST_MEGABYTES, unit=" MB")
    text = f"W7, the whole list: at most {peaks[0]:.0f} MB with {small} elements, {peaks[1]:.0f} MB with {large}.\n"
    run.report.add("Memory of a worker", text)


def installation_of_storages(run: Run, count: int) -> BenchmarkInstallation:
    return BenchmarkInstallation(run.folder / f"storages-{count}")


def storage_keys(count: int) -> list[str]:
    return [f"s{number:04}" for number in range(count)]


def make_storages(run: Run) -> None:
    for count in run.scale.storages:
        installation_of_storages(run, count).make(dict.fromkeys(storage_keys(count), ELEMENTS_EACH))


def measure_storages(run: Run) -> None:
    counts = run.scale.storages
    installations = {count: installation_of_storages(run, count) for count in counts}
    try:
        servers = {count: installation.serve() for count, installation in installations.items()}
        storages: dict[int, list[StorageClient]] = {}
        for count, installation in installations.items():
            # One connection for all storages, so that one worker answers for all.
            client, tokens = servers[count].client(), installation.tokens
            storages[count] = [StorageClient(client, tokens[key], key, ELEMENTS_EACH) for key in storage_keys(count)]
        rotation = {count: cycle(clients) for count, clients in storages.items()}
        first: dict[int, list[float]] = {count: [] for count in counts}
        for number in with_progress(range(counts[-1]), "First requests", counts[-1]):
            # All installations, because a server closes a connection that is idle for long.
            for count in counts:
                seconds = checked("first request", next(rotation[count]).page()).seconds
                if number < count:
                    first[count].append(seconds)
        for clients in storages.values():
            check_filters(clients[-1])

        def next_storage(count: int) -> Send:
            return lambda number: next(rotation[count]).page()

        workloads = [
            *(
                Workload(title, {f"{count:,}": one_storage_a_round(call, storages[count]) for count in counts})
                for title, call in CALLS.items()
            ),
            Workload(f"{FIRST_PAGE}, another storage each", {f"{count:,}": next_storage(count) for count in counts}),
        ]
        measure("Growth of an installation", workloads, run.scale.growth_rounds)
        rows = [
            [f"{count:,}", f"{1000 * statistics.median(first[count]):.2f}", f"{servers[count].memory():.0f}"]
            for count in counts
        ]
    finally:
        for installation in installations.values():
            installation.close()
    fewest, most = f"{counts[0]:,}", f"{counts[-1]:,}"
    run.report.limit(f"W1 with {most} storages, times with {fewest}", workloads[0].ratio(most, fewest), most=1.2)
    text = (
        f"Storages of {ELEMENTS_EACH:,} elements in one installation. The first column is in milliseconds, the others"
        " are ratios to it. Each round asks one storage; in the last row each request asks another storage, so that"
        " no cache helps.\n\n"
    )
    head = ["storages", "first request of a storage, ms", "memory of a worker in the end, MB"]
    run.report.add("Growth of an installation", f"{text}{growth_table(workloads)}\n{table(head, rows)}")


def one_storage_a_round(call: Call, storages: Sequence[StorageClient]) -> Send:
    """Ask one storage for a round, as clients do, and another in the next round."""
    return lambda number: call(storages[number // Workload.times * STRIDE % len(storages)], number)
