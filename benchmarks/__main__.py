"""Measure, and write RESULTS.md. The storages it makes are kept in var/benchmark for next time."""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks import report
from benchmarks.client import Reply
from benchmarks.installation import BYPASS, COLLECTION, Installation
from benchmarks.measuring import Send, Work, check, in_turns
from benchmarks.report import Bar
from benchmarks.site import (
    ELEMENTS,
    FILTERS,
    FLOOR,
    OURS,
    PARTS,
    PLAIN,
    SERVICE,
    WRITTEN,
    Site,
    StorageClient,
    filtered,
    storage_key,
)
from benchmarks.stages import SERVER, read_timing
from repository_site.environment import PROJECT_DIR

ROUNDS = {"short": 4, "usual": 20, "long": 20}
SIZES = {"short": (), "usual": (100_000,), "long": (100_000, 1_000_000)}
REQUESTS = {"short": 500, "usual": 10_000, "long": 10_000}
MEGABYTE = 1_000_000
Call = Callable[[StorageClient, int], Reply]


class Run:
    def __init__(self, mode: str, folder: Path, progress: Progress) -> None:
        self.mode, self.progress = mode, progress
        self.installation = Installation(folder)
        self.sections: list[tuple[str, str]] = []
        self.bars: list[Bar] = []

    def everything(self) -> list[Work]:
        preparing = self.progress.add_task("Preparing storages and servers", total=None)
        self.installation.prepare()
        site = Site.start(self.installation)
        self.progress.update(preparing, total=1, completed=1)
        works = self.works(site)
        self.stages(site)
        self.row_level_security(site)
        self.configuration(site)
        self.transfer()
        if SIZES[self.mode]:
            self.growth(site)
        self.memory(site)
        return works

    def turns(self, title: str, works: Sequence[Work], rounds: int) -> None:
        task = self.progress.add_task(title, total=rounds * len(works))
        in_turns(works, rounds, lambda: self.progress.advance(task))

    def works(self, site: Site) -> list[Work]:
        works = site.works()
        self.turns("The works", works, ROUNDS[self.mode])
        self.sections.append(("The works", report.works_table(works)))
        w1, w2, w3, w4 = works[:4]
        whole = works[-1]
        self.bars += [
            Bar("W1 list of 100, times the floor", w1.ratio(SERVICE, FLOOR), 1.6),
            Bar("W1 times as fast as plain DRF", 1 / w1.ratio(SERVICE, PLAIN), 18, is_most=False),
            Bar("W2 one element, times the floor", w2.ratio(SERVICE, FLOOR), 4),
            Bar("W2 times as fast as plain DRF", 1 / w2.ratio(SERVICE, PLAIN), 6, is_most=False),
            Bar("W3 update, times the floor", w3.ratio(SERVICE, FLOOR), 4),
            Bar("W1: p99, in medians", w1.figures(SERVICE).p99 / w1.figures(SERVICE).median, 3),
            Bar("W2: p99, in medians", w2.figures(SERVICE).p99 / w2.figures(SERVICE).median, 3),
            Bar("W4 page 90, times the floor", w4.ratio(SERVICE, FLOOR), 1.6),
            Bar("W7 bytes a second, in those of the floor", 1 / whole.ratio(SERVICE, FLOOR), 0.5, is_most=False),
        ]
        size = len(site.storage.whole_list().body)
        speed = {name: size / whole.figures(name).median / MEGABYTE for name in (SERVICE, FLOOR)}
        speeds = f"{speed[SERVICE]:.1f} MB/s, the floor {speed[FLOOR]:.1f} MB/s"
        text = f"\nThe whole list (W7) is {size / MEGABYTE:.1f} MB: {speeds}.\n"
        title, body = self.sections[-1]
        self.sections[-1] = (title, body + text)
        return works

    def stages(self, site: Site) -> None:
        """Where the time goes."""
        server = self.installation.serve_program("benchmarks.stages:application")
        storage, written = site.client_of(storage_key(ELEMENTS), server), site.client_of(WRITTEN, server)
        calls: dict[str, Send] = {
            "W1": lambda _: storage.page(),
            "W2": storage.one,
            "W3": lambda number: written.update(OURS[number % len(OURS)]),
        }
        found: dict[str, dict[str, float]] = {}
        rounds = 10 * ROUNDS[self.mode]
        task = self.progress.add_task("Where the time goes", total=len(calls) * rounds)
        for name, call in calls.items():
            taken: dict[str, list[float]] = {}
            for number in range(rounds):
                reply = call(number)
                check(name, reply)
                by_stage = read_timing(reply.header("Server-Timing") or "")
                by_stage[SERVER] = reply.seconds - sum(by_stage.values())
                for stage, seconds in by_stage.items():
                    taken.setdefault(stage, []).append(seconds)
                self.progress.advance(task)
            found[name] = {stage: statistics.median(seconds) for stage, seconds in taken.items()}
        server.stop()
        text = (
            "Milliseconds, medians. The server is what the client waits beyond the program: sockets, HTTP, threads.\n\n"
        )
        self.sections.append(("Where the time goes", text + report.stages_table(found)))

    def row_level_security(self, site: Site) -> None:
        key = storage_key(ELEMENTS)
        server = self.installation.serve_program(
            "benchmarks.unguarded:application",
            BENCHMARK_STORAGE=self.installation.storage_id(key),
            DATABASE_URL=self.installation.url(BYPASS),
        )
        unguarded = site.client_of(key, server)
        guarded = site.storage
        work = Work("W1", {"with": lambda _: guarded.page(), "without": lambda _: unguarded.page()}, times=10)
        self.turns("Row-level security", [work], ROUNDS[self.mode])
        server.stop()
        self.bars.append(Bar("W1 with row-level security, times without", work.ratio("with", "without"), 1.15))

    def configuration(self, site: Site) -> None:
        """What the first request costs beyond the next: after a start, and after a change of the configuration."""
        extra: dict[str, list[float]] = {"a start": [], "a change": []}
        for _ in range(1 if self.mode == "short" else 3):
            server = self.installation.serve()
            storage = site.client_of(storage_key(ELEMENTS), server)
            extra["a start"].append(_first_and_next(storage))
            self.installation.touch_configuration(storage_key(ELEMENTS))
            extra["a change"].append(_first_and_next(storage))
            server.stop()
        for what, found in extra.items():
            value = 1000 * statistics.median(found)
            self.bars.append(Bar(f"First request after {what}, over the next", value, 150, unit=" ms"))

    def transfer(self) -> None:
        """W8: versions a second, in and out."""
        folder = self.installation.folder
        file = folder / "export.ndjson"
        file.unlink(missing_ok=True)
        started = time.perf_counter()
        self.installation.manage("export_storage", COLLECTION, storage_key(ELEMENTS), str(file))
        exporting = time.perf_counter() - started
        versions = sum(1 for line in file.open("rb") if b'"attributes"' in line)
        self.installation.manage("provision_storage", COLLECTION, "imported")
        started = time.perf_counter()
        self.installation.manage("import_storage", COLLECTION, "imported", str(file))
        importing = time.perf_counter() - started
        self.installation.manage("remove_storage", COLLECTION, "imported", "--yes")
        rows = [
            ["export", f"{versions / exporting:,.0f}"],
            ["import", f"{versions / importing:,.0f}"],
        ]
        text = f"W8, of {versions:,} versions, by the commands, their start included.\n\n"
        self.sections.append(("Transfer", text + report.table(["", "versions a second"], rows)))

    def growth(self, site: Site) -> None:
        clients = {f"{ELEMENTS:,}": site.storage}
        for count in SIZES[self.mode]:
            key = storage_key(count)
            self.installation.sample(key, count)
            token = self.installation.token(key, "administrator")
            clients[f"{count:,}"] = StorageClient(site.service.client(token), key, count)
        calls: dict[str, Call] = {
            "W1 list of 100": lambda storage, number: storage.page(),
            "W2 one element": lambda storage, number: storage.one(number * 7),
            "W4 page 90": lambda storage, number: storage.page(90),
            "last page": lambda storage, number: storage.page(storage.elements // 100),
            **filter_calls(),
        }
        works = [
            Work(title, {size: _bound(call, storage) for size, storage in clients.items()}, times=3)
            for title, call in calls.items()
        ]
        self.turns("Growth", works, max(3, ROUNDS[self.mode] // 4))
        found = {work.title: {size: work.figures(size).median for size in work.measured} for work in works}
        text = "Elements in one storage; the first column in milliseconds, the others as ratios to it.\n\n"
        self.sections.append(("Growth", text + report.growth_table(found)))

    def memory(self, site: Site) -> None:
        storage, count = site.storage, REQUESTS[self.mode]
        task = self.progress.add_task("Memory", total=count)
        for number in range(count):
            if number % 50 == 0:
                storage.client.reconnect()
            reply = storage.page(1 + number % 90) if number % 10 == 0 else storage.one(number)
            check("memory", reply)
            self.progress.advance(task)
        most = max(worker.memory_info().rss for worker in site.service.workers()) / MEGABYTE
        self.bars.append(Bar(f"Memory of a worker after {count:,} requests", most, 200, unit=" MB"))


def filter_calls() -> dict[str, Call]:
    def call(written: str) -> Call:
        return lambda storage, number: filtered(storage, written)

    return {f"W5 {name}": call(written) for name, written in FILTERS.items()}


def _bound(call: Call, storage: StorageClient) -> Send:
    return lambda number: call(storage, number)


def _first_and_next(storage: StorageClient) -> float:
    """How much longer the first of two requests takes."""
    first, following = (storage.client.get(f"{storage.view}?{PARTS}&$pageSize=1") for _ in range(2))
    check("first request", first)
    return first.seconds - following.seconds


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--short", dest="mode", action="store_const", const="short", help="two minutes, for every day")
    mode.add_argument("--long", dest="mode", action="store_const", const="long", help="with a million elements")
    parser.set_defaults(mode="usual")
    parser.add_argument("--folder", type=Path, default=PROJECT_DIR / "var" / "benchmark", help="where its data is kept")
    options = parser.parse_args()
    columns = (TextColumn("{task.description:32}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns) as progress:
        run = Run(options.mode, options.folder, progress)
        try:
            works = run.everything()
        finally:
            run.installation.close()
    bars = report.table(["what must hold", "bar", "measured", "holds"], [bar.cells for bar in run.bars])
    report.write([("What must hold", bars), *run.sections], works, options.mode)
    sys.exit(0 if all(bar.holds for bar in run.bars) else 1)


if __name__ == "__main__":
    main()
