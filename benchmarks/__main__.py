"""Measure the service and write RESULTS.md. The storages are kept for the next run."""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path

from benchmarks import report
from benchmarks.growth import make_sizes, make_storages, measure_sizes, measure_storages, measure_whole_lists
from benchmarks.installation import BYPASS_ROLE, COLLECTION, MEGABYTE
from benchmarks.measuring import Send, Workload, checked, measure
from benchmarks.run import SCALES, Run
from benchmarks.stages import SERVER, read_timing
from benchmarks.workloads import (
    ELEMENTS,
    FLOOR,
    PLAIN,
    READ,
    SERVICE,
    WRITTEN,
    Contenders,
    StorageClient,
    mixed_requests,
    workloads,
)
from repository_site.core.environment import PROJECT_DIR
from repository_site.core.progress import with_progress

MODES = {
    "short": "measure the workloads only, in two minutes",
    "long": "also measure a million elements and a thousand storages",
    "smoke": "test the benchmark itself; writes its results into its data folder",
}


def make_data(run: Run) -> None:
    run.installation.make({READ: ELEMENTS, WRITTEN: ELEMENTS})
    make_sizes(run)
    make_storages(run)


def measure_all(run: Run) -> list[Workload]:
    make_data(run)
    contenders = Contenders.start(run.installation)
    measured = measure_workloads(run, contenders)
    measure_stages(run, contenders)
    measure_row_level_security(run, contenders)
    measure_first_requests(run, contenders)
    measure_transfer(run)
    if run.scale.sizes:
        measure_sizes(run, contenders.storage())
        measure_whole_lists(run)
    measure_memory(run, contenders)
    # Stop these servers, so that the installations that are compared next have the machine to themselves.
    run.installation.close()
    if run.scale.storages:
        measure_storages(run)
    return measured


def measure_workloads(run: Run, contenders: Contenders) -> list[Workload]:
    measured = workloads(contenders)
    measure("Workloads", measured, run.scale.rounds)
    w1, w2, w3, w4 = measured[:4]
    w7 = measured[-1]
    limit = run.report.limit
    limit("W1 list of 100, times the floor", w1.ratio(SERVICE, FLOOR), most=1.6)
    limit("W1 times as fast as plain DRF", w1.ratio(PLAIN, SERVICE), least=18)
    limit("W2 one element, times the floor", w2.ratio(SERVICE, FLOOR), most=4)
    limit("W2 times as fast as plain DRF", w2.ratio(PLAIN, SERVICE), least=6)
    limit("W3 update, times the floor", w3.ratio(SERVICE, FLOOR), most=4)
    limit("W1: p99, in medians", w1.percentile(SERVICE, 99) / w1.median(SERVICE), most=3)
    limit("W2: p99, in medians", w2.percentile(SERVICE, 99) / w2.median(SERVICE), most=3)
    limit("W4 page 90, times the floor", w4.ratio(SERVICE, FLOOR), most=1.6)
    limit("W7 bytes a second, in those of the floor", w7.ratio(FLOOR, SERVICE), least=0.5)
    size = len(contenders.storage().whole_list().body) / MEGABYTE
    speeds = f"{size / w7.median(SERVICE):.1f} MB/s, the floor {size / w7.median(FLOOR):.1f} MB/s"
    text = f"\nThe whole list (W7) is {size:.1f} MB: {speeds}.\n"
    run.report.add("Workloads", report.workloads_table(measured) + text)
    return measured


def measure_stages(run: Run, contenders: Contenders) -> None:
    server = run.installation.serve("benchmarks.stages:application")
    storage, written = contenders.storage(READ, server), contenders.storage(WRITTEN, server)
    calls: dict[str, Send] = {"W1": lambda _: storage.page(), "W2": storage.one, "W3": written.update}
    medians: dict[str, dict[str, float]] = {}
    rounds = 10 * run.scale.rounds
    for title, send in calls.items():
        seconds: dict[str, list[float]] = {}
        for number in with_progress(range(rounds), f"Stages of {title}", rounds):
            response = checked(title, send(number))
            stages = read_timing(response.header("Server-Timing"))
            stages[SERVER] = response.seconds - sum(stages.values())
            for stage, taken in stages.items():
                seconds.setdefault(stage, []).append(taken)
        medians[title] = {stage: statistics.median(taken) for stage, taken in seconds.items()}
    server.stop()
    text = "Medians in milliseconds. The stage `server` is the time outside the program: sockets, HTTP, threads.\n\n"
    run.report.add("Stages of a request", text + report.stages_table(medians))


def measure_row_level_security(run: Run, contenders: Contenders) -> None:
    server = run.installation.serve(
        "benchmarks.unguarded:application",
        BENCHMARK_STORAGE=run.installation.storage_id(READ),
        DATABASE_URL=run.installation.database_url(BYPASS_ROLE),
    )
    guarded, unguarded = contenders.storage(), contenders.storage(READ, server)
    workload = Workload("W1", {"with": lambda _: guarded.page(), "without": lambda _: unguarded.page()}, times=10)
    measure("Row-level security", [workload], run.scale.rounds)
    server.stop()
    run.report.limit("W1 with row-level security, times without", workload.ratio("with", "without"), most=1.15)


def measure_first_requests(run: Run, contenders: Contenders) -> None:
    """Measure how much longer the first request takes after a start and after a change of the configuration."""
    extra: dict[str, list[float]] = {"start": [], "change": []}
    for _ in range(3 if run.scale.rounds > 4 else 1):
        server = run.installation.serve()
        storage = contenders.storage(READ, server)
        extra["start"].append(first_and_next(storage))
        run.installation.change_configuration(READ)
        extra["change"].append(first_and_next(storage))
        server.stop()
    for event, seconds in extra.items():
        value = 1000 * statistics.median(seconds)
        run.report.limit(f"First request after a {event}, over the next", value, most=150, unit=" ms")


def first_and_next(storage: StorageClient) -> float:
    first, following = (checked("first request", storage.page(size=1)) for _ in range(2))
    return first.seconds - following.seconds


def measure_transfer(run: Run) -> None:
    """Measure export and import in versions a second (W8)."""
    installation, file, target = run.installation, run.folder / "export.ndjson", (COLLECTION, "imported")
    file.unlink(missing_ok=True)
    exporting = installation.run("manage.py", "export_storage", COLLECTION, READ, str(file))
    versions = sum(1 for line in file.open("rb") if b'"attributes"' in line)
    if installation.storage_id("imported"):  # left by a run that was interrupted
        installation.run("manage.py", "remove_storage", *target, "--yes")
    installation.run("manage.py", "provision_storage", *target)
    importing = installation.run("manage.py", "import_storage", *target, str(file))
    installation.run("manage.py", "remove_storage", *target, "--yes")
    rows = [("export", f"{versions / exporting:,.0f}"), ("import", f"{versions / importing:,.0f}")]
    text = f"W8, {versions:,} versions, including the start of the commands.\n\n"
    run.report.add("Transfer", text + report.table(["", "versions a second"], rows))


def measure_memory(run: Run, contenders: Contenders) -> None:
    """Measure the memory of workers that have answered all requests of the run before."""
    count = run.scale.requests
    contenders.service.forget_peak_memory()
    send = mixed_requests(contenders)
    for number in with_progress(range(count), "Memory", count):
        checked("memory", send(number))
    peak = contenders.service.peak_memory()
    run.report.limit(f"Memory of a worker over {count:,} mixed requests", peak, most=200, unit=" MB")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    group = parser.add_mutually_exclusive_group()
    for name, text in MODES.items():
        group.add_argument(f"--{name}", dest="mode", action="store_const", const=name, help=text)
    parser.set_defaults(mode="usual")
    parser.add_argument("--folder", type=Path, default=PROJECT_DIR / "var" / "benchmark", help="folder for the data")
    parser.add_argument("--only-make", action="store_true", help="create the data and measure nothing")
    options = parser.parse_args()
    run = Run(SCALES[options.mode], options.folder)
    try:
        if options.only_make:
            make_data(run)
            return
        measured = measure_all(run)
    finally:
        run.installation.close()
    run.report.write(measured, options.mode, options.folder if options.mode == "smoke" else Path(__file__).parent)
    sys.exit(0 if run.report.all_met else 1)


if __name__ == "__main__":
    main()
