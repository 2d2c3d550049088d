"""`/metrics` of a real server with several workers, one of which is killed."""

from __future__ import annotations

import http.client
import os
import signal
import time
from pathlib import Path

import pytest

from tests.server_process import DataFolders, Server, free_port

pytestmark = [pytest.mark.server, pytest.mark.long]
HEALTH = "/healthz"
COUNT = 'repository_request_duration_seconds_count{method="GET",operation="healthz",status="2xx"}'


def read(server: Server) -> dict[str, float]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    try:
        connection.request("GET", "/metrics")
        response = connection.getresponse()
        assert response.status == 200
        lines = [line for line in response.read().decode().splitlines() if not line.startswith("#")]
    finally:
        connection.close()
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


def ask(server: Server, times: int) -> None:
    for _ in range(times):
        assert server.request("GET", HEALTH)[0] == 200


def wait_for_count(server: Server, number: int) -> None:
    """Wait until the workers have counted the requests, which they do after sending the responses (D653)."""
    end = time.monotonic() + 60
    while (found := read(server))[COUNT] < number or found["repository_requests_in_flight"] != 1:
        assert time.monotonic() < end, found
        time.sleep(0.02)


def test_numbers_of_all_workers_outlive_one_that_is_killed(tmp_path: Path, data_folders: DataFolders) -> None:
    server = Server(tmp_path / "var", free_port())
    data_folders.copy(server.data_dir, "migrate")
    try:
        server.start("serve", "--workers", "2")
        end = time.monotonic() + 60
        while read(server)["repository_worker_starts_total"] != 2:
            assert time.monotonic() < end  # the server answers as soon as one worker has started
            time.sleep(0.1)
        ask(server, 20)
        wait_for_count(server, 20)
        for _ in range(8):
            found = read(server)  # whichever worker answers, also one that has asked the database nothing yet
            assert found["repository_database_up"] == 1
            assert (found[COUNT], found["repository_worker_processes"], found["repository_worker_starts_total"]) == (
                20,
                2,
                2,
            )
        end = time.monotonic() + 60  # told every two seconds
        while read(server)['repository_pool_connections{state="most"}'] != 16:
            assert time.monotonic() < end
            time.sleep(0.1)
        os.kill(server.workers()[0].pid, signal.SIGKILL)
        end = time.monotonic() + 60
        while (found := _read_when_possible(server)).get(
            "repository_worker_starts_total"
        ) != 3 and time.monotonic() < end:
            time.sleep(0.1)
        ask(server, 5)
        wait_for_count(server, 25)
        for _ in range(8):
            found = read(server)
            assert (found[COUNT], found["repository_worker_processes"], found["repository_worker_starts_total"]) == (
                25,
                2,
                3,
            )
        assert server.ctrl_c() == 0
    finally:
        server.kill()


def _read_when_possible(server: Server) -> dict[str, float]:
    """Return nothing if the connection went to the dead worker."""
    try:
        return read(server)
    except (OSError, http.client.HTTPException):
        return {}
