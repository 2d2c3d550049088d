"""What the workers of the service take of memory."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from benchmarks.filters import FILTERS, Filters
from benchmarks.installation import Server
from benchmarks.measuring import check
from benchmarks.report import Bar
from benchmarks.run import MEGABYTE, Run
from benchmarks.site import ELEMENTS, OURS, WRITTEN, Site, StorageClient

INTERVAL = 0.01


@dataclass
class Peak:
    megabytes: float = 0


def resident(server: Server) -> float:
    """Of the largest worker, in MB."""
    return max(worker.memory_info().rss for worker in server.workers()) / MEGABYTE


@contextmanager
def watched(server: Server) -> Iterator[Peak]:
    """The most that any worker takes meanwhile."""
    peak, is_over = Peak(), threading.Event()

    def watch() -> None:
        workers = server.workers()
        while not is_over.wait(INTERVAL):
            peak.megabytes = max(peak.megabytes, *(each.memory_info().rss / MEGABYTE for each in workers))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield peak
    finally:
        is_over.set()
        watcher.join()


def measure_mixed(run: Run, site: Site) -> None:
    """Requests of all kinds to workers that have done everything before this."""
    storage, written, count = site.storage, site.client_of(WRITTEN), run.scale.requests
    filters = Filters(site.installation.names, ELEMENTS)
    step = run.task("Memory", count)
    with watched(site.service) as peak:
        for number in range(count):
            if number % 50 == 0:
                storage.client.reconnect()
                written.client.reconnect()
            mixed_request(storage, written, filters, number)
            step(1)
    run.bars.append(Bar(f"Memory of a worker over {count:,} mixed requests", peak.megabytes, 200, unit=" MB"))


def mixed_request(storage: StorageClient, written: StorageClient, filters: Filters, number: int) -> None:
    """Of twenty: two pages, one filter, one update, one list of transitions, single elements; now and then all."""
    if number % 1_000 == 999:
        reply = storage.whole_list(keeps=False)
    elif number % 10 == 0:
        reply = storage.page(1 + number // 10 % 90)
    elif number % 20 == 5:
        kinds = list(FILTERS.values())
        reply = storage.filtered(kinds[number // 20 % len(kinds)](filters, number))
    elif number % 20 == 11:
        reply = written.update(OURS[number // 20 % len(OURS)])
    elif number % 20 == 17:
        reply = written.transitions(number)
    else:
        reply = storage.one(number * 7)
    check("memory", reply)
