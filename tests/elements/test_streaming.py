"""Whole lists over real HTTP: a client that goes away in the middle holds neither connection nor transaction."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator

import pytest

from tests.server_process import Server, free_port

pytestmark = [pytest.mark.server, pytest.mark.long]
LIST = "/demo/sample/_api/rest/facets/processes/views/detail/elements"
COUNT = 4_000
# How many connections of the server are in a transaction, and how many there are at all.
ACTIVITY = """
from django.db import connection
with connection.cursor() as cursor:
    cursor.execute("SELECT count(*) FILTER (WHERE xact_start IS NOT NULL), count(*) FROM pg_stat_activity"
                   " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()")
    print(*cursor.fetchone())
"""


@pytest.fixture
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("streaming") / "var", free_port())
    # One worker with two connections: whoever keeps one is noticed soon.
    server.environ["REPOSITORY_POOL_SIZE"] = "2"
    server.environ["REPOSITORY_STREAM_TIMEOUT"] = "4"
    server.start("serve", "--workers", "1")
    yield server
    if server.process is not None and server.process.poll() is None:
        server.process.kill()
        server.process.wait(10)
    server.wait_until_nothing_is_left()


def in_transaction(server: Server) -> int:
    found = server.manage("shell", "--no-imports", "-c", ACTIVITY)
    return int(found.stdout.split()[0])


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
        assert in_transaction(server) == 1
    # Three times as many as there are connections: were one kept, this would not come to its end.
    for _ in range(6):
        begin(server, token).close()
    end = time.monotonic() + 15
    while in_transaction(server) and time.monotonic() < end:
        time.sleep(0.2)
    assert in_transaction(server) == 0
    assert server.request("GET", f"{LIST}?$pageSize=1", headers={"Authorization": f"Bearer {token}"})[0] == 200

    # One that stays and does not read on holds the one place there is; others are told, and pages are served.
    with begin(server, token):
        status, refusal = server.request("GET", LIST, headers={"Authorization": f"Bearer {token}"})
        assert (status, refusal["type"]) == (429, "error")
        assert server.request("GET", f"{LIST}?$pageSize=1", headers={"Authorization": f"Bearer {token}"})[0] == 200
        # Until the database loses patience; then the place is free again, although the client is still there.
        end = time.monotonic() + 30
        while in_transaction(server) and time.monotonic() < end:
            time.sleep(0.2)
        assert in_transaction(server) == 0
