"""Compare this checkout with another one on plain PostgreSQL: `python -m benchmarks.against CHECKOUT` (D266).

Each checkout serves a database of its own with the same storages. In each round both answer the same requests, one
after the other, and the next round begins with the other one. The exit code is 1 if this checkout is more than 5 %
slower.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.installation import BenchmarkInstallation
from benchmarks.load import Contender, Latencies, Workload
from benchmarks.report import machine, table
from benchmarks.workloads import ELEMENTS, OURS, READ, WRITTEN, StorageRequests, make_drafts
from repository_site.core.environment import PROJECT_DIR
from repository_site.core.terminal.progress import with_progress

THIS, OTHER = "this checkout", "the other"
MOST = 1.05
CALLS: dict[str, tuple[str, Callable[[StorageRequests, int], bytes]]] = {
    "W1 list of 100": (READ, StorageRequests.first_page),
    "W2 one element": (READ, StorageRequests.one),
    "W3 update of one element": (WRITTEN, StorageRequests.update),
}
Found = dict[str, list[Mapping[str, Latencies]]]


def measure_rounds(installations: Mapping[str, BenchmarkInstallation], rounds: int, requests: int) -> Found:
    """Return the latencies of each round and checkout, by workload."""
    found: Found = {title: [] for title in CALLS}
    servers = {name: each.serve() for name, each in installations.items()}
    for server in servers.values():
        make_drafts(StorageRequests(server, WRITTEN), OURS)
    names = list(servers)
    for _ in with_progress(range(rounds), "Rounds", rounds):
        names.reverse()
        for title, (key, call) in CALLS.items():
            contenders = {name: contender(StorageRequests(servers[name], key), call) for name in names}
            workload = Workload(title, contenders)
            workload.measure(requests, 1)
            found[title].append(workload.found)
    return found


def contender(storage: StorageRequests, call: Callable[[StorageRequests, int], bytes]) -> Contender:
    return Contender(lambda number: call(storage, number), storage.server)


def ratios(rounds: list[Mapping[str, Latencies]]) -> list[float]:
    return sorted(each[THIS].median / each[OTHER].median for each in rounds)


def report(found: Found) -> str:
    def median(rounds: list[Mapping[str, Latencies]], name: str) -> str:
        return f"{1000 * statistics.median(each[name].median for each in rounds):.2f}"

    rows = []
    for title, rounds in found.items():
        each = ratios(rounds)
        spread = f"{each[0]:.3f} to {each[-1]:.3f}"
        failed = sum(latencies.failed for one in rounds for latencies in one.values())
        times = (median(rounds, OTHER), median(rounds, THIS), f"{statistics.median(each):.3f}")
        rows.append((title, *times, spread, str(failed)))
    head = ["workload", f"{OTHER}, ms", f"{THIS}, ms", "ratio, median of the rounds", "least and largest", "failed"]
    return f"{machine()}\n\n{table(head, rows)}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.against", description=__doc__)
    parser.add_argument("checkout", type=Path, help="folder of the other checkout, such as a git worktree")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--requests", type=int, default=150, help="for each workload, checkout and round")
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="benchmark-")))
        installations = {
            name: stack.enter_context(closing(BenchmarkInstallation(folder / name.replace(" ", "-"), checkout)))
            for name, checkout in ((OTHER, options.checkout.resolve()), (THIS, PROJECT_DIR))
        }
        for each in installations.values():
            # This process has a lease on the database. It must have stopped before its folder is removed.
            stack.callback(each.postgres.release, 60)
            each.make({READ: ELEMENTS, WRITTEN: ELEMENTS})
        found = measure_rounds(installations, options.rounds, options.requests)
    sys.stdout.write(report(found))
    sys.exit(any(statistics.median(ratios(rounds)) > MOST for rounds in found.values()))


if __name__ == "__main__":
    main()
