"""Growth of times and memory with the elements of a storage, the storages of an installation, and time.

Each size has an installation of its own: in shared tables a large storage also slows down a small one, which would hide
how slow the large one is. The benchmark measures that effect as well.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from functools import partial

import orjson

from benchmarks.installation import COLLECTION, MEGABYTE, BenchmarkInstallation, BenchmarkServer
from benchmarks.load import Contender, TimingClient, Workload, measure, raw_request, send_requests
from benchmarks.report import Run, growth_table
from benchmarks.storages import VISITOR
from benchmarks.workloads import ELEMENTS, EXPECTED, FILTERS, PAGE, READ, StorageRequests, mixed_requests, sample_id
from repository_site.core.terminal.progress import with_progress

FIRST_PAGE, MIDDLE_PAGE = "W1 list of 100", "W4 page half-way"
STEADY = ("name -eq", "StartsWith", "-in", "date range")
"""Filters that match the same number of elements in a storage of any size."""
ELEMENTS_EACH = 1_000
ROUNDS = 3
WHOLE_LISTS = 3
# Ten times as many elements are some 400 MB more of JSON. The limit allows for what an allocator keeps of batches of
# different sizes; a service that keeps what it has sent would exceed it at once.
LONGER_LIST_MEGABYTES = 20
TABLE_SECONDS, TABLE_MEGABYTES = 60, 150
SETS = 1_000
BULK, BULK_SECONDS = 10_000, 60
# More than a request changes at once, so that a job does it.
FEW = 200
PAGE_TURNS, PAGE_MILLISECONDS = 10, 100
PAGES = {
    "landing page": "/",
    "start page": "{base}/1033/",
    "page of a facet": "{base}/1033/processes/?as=list",
    "page of an element": "{base}/1033/processes/{process}",
    "page of a search": "{base}/1033/search?q=4711",
    "page of a search for a frequent word": "{base}/1033/search?q=input",
    "office, overview": "{base}/admin/",
    "office, my work": "{base}/admin/my-work/",
    "office, list of elements": "{base}/admin/elements/element/",
    "office, list of retired elements": "{base}/admin/elements/element/?stage=retired",
    "office, list of ended elements": "{base}/admin/elements/element/?validity=ended",
    "office, list of elements by version": "{base}/admin/elements/element/?o=4",
    "office, list of found elements": "{base}/admin/elements/element/?q=input",
    "office, bulk change of a list": "{base}/admin/elements/bulk/?facet=processes",
    "office, users": "{base}/admin/elements/user/",
    "office, missing translations": "{base}/admin/translations/",
    "office, element": "{base}/admin/elements/element/{process}/change/",
    "office, form of an element": "{base}/admin/elements/element/{process}/edit/",
    "office, tree": "{base}/admin/elements/tree/",
}
SOAK_STORAGES, SOAK_CONNECTIONS = 200, 8
# The requests that every storage gets, by title.
CALLS: dict[str, Callable[[StorageRequests, int], bytes]] = {
    FIRST_PAGE: StorageRequests.first_page,
    "W2 one element": StorageRequests.one,
    "one element for an agent": StorageRequests.agent,
    MIDDLE_PAGE: lambda storage, number: storage.page(storage.elements // (2 * PAGE)),
    **{f"W5 {title}": partial(StorageRequests.search, title=title) for title in FILTERS},
}


def make_data(run: Run) -> None:
    for count in run.scale.sizes:
        of_size(run, count).make({f"s{each}": each for each in (ELEMENTS, count)})
    if run.scale.requests and run.scale.sizes:
        _make_sets(run)
    for count in numbers_of_storages(run):
        with_storages(run, count).make(dict.fromkeys(storage_keys(count), ELEMENTS_EACH))


def _make_sets(run: Run) -> None:
    """Make a storage with permission sets, and give its editor a token for the same storage without them as well."""
    size, limited = run.scale.sizes[0], with_sets(run)
    limited.make({f"s{size}": size})
    for installation, count in ((limited, SETS), (of_size(run, size), 0)):
        installation.run("-m", "benchmarks.storages", str(installation.folder), f"s{size}", str(count))


def numbers_of_storages(run: Run) -> list[int]:
    """Return how many storages each installation has. The soak uses one of those that are compared, if it can."""
    return list(dict.fromkeys((*run.scale.storages, *([SOAK_STORAGES] if run.scale.soak else []))))


def elements_to_make(run: Run) -> int:
    """Return the number of elements of installations that do not exist yet."""
    sizes = [ELEMENTS + each for each in run.scale.sizes if not of_size(run, each).is_made]
    if run.scale.requests and run.scale.sizes and not with_sets(run).is_made:
        sizes.append(run.scale.sizes[0])
    storages = [each * ELEMENTS_EACH for each in numbers_of_storages(run) if not with_storages(run, each).is_made]
    first = 2 * ELEMENTS if run.scale.requests and not run.installation.is_made else 0
    return first + sum(sizes) + sum(storages)


def of_size(run: Run, count: int) -> BenchmarkInstallation:
    return run.installation if count == ELEMENTS else BenchmarkInstallation(run.folder / f"size-{count}")


def with_sets(run: Run) -> BenchmarkInstallation:
    return BenchmarkInstallation(run.folder / f"sets-{run.scale.sizes[0]}")


def with_storages(run: Run, count: int) -> BenchmarkInstallation:
    return BenchmarkInstallation(run.folder / f"storages-{count}")


def storage_keys(count: int) -> list[str]:
    return [f"s{number:04}" for number in range(count)]


def compare(title: str, text: str, run: Run, columns: Mapping[str, StorageRequests]) -> dict[str, Workload]:
    """Measure each workload in each storage, and add the table to the report."""
    for storage in columns.values():
        check_filters(storage)
    workloads = {
        name: Workload(name, {column: Contender(partial(make, each), each.server) for column, each in columns.items()})
        for name, make in CALLS.items()
    }
    measure(title, list(workloads.values()), run.scale.growth_requests, ROUNDS)
    note = "The first column is in milliseconds, the others are ratios to it."
    run.add(title, f"{text} {note}\n\n{growth_table(list(workloads.values()))}")
    return workloads


def check_filters(storage: StorageRequests) -> None:
    """Check what the filters match: one that matches nothing is fast for the wrong reason."""
    client = TimingClient(storage.server.port)
    for title in FILTERS:
        found = int(client.send(storage.search(-1, title)).headers["X-Total-Count"])
        if found != EXPECTED.get(title, found) or not 0 < found < storage.elements:
            raise SystemExit(f"error: {title} matches {found} elements in {storage.key}")


def measure_sizes(run: Run) -> None:
    with ExitStack() as stack:
        # A new server for each column; the one of the workloads keeps its memory, which is measured at the end.
        columns = {f"{ELEMENTS:,}": StorageRequests(stack.enter_context(closing(run.installation.serve())), READ)}
        for count in run.scale.sizes:
            installation = stack.enter_context(closing(of_size(run, count)))
            server = installation.serve()
            installation.read_files()
            columns[f"{count:,}"] = StorageRequests(server, f"s{count}", count)
        columns[f"{ELEMENTS:,} beside {count:,}"] = StorageRequests(server, f"s{ELEMENTS}")
        text = "Elements in one storage, each size in an installation of its own. The last column is a small storage in"
        found = compare("Growth of a storage", f"{text} the same tables as a large one.", run, columns)
    limit = run.limit
    smallest, larger, largest = f"{ELEMENTS:,}", f"{run.scale.sizes[0]:,}", f"{run.scale.sizes[-1]:,}"
    first, middle = found[FIRST_PAGE].found, found[MIDDLE_PAGE].found
    title = f"W4 page {run.scale.sizes[-1] // (2 * PAGE):,} of {largest} elements, times page 1"
    limit(title, middle[largest].median / first[largest].median, most=3)
    for name in STEADY:
        title = f"W5 {name} at {largest}, times that at {smallest}"
        limit(title, found[f"W5 {name}"].ratio(largest, smallest), most=3)
    contains = found["W5 Contains"].found[larger].median / first[larger].median
    limit(f"W5 Contains at {larger}, times a plain page", contains, most=20)


def measure_whole_lists(run: Run) -> None:
    """Measure whether the memory of a worker depends on the length of a list (W7)."""
    sizes = (ELEMENTS, run.scale.sizes[0])
    peaks = []
    for size in sizes:
        # A new server for each size: memory that one list has left allocated would hide what the other takes.
        server = of_size(run, size).serve()
        storage, client = StorageRequests(server, f"s{size}", size), TimingClient(server.port)
        for number in range(100):
            client.send(storage.one(number))
        server.forget_peak_memory()
        for _ in with_progress(range(WHOLE_LISTS), f"Whole lists of {size:,}", WHOLE_LISTS):
            client.send(storage.whole_list())
        peaks.append(server.peak_memory() / MEGABYTE)
        server.close()
    small, large = (f"{size:,}" for size in sizes)
    title = f"W7 memory of a worker for {large} elements, more than for {small}"
    run.limit(title, peaks[1] - peaks[0], most=LONGER_LIST_MEGABYTES, unit=" MB")


def measure_tables(run: Run) -> None:
    """Measure the time of exporting a storage as a table, and how much more memory a worker uses than when idle."""
    size = run.scale.sizes[0]
    for table in ("xlsx", "csv"):
        server = of_size(run, size).serve()
        storage, client = StorageRequests(server, f"s{size}", size), TimingClient(server.port)
        for number in range(100):
            client.send(storage.one(number))
        server.forget_peak_memory()
        idle = server.peak_memory()
        found = client.send(storage.view(f"?$format={table}"))
        megabytes = len(found.body) / MEGABYTE
        run.limit(f"{table} of {size:,} rows, {megabytes:.0f} MB", found.seconds, most=TABLE_SECONDS, unit=" s")
        more = (server.peak_memory() - idle) / MEGABYTE
        run.limit(f"memory of a worker for {table}, more than when idle", more, most=TABLE_MEGABYTES, unit=" MB")
        server.close()


def measure_bulk(run: Run) -> None:
    """Measure how long a background job takes to change many elements (D471), and to undo that."""
    with closing(of_size(run, run.scale.sizes[0])) as installation:
        server = installation.serve(REPOSITORY_JOBS="1")
        storage = StorageRequests(server, f"s{run.scale.sizes[0]}")
        # A server that has just started runs the scheduled jobs first that are overdue.
        for operation in ("add", "remove"):
            _change_many(storage, operation, FEW)
        for operation in ("add", "remove"):
            seconds = _change_many(storage, operation, BULK)
            run.limit(f"bulk change of {BULK:,} elements, {operation}", seconds, most=BULK_SECONDS, unit=" s")


def _change_many(storage: StorageRequests, operation: str, count: int) -> float:
    """Return the seconds from the request of a bulk change to its end."""
    client, started = TimingClient(storage.server.port), time.monotonic()
    [found] = orjson.loads(client.send(storage.bulk(operation, count), (202,)).body)["values"]
    while found["state"] in ("waiting", "running"):
        time.sleep(0.2)
        [found] = orjson.loads(client.send(storage.bulk_report(found["id"])).body)["values"]
    if (found["state"], found["refused"]) != ("done", 0):
        raise SystemExit(f"error: a bulk change has failed: {found}")
    return time.monotonic() - started


def measure_pages(run: Run) -> None:
    """Measure the pages that people see most, in the largest storage (D591)."""
    count = run.scale.sizes[-1]
    with closing(of_size(run, count)) as installation:
        installation.run("-m", "benchmarks.storages", str(installation.folder), VISITOR)
        server = installation.serve()
        installation.read_files()
        client, session = TimingClient(server.port), server.tokens[VISITOR]
        process = sample_id(count // 2)
        for title, path in PAGES.items():
            address = path.format(base=f"/{COLLECTION}/s{count}", process=process)
            request = raw_request(server.port, address, session=session)
            times = [client.send(request).seconds for _ in range(PAGE_TURNS)]
            # The first ones read the configuration and prepare statements.
            median = 1000 * statistics.median(times[PAGE_TURNS // 2 :])
            run.limit(f"{title} of {count:,} elements", median, most=PAGE_MILLISECONDS, unit=" ms")


def measure_storages(run: Run) -> None:
    counts = run.scale.storages
    with ExitStack() as stack:
        columns = {}
        for count in counts:
            installation = stack.enter_context(closing(with_storages(run, count)))
            storages = all_storages(installation.serve(), count)
            client = TimingClient(storages[0].server.port)
            for each in storages:
                client.send(each.page())
            columns[f"{count:,}"] = storages[-1]
        text = f"Storages of {ELEMENTS_EACH:,} elements in one installation, which have all been read before."
        found = compare("Growth of an installation", text, run, columns)
    fewest, most = f"{counts[0]:,}", f"{counts[-1]:,}"
    run.limit(f"W1 with {most} storages, times with {fewest}", found[FIRST_PAGE].ratio(most, fewest), most=1.2)


def all_storages(server: BenchmarkServer, count: int) -> Sequence[StorageRequests]:
    return [StorageRequests(server, key, ELEMENTS_EACH) for key in storage_keys(count)]


def measure_soak(run: Run) -> None:
    """Measure the memory of a worker that serves many storages for long."""
    with closing(with_storages(run, SOAK_STORAGES)) as installation:
        server = installation.serve()
        contender = Contender(mixed_requests(all_storages(server, SOAK_STORAGES)), server)
        sent = send_requests("Soak", contender, SOAK_CONNECTIONS, run.scale.soak)
        peak = server.peak_memory() / MEGABYTE
    title = f"Memory of a worker over {run.scale.soak:,} mixed requests to {SOAK_STORAGES} storages"
    run.limit(title, peak, most=250, unit=" MB")
    run.limit("Requests of the soak that failed", sent.failed, most=0)
    speed = f"{sent.throughput:.0f} a second on {SOAK_CONNECTIONS} connections"
    run.add("Soak", f"{sent.requests:,} requests, {speed}. The largest worker had at most {peak:.0f} MB.\n")
