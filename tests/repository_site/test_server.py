"""`manage.py serve` and `demo` as real processes with their own embedded database, killed and restarted."""

from __future__ import annotations

import contextlib
import http.client
import os
import signal
import socket
import threading
import time
from argparse import ArgumentTypeError
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from structlog.testing import capture_logs

from elements.api.entity_tags import PACKAGES
from repository_site.core.cores import cores_for, free_core, keep_to
from repository_site.core.environment import PROJECT_DIR
from repository_site.core.ports import Bind, suggest_port
from repository_site.management.commands.serve import default_workers
from tests.faults.installation import wait_for
from tests.scale import only_at_full_scale
from tests.server_process import Server, free_port

pytestmark = pytest.mark.server
INFO = "/demo/showcase/_api/rest/info"
ELEMENTS = "/demo/showcase/_api/rest/facets/processes/views/detail/elements?$page=1&$pageSize=1"


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One data folder for all tests of the file; each test starts with what the test before has left."""
    return tmp_path_factory.mktemp("server") / "var"


@pytest.fixture
def server(data_dir: Path) -> Iterator[Server]:
    server = Server(data_dir, free_port())
    yield server
    server.kill()


@pytest.mark.long
def test_the_demo_from_start_to_ctrl_c(server: Server) -> None:
    server.start("demo")
    status, info = server.request("GET", INFO)
    assert (status, info["type"], info["title"]) == (200, "IStorageContext", "Showcase")
    assert info["apiUrl"] == f"http://127.0.0.1:{server.port}/demo/showcase/_api/"
    token = server.log.read_text().partition("API token")[2].split()[0]
    assert server.request("GET", INFO, headers={"Authorization": f"Bearer {token}"})[0] == 200
    assert server.request("GET", INFO, headers={"Authorization": "Bearer crt_wrong"})[0] == 401
    assert server.request("HEAD", INFO) == (200, None)
    assert server.request("DELETE", INFO)[0] == 405
    cores = sorted(os.sched_getaffinity(0))
    expected = [[core] for core in sorted(cores * (default_workers() // len(cores)))]
    assert server.process is not None
    process = psutil.Process(server.process.pid)
    # One worker answers while another may still be loading.
    wait_for(lambda: sorted(map(cores_of, process.children())) == expected, 20, "workers do not keep to their cores")
    started = time.monotonic()
    assert server.ctrl_c() == 0
    assert server.left_over() == []
    # Granian kills workers that do not end within ten seconds; it also reports some that have just ended.
    assert time.monotonic() - started < 9


def cores_of(worker: psutil.Process) -> list[int]:
    """Return the cores of all its threads; some may end meanwhile."""
    found: set[int] = set()
    for thread in worker.threads():
        with contextlib.suppress(ProcessLookupError):
            found |= os.sched_getaffinity(thread.id)
    return sorted(found)


@pytest.mark.parametrize(("workers", "cores"), [(1, []), (2, [3, 5]), (3, []), (4, [3, 5])])
def test_workers_are_bound_if_they_share_the_cores_evenly(
    workers: int, cores: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("repository_site.core.cores.ALLOWED", [3, 5])
    assert cores_for(workers) == cores


@pytest.mark.parametrize(
    ("taken", "start", "core"),
    [
        # At the start, whether the first worker is already bound or not.
        ([[3, 5], [3, 5]], 0, 3),
        ([[3, 5], [3, 5]], 1, 5),
        ([[3], [3, 5]], 1, 5),
        # One worker has died.
        ([[5], [3, 5]], 4, 3),
        ([[5], [3, 5]], 5, 3),
        # Workers are replaced one after the other; the new one starts before the old one ends.
        ([[3], [5], [3, 5]], 2, 3),
        ([[5], [3], [3, 5]], 3, 5),
    ],
)
def test_each_worker_takes_the_core_with_the_fewest_workers(taken: list[list[int]], start: int, core: int) -> None:
    assert free_core([3, 5], taken, start) == core


def test_an_unavailable_core_is_logged_and_ignored() -> None:
    before = os.sched_getaffinity(0)
    with capture_logs() as lines:
        keep_to(max(before) + 1000)
    assert [each["event"] for each in lines] == ["not bound to cores"]
    assert os.sched_getaffinity(0) == before


@pytest.mark.long
def test_threads_of_a_worker_share_one_arena(server: Server) -> None:
    """Each further arena once kept what its threads had freed: 15 of them kept 42 MB (D215)."""
    server.start("demo")
    threads = [threading.Thread(target=server.request, args=("GET", INFO)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert server.process is not None
    main = psutil.Process(server.process.pid)
    # Workers inherit the arena of the thread that imports the demo.
    inherited = further_arenas(main.pid)
    assert [further_arenas(worker.pid) for worker in main.children()] == [inherited] * default_workers()


def further_arenas(pid: int) -> int:
    """Return the number of glibc's arenas beside the first one: aligned regions of 64 MB, of which the rest is
    reserved."""
    size, ends, found = 64 << 20, {}, 0
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        place, access, *_ = line.split()
        start, end = (int(each, 16) for each in place.split("-"))
        if access == "rw-p" and start % size == 0:
            ends[end] = start
        elif access == "---p" and start in ends:
            found += end - ends[start] == size
    return found


@pytest.mark.long
def test_requests_do_not_read_the_files_of_the_program(server: Server) -> None:
    """The first read of a worker once computed the digest of the code, which is part of entity tags, in 37 ms."""
    server.start("demo", "--workers", "1")
    assert server.process is not None
    (worker,) = psutil.Process(server.process.pid).children()
    before = bytes_read(worker.pid)
    assert server.request("GET", ELEMENTS)[0] == 200
    program = sum(file.stat().st_size for name in PACKAGES for file in (PROJECT_DIR / name).rglob("*.py"))
    assert bytes_read(worker.pid) - before < program / 2


def bytes_read(pid: int) -> int:
    """Return the bytes that a process has read from files, whether they were cached or not."""
    return int(Path(f"/proc/{pid}/io").read_text().split()[1])


@pytest.mark.long
@only_at_full_scale
def test_a_stop_while_the_workers_load_is_obeyed(server: Server) -> None:
    """A forked worker once swallowed the signal, and was killed after ten seconds only."""
    for moment in (0.03, 0.06, 0.09):
        server.log.unlink(missing_ok=True)
        server.launch("serve", "--no-migrate", "--workers", "2")
        server.wait_for_line("Starting 2 workers")
        time.sleep(moment)
        started = time.monotonic()
        assert server.ctrl_c() in (0, 130)
        assert time.monotonic() - started < 9
        server.wait_until_nothing_is_left()


@pytest.mark.long
@only_at_full_scale
def test_the_demo_starts_again_after_kill_9_during_requests(server: Server) -> None:
    server.start("demo")
    stop = threading.Event()
    answered = []

    def ask() -> None:
        while not stop.is_set():
            with contextlib.suppress(OSError, http.client.HTTPException):
                answered.append(server.request("GET", INFO)[0])

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    while len(answered) < 50:
        time.sleep(0.01)
    server.stop(signal.SIGKILL)
    server.start("demo")
    assert server.request("GET", INFO)[0] == 200
    stop.set()
    for thread in threads:
        thread.join()
    assert set(answered) == {200}


@pytest.mark.long
def test_a_port_in_use_gives_one_line(server: Server) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        result = server.manage("serve", "--no-migrate", "--bind", f"127.0.0.1:{port}")
    assert result.returncode == 1
    assert result.stderr == (
        f"CommandError: Port {port} is in use. Stop the process that uses this port, or choose another:"
        f" --bind 127.0.0.1:{suggest_port('127.0.0.1')}\n"
    )


@pytest.mark.parametrize("text", ["8000", "host:", ":80", "host:99999", "host:http", ""])
def test_addresses_to_bind(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="expected HOST:PORT, such as"):
        Bind.argument(text)
    assert Bind.argument("[::1]:80") == Bind("::1", 80)
