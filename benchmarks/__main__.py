"""Measure, and write RESULTS.md. The storages it makes are kept for next time."""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks import report
from benchmarks.crowds import make_storages, measure_storages
from benchmarks.installation import BYPASS, COLLECTION
from benchmarks.measuring import Send, Work, check
from benchmarks.memory import measure_mixed
from benchmarks.report import Bar
from benchmarks.run import MEGABYTE, SCALES, Run
from benchmarks.site import ELEMENTS, FLOOR, OURS, PARTS, PLAIN, SERVICE, WRITTEN, Site, StorageClient, storage_key
from benchmarks.sizes import make_sizes, measure_sizes, measure_whole_lists
from benchmarks.stages import SERVER, read_timing
from repository_site.core.environment import PROJECT_DIR


class Benchmark(Run):
    def make(self) -> None:
        """What is measured; what is there from an earlier run is kept."""
        step = self.task("Storages of the works", 2)
        self.installation.prepare()
        for key in (storage_key(ELEMENTS), WRITTEN):
            self.installation.sample(key, ELEMENTS)
            step(1)
        self.installation.settle()
        make_sizes(self)
        make_storages(self)

    def everything(self) -> list[Work]:
        self.make()
        site = Site.start(self.installation)
        works = self.works(site)
        self.stages(site)
        self.row_level_security(site)
        self.configuration(site)
        self.transfer()
        if self.scale.sizes:
            measure_sizes(self, site)
            measure_whole_lists(self)
        measure_mixed(self, site)
        # The others leave the machine to those that are compared now.
        self.installation.close()
        if self.scale.storages:
            measure_storages(self)
        return works

    def works(self, site: Site) -> list[Work]:
        works = site.works()
        self.turns("The works", works, self.scale.rounds)
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
        rounds = 10 * self.scale.rounds
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
        self.turns("Row-level security", [work], self.scale.rounds)
        server.stop()
        self.bars.append(Bar("W1 with row-level security, times without", work.ratio("with", "without"), 1.15))

    def configuration(self, site: Site) -> None:
        """What the first request costs beyond the next: after a start, and after a change of the configuration."""
        extra: dict[str, list[float]] = {"a start": [], "a change": []}
        for _ in range(3 if self.scale.rounds > 4 else 1):
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
        if self.installation.storage_id("imported"):  # from a run that was broken off
            self.installation.manage("remove_storage", COLLECTION, "imported", "--yes")
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


def _first_and_next(storage: StorageClient) -> float:
    """How much longer the first of two requests takes."""
    first, following = (storage.client.get(f"{storage.view}?{PARTS}&$pageSize=1") for _ in range(2))
    check("first request", first)
    return first.seconds - following.seconds


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    mode = parser.add_mutually_exclusive_group()
    helps = {
        "short": "two minutes, for every day",
        "long": "with a million elements, and a thousand storages",
        "smoke": "tries the benchmark itself; its results go into the folder of its data",
    }
    for name, text in helps.items():
        mode.add_argument(f"--{name}", dest="mode", action="store_const", const=name, help=text)
    parser.set_defaults(mode="usual")
    parser.add_argument("--folder", type=Path, default=PROJECT_DIR / "var" / "benchmark", help="where its data is kept")
    parser.add_argument("--only-make", action="store_true", help="make the data, measure nothing")
    options = parser.parse_args()
    columns = (TextColumn("{task.description:32}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns) as progress:
        run = Benchmark(SCALES[options.mode], options.folder, progress)
        try:
            if options.only_make:
                run.make()
                return
            works = run.everything()
        finally:
            run.installation.close()
    bars = report.table(["what must hold", "bar", "measured", "holds"], [bar.cells for bar in run.bars])
    into = options.folder if options.mode == "smoke" else report.FOLDER
    report.write([("What must hold", bars), *run.sections], works, options.mode, into)
    sys.exit(0 if all(bar.holds for bar in run.bars) else 1)


if __name__ == "__main__":
    main()
