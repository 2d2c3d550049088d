"""Whole lists over real HTTP: a client that goes away in the middle holds neither connection nor transaction."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server_process import DataFolders, Server, free_port

pytestmark = [pytest.mark.server, pytest.mark.long]
LIST = "/demo/sample/_api/rest/facets/processes/views/detail/elements"
COUNT = 4_000
IN_TRANSACTION = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'repository' AND xact_start IS NOT NULL"


@pytest.fixture
def server(tmp_path: Path, data_folders: DataFolders) -> Iterator[Server]:
    server = Server(tmp_path / "var", free_port())
    data_folders.copy(server.data_dir, "migrate")
    # One worker with two connections: whoever keeps one is noticed soon.
    server.environ["REPOSITORY_POOL_SIZE"] = "2"
    server.environ["REPOSITORY_STREAM_TIMEOUT"] = "4"
    server.start("serve", "--workers", "1")
    yield server
    server.kill()


def begin(server: Server, token: str) -> socket.socket:
    """A client that has read the beginning of a long list, and no more. It waits for its place, if need be."""
    end = time.monotonic() + 20
    while True:
        client = socket.socket()
        # Otherwise the kernel would take much of the list in the client's place.
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        client.settimeout(20)
        client.connect(("127.0.0.1", server.port))
        request = f"GET {LIST} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {token}\r\n\r\n"
        client.sendall(request.encode())
        status = client.recv(1_000).split()[1]
        if status == b"200":
            return client
        client.close()
        assert (status, time.monotonic() < end) == (b"429", True)
        time.sleep(0.05)


def test_a_long_list_and_clients_that_do_not_wait_for_its_end(server: Server) -> None:
    filled = server.manage("sample_storage", "demo", "sample", str(COUNT))
    assert filled.returncode == 0, filled.stderr
    token = server.manage("issue_token", "demo", "sample", "--name", "reader", "--role", "viewer").stdout.strip()

    status, body = server.request("GET", LIST, headers={"Authorization": f"Bearer {token}"})
    assert (status, body["count"], len(body["elements"])) == (200, COUNT, COUNT)
    assert len({each["id"] for each in body["elements"]}) == COUNT
    assert len(json.dumps(body)) > 10_000_000

    with begin(server, token):
        assert server.ask(IN_TRANSACTION) == 1
    # Three times as many as there are connections: were one kept, this would not come to its end.
    for _ in range(6):
        begin(server, token).close()
    end = time.monotonic() + 15
    while server.ask(IN_TRANSACTION) and time.monotonic() < end:
        time.sleep(0.2)
    assert server.ask(IN_TRANSACTION) == 0
    assert server.request("GET", f"{LIST}?$pageSize=1", headers={"Authorization": f"Bearer {token}"})[0] == 200

    # One that stays and does not read on holds the one place there is; others are told, and pages are served.
    with begin(server, token):
        status, refusal = server.request("GET", LIST, headers={"Authorization": f"Bearer {token}"})
        assert (status, refusal["type"]) == (429, "error")
        assert server.request("GET", f"{LIST}?$pageSize=1", headers={"Authorization": f"Bearer {token}"})[0] == 200
        # Until the database loses patience; then the place is free again, although the client is still there.
        end = time.monotonic() + 30
        while server.ask(IN_TRANSACTION) and time.monotonic() < end:
            time.sleep(0.2)
        assert server.ask(IN_TRANSACTION) == 0
