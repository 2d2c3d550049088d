"""A Citus cluster against one PostgreSQL server: requests, their CPU time, moving shards, growth and sizes (D265).

Both run the same programs with the same settings and the same storages, and take turns. Requests go to all storages in
turn. The cluster begins with one worker; the second one joins under load. In the end all data is removed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import psutil

from benchmarks.growth import storage_keys
from benchmarks.installation import MEGABYTE, BenchmarkInstallation, BenchmarkServer
from benchmarks.load import Contender, Latencies, Workload, measure, send_load
from benchmarks.report import Run, table
from benchmarks.workloads import StorageRequests
from tests.citus import SKIPPED, CitusCluster, citus_programs

PLAIN, CITUS = "PostgreSQL", "Citus"
CONNECTIONS = (1, 8)
MOVING_CONNECTIONS, MOVING_SECONDS = 4, 1800
COST_CONNECTIONS, COST_SECONDS = 2, 4
# Durable, with the defaults of Citus, unlike the clusters of the tests.
SETTINGS = {
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "autovacuum": "on",
    "shared_buffers": "256MB",
    "citus.max_cached_conns_per_worker": "1",
}
WITHOUT_CITUS = {**SETTINGS, "shared_preload_libraries": ""}
LARGE = "large"
Call = Callable[[StorageRequests, int], bytes]
# W3 changes an element that needs no draft.
CALLS: dict[str, Call] = {
    "W1 list of 100": StorageRequests.first_page,
    "W2 one element": StorageRequests.one,
    "W3 update of one element": StorageRequests.update_tag,
}
SIZES = """SELECT sum(pg_table_size(oid))::bigint, sum(pg_indexes_size(oid))::bigint FROM pg_class
    WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"""


class Stage(NamedTuple):
    """Workloads with their CPU milliseconds a request, by contender: service, first node, other nodes."""

    title: str
    workloads: list[Workload]
    costs: Mapping[str, Mapping[str, list[float]]]


class NodeInstallation(BenchmarkInstallation):
    """An installation on servers of its own: one PostgreSQL server, or the nodes of a cluster."""

    def __init__(self, folder: Path, workers: int, settings: Mapping[str, str], elements: int) -> None:
        super().__init__(folder)
        self.nodes, self.elements = CitusCluster(folder / "nodes", workers, **settings), elements
        self.database.environ["DATABASE_URL"] = self.nodes.url

    @property
    def server(self) -> BenchmarkServer:
        return self.servers[0]

    def make_tenants(self, count: int) -> None:
        self.make(dict.fromkeys(storage_keys(count), self.elements))
        for server in self.servers:
            del server.tokens  # of fewer storages

    def settle(self) -> None:
        for node in range(len(self.nodes.ports)):
            with self.nodes.superuser(node) as connection:
                connection.execute("VACUUM (ANALYZE)")
                connection.execute("CHECKPOINT")

    def close(self) -> None:
        super().close()
        self.nodes.stop()

    def requests(self, call: Call, tenants: int) -> Contender:
        """Return requests to the storages in turn."""
        storages = [StorageRequests(self.server, key, self.elements) for key in storage_keys(tenants)]
        return Contender(lambda number: call(storages[number % tenants], number // tenants), self.server)

    def sizes(self) -> tuple[int, int]:
        """Return the bytes of all tables and of all indexes of the first node."""
        with self.nodes.superuser(0) as connection:
            tables, indexes = connection.execute(SIZES).fetchone() or (0, 0)
        return tables, indexes

    def processes(self, node: int) -> Iterator[psutil.Process]:
        """Yield the server process of a node, then its others."""
        server = psutil.Process(int((self.nodes.folder / str(node) / "postmaster.pid").read_text().split()[0]))
        yield from (server, *server.children())

    def cpu_seconds(self) -> list[float]:
        """Return the CPU time of the workers of the service, of the first node, and of the others."""
        # The server process of a node counts its ended children as well.
        nodes = [
            sum(sum(each.cpu_times()[:4]) for each in self.processes(node)) for node in range(len(self.nodes.ports))
        ]
        return [sum(sum(each.cpu_times()[:2]) for each in self.server.workers()), nodes[0], sum(nodes[1:])]

    def cost(self, contender: Contender) -> list[float]:
        """Return the CPU milliseconds of a request, in the parts of `cpu_seconds`."""
        found, before = Latencies(), self.cpu_seconds()
        send_load(contender, COST_CONNECTIONS, COST_SECONDS, 0, found)
        return [1000 * (end - start) / found.requests for start, end in zip(before, self.cpu_seconds(), strict=True)]

    def connection_memory(self, node: int) -> float:
        """Return the memory that the largest connection of the service has for itself on a node, in megabytes."""
        backends = (each for each in self.processes(node) if "repository repository" in " ".join(each.cmdline()))
        return max((each.memory_full_info().uss for each in backends), default=0) / MEGABYTE


def measure_cluster(run: Run) -> None:
    if citus_programs() is None:
        raise SystemExit(f"error: {SKIPPED}")
    shards, elements = {"citus.shard_count": str(run.scale.shards)}, run.scale.elements_each
    with (
        TemporaryDirectory(prefix="benchmark-") as folder,
        closing(NodeInstallation(Path(folder, PLAIN), 0, WITHOUT_CITUS, elements)) as plain,
        closing(NodeInstallation(Path(folder, CITUS), 1, SETTINGS | shards, elements)) as citus,
    ):
        plain.nodes.start_apart()
        citus.nodes.start()
        measure_stages(run, plain, citus)


def measure_stages(run: Run, plain: NodeInstallation, citus: NodeInstallation) -> None:
    (fewest, most), sides = run.scale.tenants, {PLAIN: plain, CITUS: citus}
    stages, sizes = [], []
    for tenants in (fewest, most):
        for each in sides.values():
            each.make_tenants(tenants)
            if not each.servers:
                each.serve(DATABASE_URL=each.nodes.url)
        sizes.append(plain.sizes())
        stages.append(compare(f"{tenants} tenants, 1 worker", run, sides, tenants))
    moved = move_shards(run, citus)
    stages.append(compare(f"{most} tenants, 2 workers", run, sides, most))
    plain.make({LARGE: run.scale.large})
    sizes.append(plain.sizes())
    text = (
        f"{versions(citus.nodes)}, with {run.scale.shards} shards; {run.scale.elements_each} elements in each storage."
    )
    run.add("Servers", f"{text} All nodes, the service and wrk share one machine.\n")
    add_stages(run, stages)
    run.add("Moving shards", moved)
    add_sizes(run, sizes)
    add_memory(run, sides)


def versions(nodes: CitusCluster) -> str:
    with nodes.superuser(0) as connection:
        found = connection.execute("SELECT current_setting('server_version'), citus_version()").fetchone() or ("", "")
    return f"PostgreSQL {found[0].split()[0]}, {found[1].partition(' on ')[0]}"


def compare(title: str, run: Run, sides: dict[str, NodeInstallation], tenants: int) -> Stage:
    """Measure the workloads, then the CPU time of a request."""
    contenders = {
        call: {name: each.requests(make, tenants) for name, each in sides.items()} for call, make in CALLS.items()
    }
    workloads = [
        Workload(call, columns, connections) for call, columns in contenders.items() for connections in CONNECTIONS
    ]
    measure(title, workloads, run.scale.requests, run.scale.rounds)
    failed = sum(found.failed for each in workloads for found in each.found.values())
    run.limit(f"Requests that failed, {title}", failed, most=0)
    costs = {
        call: {name: sides[name].cost(each) for name, each in columns.items()} for call, columns in contenders.items()
    }
    return Stage(title, workloads, costs)


def move_shards(run: Run, citus: NodeInstallation) -> str:
    """Add a worker and move half of the shards to it, while requests of all kinds arrive."""
    found, is_over = Latencies(), threading.Event()
    calls = list(CALLS.values())
    most = run.scale.tenants[-1]
    contender = citus.requests(lambda storage, number: calls[number % len(calls)](storage, number), most)

    def send() -> None:
        turn = 0
        while not is_over.is_set():
            send_load(contender, MOVING_CONNECTIONS, 2, turn, found)
            turn += 1

    sending = threading.Thread(target=send)
    sending.start()
    try:
        citus.nodes.add_worker()
        started = time.monotonic()
        citus.nodes.rebalance(MOVING_SECONDS)
        seconds = time.monotonic() - started
    finally:
        is_over.set()
        sending.join()
    citus.settle()
    run.limit("Requests that failed while shards moved", found.failed, most=0)
    return (
        f"Half of {run.scale.shards} shards with {most} storages moved to the second worker in {seconds:.0f} seconds."
        f" Meanwhile {MOVING_CONNECTIONS} connections sent {found.requests:,} requests, a third of them updates;"
        f" {found.failed} failed. Median {1000 * found.median:.1f} ms, p99 {1000 * found.percentile(99):.1f} ms,"
        f" longest {1000 * found.percentile(100):.0f} ms.\n"
    )


def add_stages(run: Run, stages: list[Stage]) -> None:
    def cells(title: str, each: Workload) -> list[str]:
        plain, citus = each.found[PLAIN], each.found[CITUS]
        times = [f"{1000 * plain.median:.2f}", f"{1000 * citus.median:.2f}", f"{each.ratio(CITUS, PLAIN):.2f}"]
        speeds = [f"{plain.throughput:.1f}", f"{citus.throughput:.1f}"]
        return [each.title, title, str(each.connections), *times, *speeds]

    head = ["workload", "stage", "connections", "PostgreSQL, ms", "Citus, ms", "times PostgreSQL"]
    rows = [cells(stage.title, each) for stage in stages for each in stage.workloads]
    run.add("Requests", table([*head, "PostgreSQL, a second", "Citus, a second"], sorted(rows, key=lambda row: row[0])))
    head = ["workload", "stage", "PostgreSQL: service", "server", "Citus: service", "coordinator", "workers"]
    rows = [
        [call, stage.title, *(f"{value:.2f}" for value in (*cost[PLAIN][:2], *cost[CITUS]))]
        for call in CALLS
        for stage in stages
        for cost in [stage.costs[call]]
    ]
    run.add("CPU time of a request", f"Milliseconds on {COST_CONNECTIONS} connections.\n\n{table(head, rows)}")


def add_sizes(run: Run, sizes: list[tuple[int, int]]) -> None:
    """Show the growth of tables and indexes by the last tenants, and by a large storage."""
    scale, (fewest, most) = run.scale, run.scale.tenants
    small, many, large = sizes
    tenant = [(after - before) / (most - fewest) for before, after in zip(small, many, strict=True)]
    element = [(after - before) / scale.large for before, after in zip(many, large, strict=True)]
    rows = [
        (name, *(f"{value / 1000:.2f}" for value in (*each, sum(each))))
        for name, each in (
            (f"tenant of {scale.elements_each} elements", tenant),
            (f"element of a storage of {scale.large:,}", element),
        )
    ]
    run.add("Sizes", "Kilobytes on one PostgreSQL server.\n\n" + table(["", "tables", "indexes", "together"], rows))


def add_memory(run: Run, sides: dict[str, NodeInstallation]) -> None:
    citus = sides[CITUS]
    found = {
        "worker of the service, PostgreSQL": sides[PLAIN].server.peak_memory() / MEGABYTE,
        "worker of the service, Citus": citus.server.peak_memory() / MEGABYTE,
        "connection, PostgreSQL": sides[PLAIN].connection_memory(0),
        "connection, coordinator": citus.connection_memory(0),
        "connection, worker": citus.connection_memory(1),
    }
    rows = [(name, f"{value:.0f}") for name, value in found.items()]
    run.add(
        "Memory", "Largest of all, in megabytes, without shared memory for connections.\n\n" + table(["", "MB"], rows)
    )
