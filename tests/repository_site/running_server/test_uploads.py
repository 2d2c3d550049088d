"""Uploads to a running server: at the same time, cut off, slow, and larger than memory should hold (D450, D453)."""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.patience import BUSY_SECONDS
from tests.server_process import Server

pytestmark = [pytest.mark.long, pytest.mark.server]
FILES = "/demo/showcase/_api/rest/files"
INFO = "/demo/showcase/_api/rest/info"
MEGABYTE = 1024 * 1024


@pytest.fixture(scope="module")
def token(server: Server) -> str:
    return str(json.loads((server.data_dir / "demo-credentials.json").read_text())["token"])


def upload(server: Server, token: str, content: Any, name: str) -> tuple[int, Any]:
    chunked = {"Transfer-Encoding": "chunked"} if isinstance(content, list) else {}
    return server.request("POST", f"{FILES}?name={name}", content, {"Authorization": f"Bearer {token}", **chunked})


def begin(
    server: Server, token: str, size: int, content: bytes, name: str, *headers: str, path: str = FILES
) -> socket.socket:
    lines = (
        f"POST {path}?name={name} HTTP/1.1", "Host: 127.0.0.1", f"Authorization: Bearer {token}",
        f"Content-Length: {size}", "Connection: close", *headers, "", "",
    )  # fmt: skip
    client = socket.create_connection(("127.0.0.1", server.port), timeout=60)
    client.sendall("\r\n".join(lines).encode() + content)
    return client


def stored(server: Server, content: bytes) -> list[Path]:
    return list((server.data_dir / "files").glob(f"*/*/{hashlib.sha256(content).hexdigest()}"))


def incoming(server: Server) -> list[Path]:
    return list((server.data_dir / "files" / "incoming").iterdir())


def wait_until_nothing_arrives(server: Server) -> None:
    end = time.monotonic() + BUSY_SECONDS
    while incoming(server):
        assert time.monotonic() < end, incoming(server)
        time.sleep(0.05)


def test_same_file_from_fifty_clients_at_once(server: Server, token: str) -> None:
    content = os.urandom(300_000)
    with ThreadPoolExecutor(50) as pool:
        answers = list(pool.map(lambda _: upload(server, token, content, "same.bin"), range(50)))
    # A storage gets a part of the threads that receive bodies; those that were refused try again. On a busy machine,
    # threads of this client may be too slow: the server of the test gives each body one second.
    assert {status for status, _ in answers} <= {200, 408, 429, 503}, answers
    ids = {body["values"][0]["id"] for status, body in answers if status == 200}
    assert len(ids) == 1
    assert len(stored(server, content)) == 1
    wait_until_nothing_arrives(server)


def test_cut_off_in_the_middle(server: Server, token: str) -> None:
    content = os.urandom(200_000)
    begin(server, token, len(content), content[:100_000], "cut.bin").close()
    wait_until_nothing_arrives(server)
    assert stored(server, content) == stored(server, content[:100_000]) == []
    assert upload(server, token, [content[:5], content[5:]], "whole.bin")[0] == 200


def test_slow_uploads_hold_no_connection(server: Server, token: str) -> None:
    """More uploads than connections wait for their clients, and other requests are answered at once."""
    content = os.urandom(400_000)
    clients = [begin(server, token, len(content), content[:200_000], f"slow{number}.bin") for number in range(12)]
    end = time.monotonic() + BUSY_SECONDS
    while len(incoming(server)) < 12:
        assert time.monotonic() < end
        time.sleep(0.05)
    busy = "SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%' OR state = 'active'"
    assert server.ask(f"{busy} AND usename <> 'postgres'") == 0
    assert server.request("GET", INFO)[0] == 200
    for client in clients:
        client.sendall(content[200_000:])
    for client in clients:
        with client:
            assert client.recv(100).startswith(b"HTTP/1.1 200 ")
    assert len(stored(server, content)) == 1


def test_memory_is_constant(server: Server, token: str) -> None:
    block = os.urandom(MEGABYTE)
    upload(server, token, block, "warm.bin")
    server.forget_peak_memory()
    before = server.peak_memory()
    status, body = upload(server, token, [block] * 80, "large.bin")
    assert (status, body["values"][0]["size"]) == (200, 80 * MEGABYTE)
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    address = f"{FILES}/{body['values'][0]['id']}"
    connection.request("GET", address, headers={"Authorization": f"Bearer {token}"})
    response = connection.getresponse()
    found = hashlib.sha256()
    while piece := response.read(MEGABYTE):
        found.update(piece)
    connection.close()
    assert found.hexdigest() == body["values"][0]["sha256"]
    assert server.peak_memory() - before < 20 * MEGABYTE
    assert upload(server, token, [block] * 101, "larger.bin")[0] == 413
    wait_until_nothing_arrives(server)


@pytest.mark.parametrize(("path", "megabytes"), [(FILES, 120), (INFO, 10)])
def test_client_sees_the_refusal_of_a_body_that_it_announces(
    server: Server, token: str, path: str, megabytes: int
) -> None:
    """It reads only after it has sent everything. A server that closed the connection earlier would reset it (D457)."""
    size, block = megabytes * MEGABYTE, bytes(MEGABYTE)
    with begin(server, token, size, b"", "larger.bin", path=path) as client:
        for _ in range(megabytes):
            client.sendall(block)
        assert client.recv(100).startswith(b"HTTP/1.1 413 ")
    waiting = begin(server, token, size, b"", "larger.bin", "Expect: 100-continue", path=path)
    with waiting as client:
        assert client.recv(100).startswith(b"HTTP/1.1 413 "), "without 100 Continue"
    wait_until_nothing_arrives(server)
