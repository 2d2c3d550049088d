"""Measure the service and write RESULTS.md. The storages are kept for the next run."""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import cycle
from pathlib import Path

from benchmarks import cluster, growth, report, search
from benchmarks.installation import COLLECTION, MEGABYTE
from benchmarks.load import Contender, TimingClient, Workload, measure, send_requests
from benchmarks.modelling import measure_bpmn
from benchmarks.pictures import measure_pictures
from benchmarks.report import Run
from benchmarks.steps import Step, run_steps
from benchmarks.storages import editor_of
from benchmarks.workloads import (
    CONNECTIONS,
    ELEMENTS,
    FLOOR,
    OURS,
    PLAIN,
    READ,
    RELEASED,
    SERVICE,
    WHOLE_LIST,
    WRITTEN,
    Contenders,
    StorageRequests,
    mixed_requests,
)
from repository_site.core.environment import PROJECT_DIR

MODES = {
    "short": "measure the workloads only, with few requests, in three minutes",
    "long": "also measure a million elements and a thousand storages",
    "soak": "measure only the memory of a worker over an hour's worth of requests, in ten minutes",
    "search": "measure only the search and its index, in six minutes; writes SEARCH.md",
    "search-smoke": "test that measurement; writes its results into its data folder",
    "cluster": "measure only a Citus cluster against one PostgreSQL server, in eleven minutes; writes CLUSTER.md",
    "cluster-smoke": "test that measurement; writes its results into its data folder",
    "smoke": "test the benchmark itself; writes its results into its data folder",
}
MIXED_CONNECTIONS = 2


def is_search(run: Run) -> bool:
    return run.mode.startswith("search")


def make_data(run: Run) -> None:
    if is_search(run):
        search.make_data(run)
        return
    if run.scale.requests:
        run.installation.make({READ: ELEMENTS, WRITTEN: ELEMENTS})
    growth.make_data(run)


def measure_all(run: Run) -> None:
    if run.scale.tenants:
        cluster.measure_cluster(run)
        return
    run_steps(search.steps(run) if is_search(run) else steps_of(run))


def steps_of(run: Run) -> list[Step]:
    """Return the measurements of a mode, with the minutes that they take on two idle cores."""
    scale, found = (
        run.scale,
        [Step("Making storages", 0.5 + growth.elements_to_make(run) / 20_000, lambda: make_data(run))],
    )
    if scale.requests:
        found += _steps_of_workloads(run)
    if scale.storages:
        minutes = growth_minutes(run, len(scale.storages))
        found.append(Step("Growth of an installation", minutes, lambda: growth.measure_storages(run)))
    if scale.soak:
        found.append(Step("Soak", 0.3 + scale.soak / 15_000, lambda: growth.measure_soak(run)))
    return found


def growth_minutes(run: Run, columns: int) -> float:
    return columns * (0.5 + run.scale.growth_requests / 40)


def _steps_of_workloads(run: Run) -> Iterator[Step]:
    scale, made = run.scale, list[Contenders]()
    size = scale.requests / 2_000

    def contenders() -> Contenders:
        if not made:
            made.append(Contenders(run.installation))
        return made[0]

    def end() -> None:
        """Stop these servers, so that the installations that are compared next have the machine to themselves."""
        measure_memory(run, contenders())
        run.installation.close()

    yield Step("Workloads", 1 + 9 * size + 0.15 * scale.plain_seconds, lambda: measure_load(run, contenders()))
    yield Step("Row-level security", 0.5, lambda: measure_row_level_security(run, contenders()))
    yield Step("Reads as of a time", 0.5, lambda: measure_past(run, contenders()))
    yield Step("Unchanged lists", 0.2, lambda: measure_known(run, contenders()))
    yield Step("First requests", 0.5, lambda: measure_first_requests(run, contenders()))
    yield Step("Pictures", 0.2, lambda: measure_pictures(run, contenders()))
    yield Step("BPMN", 0.5, lambda: measure_bpmn(run, contenders()))
    if scale.sizes:
        minutes = growth_minutes(run, 1 + len(scale.sizes))
        yield Step("Growth of a storage", minutes, lambda: growth.measure_sizes(run))
        yield Step("Permission sets", 0.5, lambda: measure_sets(run))
        yield Step("Memory of whole lists", 0.8, lambda: growth.measure_whole_lists(run))
        yield Step("Tables", 1.5, lambda: growth.measure_tables(run))
        yield Step("Bulk changes", 1.0, lambda: growth.measure_bulk(run))
        yield Step("Pages", 0.5, lambda: growth.measure_pages(run))
    # After the measurements in the same installation: the tables are larger afterwards.
    yield Step("Transfer", 3.0 if scale.sizes else 0.7, lambda: measure_transfer(run))
    yield Step("Memory", 0.1 + scale.mixed / 10_000, end)


def measure_load(run: Run, contenders: Contenders) -> None:
    scale = run.scale
    # Before everything else: a wrong filter would otherwise end the run after most of its time.
    growth.check_filters(contenders.storage())
    main = {each: contenders.main_workloads(each, scale.plain_seconds) for each in CONNECTIONS}
    for connections, workloads in main.items():
        measure(f"Load, {connections} connections", workloads, scale.requests, scale.rounds)
    others = contenders.other_workloads()
    whole = others[WHOLE_LIST]
    measure("Other workloads", [each for each in others.values() if each is not whole], scale.requests // 10, 2)
    measure("Whole list", [whole], max(2, scale.requests // 250), 2)
    add_load_limits(run, main, others)
    size = len(TimingClient(contenders.service.port).send(contenders.storage().whole_list()).body) / MEGABYTE
    speeds = f"{size / whole.found[SERVICE].median:.1f} MB/s, the floor {size / whole.found[FLOOR].median:.1f} MB/s"
    text = report.load_table([*(each for workloads in main.values() for each in workloads), *others.values()])
    floor = main[1][0].found[FLOOR].median
    text += f"\n{sequences(run, contenders, floor)}The whole list is {size:.1f} MB: {speeds}.\n"
    run.add("Workloads", text)


def add_load_limits(run: Run, main: dict[int, list[Workload]], others: dict[str, Workload]) -> None:
    limit = run.limit
    w1, w2, w3 = main[1]
    w4, *_, w7 = others.values()
    limit("W1 list of 100, times the floor", w1.ratio(SERVICE, FLOOR), most=1.6)
    limit("W1 times as fast as plain DRF", w1.ratio(PLAIN, SERVICE), least=18)
    limit("W2 one element, times the floor", w2.ratio(SERVICE, FLOOR), most=2)
    limit("W2 times as fast as plain DRF", w2.ratio(PLAIN, SERVICE), least=6)
    limit("W3 update, times the floor", w3.ratio(SERVICE, FLOOR), most=2.3)
    limit("W4 page 90, times the floor", w4.ratio(SERVICE, FLOOR), most=1.6)
    limit("W7 bytes a second, in those of the floor", w7.ratio(FLOOR, SERVICE), least=0.5)
    for connections, most in ((1, 2.0), (8, 2.5)):
        for each in main[connections]:
            title = f"{each.title}, connections: {connections}, p99 in medians"
            limit(title, each.found[SERVICE].tail, most=most)
    failed = sum(
        each.found[SERVICE].failed for each in (*(one for each in main.values() for one in each), *others.values())
    )
    limit("Requests to the service that failed", failed, most=0)
    for each, least in zip(main[8], (1.0, 0.5, 0.43), strict=True):
        title = f"{each.title}, connections: 8, throughput in that of the floor"
        limit(title, each.ratio(SERVICE, FLOOR, of="throughput"), least=least)


def sequences(run: Run, contenders: Contenders, floor: float) -> str:
    """Measure requests that need another one before them, with a client of one connection. `floor` is the list of the
    floor, in seconds."""
    written, client, released = contenders.storage(WRITTEN), TimingClient(contenders.service.port), cycle(RELEASED)

    def page_after_change(number: int) -> float:
        client.send(written.update(number))
        return client.send(written.page()).seconds

    def new_version_and_release(number: int) -> float:
        """Leave the element as the next call expects it."""
        element = next(released)
        return client.send(written.new_version(element)).seconds + client.send(written.release(element)).seconds

    def median(call: Callable[[int], float]) -> float:
        return statistics.median(call(number) for number in range(5 * run.scale.rounds))

    changed, released_after = median(page_after_change), median(new_version_and_release)
    run.limit("W1 after a change, times the floor", changed / floor, most=1.2)
    return (
        f"W1 after a change of an attribute in the storage: {1000 * changed:.2f} ms. W6, a new version and its"
        f" release: {1000 * released_after:.2f} ms.\n\n"
    )


def measure_row_level_security(run: Run, contenders: Contenders) -> None:
    server = run.installation.serve(
        "benchmarks.contenders.unguarded:application",
        BENCHMARK_STORAGE=run.installation.storage_id(READ),
        DATABASE_URL=run.installation.bypass_url,
    )
    columns = {"with": contenders.storage(), "without": contenders.storage(READ, server)}
    measure_cost(run, "W1 with row-level security, times without", first_pages(columns), most=1.15)
    server.close()


def measure_past(run: Run, contenders: Contenders) -> None:
    """Measure reads as of a time before the last changes (D564), in the storage where most changes are made."""
    present, client = contenders.storage(WRITTEN), TimingClient(contenders.service.port)
    moment = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%fZ}"
    for number in range(len(OURS)):
        client.send(present.update(number))
    columns = {"with": replace(present, as_of=moment), "without": present}
    measure_cost(run, "W1 as of a time, times today", first_pages(columns), most=3)
    single = {name: Contender(each.one, each.server) for name, each in columns.items()}
    measure_cost(run, "W2 as of a time, times today", single, most=3)


def measure_known(run: Run, contenders: Contenders) -> None:
    """Measure the response to a client that has the list already, against a list of no elements."""
    storage, server = contenders.storage(), contenders.service
    tag = TimingClient(server.port).send(storage.page()).headers["ETag"]
    known = Contender(partial(storage.known_page, tag=tag), server)
    calls = {"with": known, "without": Contender(storage.empty_page, server)}
    measure_cost(run, "W1 not modified (304), times an empty list", calls, most=1.3)


def measure_sets(run: Run) -> None:
    """Measure the list of an editor in a storage with permission sets, against the same storage without them."""
    size = run.scale.sizes[0]
    key = f"s{size}"
    with ExitStack() as stack:
        columns = {}
        for name, each in {"with": growth.with_sets(run), "without": growth.of_size(run, size)}.items():
            installation = stack.enter_context(closing(each))
            columns[name] = StorageRequests(installation.serve(), key, size, caller=editor_of(key))
            installation.read_files()
        title = f"W1 with {growth.SETS:,} permission sets over {size:,} elements, times without"
        measure_cost(run, title, first_pages(columns), most=1.3)


def first_pages(columns: dict[str, StorageRequests]) -> dict[str, Contender]:
    return {name: Contender(each.first_page, each.server) for name, each in columns.items()}


def measure_cost(run: Run, title: str, calls: dict[str, Contender], most: float) -> None:
    """Measure what something costs a request, in turns: one request `with` it, and one `without` it."""
    workload = Workload(title, calls)
    measure(title, [workload], run.scale.requests // 10, run.scale.rounds)
    run.limit(title, workload.ratio("with", "without"), most=most)


def measure_first_requests(run: Run, contenders: Contenders) -> None:
    """Measure how much longer the first request takes after a start and after a change of the configuration."""
    extra: dict[str, list[float]] = {"start": [], "change": []}
    for _ in range(3 if run.scale.rounds > 4 else 1):
        server = run.installation.serve()
        request, client = contenders.storage(READ, server).page(size=1), TimingClient(server.port)
        extra["start"].append(client.send(request).seconds - client.send(request).seconds)
        run.installation.change_configuration(READ)
        extra["change"].append(client.send(request).seconds - client.send(request).seconds)
        server.close()
    for event, seconds in extra.items():
        value = 1000 * statistics.median(seconds)
        run.limit(f"First request after a {event}, over the next", value, most=150, unit=" ms")


def measure_transfer(run: Run) -> None:
    """Measure export and import in versions a second (W8), on the larger storage if there is one."""
    with ExitStack() as stack:
        installation, key = run.installation, READ
        if run.scale.sizes:
            key = f"s{run.scale.sizes[0]}"
            installation = stack.enter_context(closing(growth.of_size(run, run.scale.sizes[0])))
        file, target = run.folder / "export.ndjson", (COLLECTION, "imported")
        file.unlink(missing_ok=True)
        exporting = installation.run("manage.py", "export_storage", COLLECTION, key, str(file))
        versions = sum(1 for line in file.open("rb") if b'"attributes"' in line)
        if installation.storage_id("imported"):  # left by a run that was interrupted
            installation.run("manage.py", "remove_storage", *target, "--yes")
        installation.run("manage.py", "provision_storage", *target)
        importing, memory = installation.run_measured("manage.py", "import_storage", *target, str(file))
        installation.run("manage.py", "remove_storage", *target, "--yes")
        installation.settle()
    rows = [("export", f"{versions / exporting:,.0f}"), ("import", f"{versions / importing:,.0f}")]
    if run.scale.sizes:
        run.limit(f"Export of {versions:,} versions, a second", versions / exporting, least=8_000)
        run.limit(f"Memory of an import of {versions:,} versions", memory / MEGABYTE, most=200, unit=" MB")
    text = f"W8, {versions:,} versions, including the start of the commands.\n\n"
    run.add("Transfer", text + report.table(["", "versions a second"], rows))


def measure_memory(run: Run, contenders: Contenders) -> None:
    """Measure the memory of workers that have answered all requests of the run before."""
    count = run.scale.mixed
    contenders.service.forget_peak_memory()
    contender = Contender(mixed_requests([contenders.storage(), contenders.storage(WRITTEN)]), contenders.service)
    send_requests("Memory", contender, MIXED_CONNECTIONS, count)
    peak = contenders.service.peak_memory() / MEGABYTE
    run.limit(f"Memory of a worker over {count:,} mixed requests", peak, most=200, unit=" MB")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    group = parser.add_mutually_exclusive_group()
    for name, text in MODES.items():
        group.add_argument(f"--{name}", dest="mode", action="store_const", const=name, help=text)
    parser.set_defaults(mode="usual")
    parser.add_argument("--folder", type=Path, default=PROJECT_DIR / "var" / "benchmark", help="folder for the data")
    parser.add_argument("--only-make", action="store_true", help="create the data and measure nothing")
    options = parser.parse_args()
    if shutil.which("wrk") is None:
        sys.exit("error: wrk is missing; `make bench` installs it (Debian: apt install wrk)")
    run, started = Run(options.mode, options.folder), time.monotonic()
    try:
        if options.only_make:
            make_data(run)
            return
        measure_all(run)
    finally:
        run.installation.close()
    sys.stdout.write(f"{(time.monotonic() - started) / 60:.0f} minutes.\n")
    run.write()
    sys.exit(0 if run.all_met else 1)


if __name__ == "__main__":
    main()
