"""Bodies of requests as the server worker receives them: their end, disconnects, and a minimum rate (D198)."""

from __future__ import annotations

import socket
import time
from typing import Any

import pytest

from repository_site.operations import wsgi_worker
from repository_site.operations.wsgi_worker import RequestBody
from tests.server_process import Server

INFO = "/demo/showcase/_api/rest/info"
GONE: dict[str, Any] = {"type": "http.disconnect"}


def piece(body: bytes, more: bool = True) -> dict[str, Any]:
    return {"type": "http.request", "body": body, "more_body": more}


class Sender:
    """The server and the clock: each message arrives after some seconds."""

    def __init__(self, *messages: tuple[float, dict[str, Any]]) -> None:
        self.now = 0.0
        self.messages = list(messages)

    def monotonic(self) -> float:
        return self.now

    def receive(self) -> Any:
        return None

    def wait(self, awaitable: Any, seconds: float) -> Any:
        after, message = self.messages.pop(0)
        if after > seconds:
            self.now += seconds
            raise TimeoutError
        self.now += after
        return message


def body_of(monkeypatch: pytest.MonkeyPatch, *messages: tuple[float, dict[str, Any]]) -> tuple[RequestBody, Sender]:
    sender = Sender(*messages)
    monkeypatch.setattr(wsgi_worker, "time", sender)
    return RequestBody(sender, sender.wait, seconds=10, rate=100), sender


def test_a_body_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    body, _ = body_of(monkeypatch, (0, piece(b"ab")), (5, piece(b"cd")), (4, piece(b"", more=False)))
    assert (body.read(3), body.read(), body.is_complete) == (b"abc", b"d", True)


def test_a_disconnect_is_not_the_end_of_a_body(monkeypatch: pytest.MonkeyPatch) -> None:
    body, _ = body_of(monkeypatch, (0, piece(b"[1]")), (0, GONE))
    with pytest.raises(OSError, match="disconnected before the end"):
        body.read(100)
    body, _ = body_of(monkeypatch, (0, GONE))
    body.drain()
    assert body.is_complete


def test_a_client_that_sends_too_slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    body, sender = body_of(monkeypatch, (4, piece(b"a")), (4, piece(b"b")), (4, piece(b"c")))
    with pytest.raises(TimeoutError):
        body.read(100)
    assert sender.now == pytest.approx(10.02)
    assert body.is_complete


def test_a_large_body_has_the_time_that_its_rate_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = [(9.0, piece(b"x" * 1_000)) for _ in range(5)]
    body, sender = body_of(monkeypatch, *pieces, (4, piece(b"y", more=False)))
    assert (len(body.read()), sender.now) == (5_001, 49)
    body, sender = body_of(monkeypatch, *pieces, (20, piece(b"y")))
    with pytest.raises(TimeoutError):
        body.read()
    assert sender.now == 60


def test_what_the_server_does_in_between_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    body, sender = body_of(monkeypatch, (4, piece(b"ab")), (5, piece(b"cd")), (1, piece(b"ef", more=False)))
    sender.now += 60
    assert body.read(2) == b"ab"
    sender.now += 60
    assert (body.read(), body.is_complete) == (b"cdef", True)


def test_pauses_of_the_server_do_not_help_a_slow_client(monkeypatch: pytest.MonkeyPatch) -> None:
    body, sender = body_of(monkeypatch, *((4, piece(b"a")) for _ in range(9)))
    with pytest.raises(TimeoutError):
        for _ in range(9):
            sender.now += 60
            body.read(1)
    assert body.is_complete


@pytest.mark.long
@pytest.mark.server
@pytest.mark.parametrize(
    ("header", "start"), [("Content-Length: 500", b"{"), ("Transfer-Encoding: chunked", b"1\r\n{\r\n")]
)
def test_a_server_ends_requests_whose_bodies_trickle_in(server: Server, header: str, start: bytes) -> None:
    lines = (f"POST {INFO} HTTP/1.1", "Host: 127.0.0.1", "Content-Type: application/json", header, "", "")
    clients = [socket.create_connection(("127.0.0.1", server.port), timeout=60) for _ in range(5)]
    began = time.monotonic()
    for each in clients:
        each.sendall("\r\n".join(lines).encode() + start)
    for each in clients:
        with each:
            answer = b""
            while received := each.recv(65536):
                answer += received
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert b"arrives more slowly than 8192 bytes a second." in answer
    assert 0.9 < time.monotonic() - began < 50
    assert server.request("GET", INFO)[0] == 200


@pytest.mark.long
@pytest.mark.server
def test_bodies_over_real_http(server: Server) -> None:
    json_type = {"Content-Type": "application/json"}
    assert server.request("POST", INFO, b"")[0] == 200
    assert server.request("POST", INFO, [b""], {**json_type, "Transfer-Encoding": "chunked"})[0] == 200
    chunked = server.request("POST", INFO, [b'{"a":', b"1}"], {**json_type, "Transfer-Encoding": "chunked"})
    assert (chunked[0], chunked[1]["message"]) == (400, "This operation only reads and takes no body.")
    assert server.request("POST", INFO, b"x" * 1001, json_type)[0] == 413
    too_long = server.request("POST", INFO, [b"x" * 600, b"x" * 600], {"Transfer-Encoding": "chunked"})
    assert too_long[0] == 413
    # The server does not support HTTP/2 (D166): it does not answer the settings frame with one.
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as client:
        client.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\x04\0\0\0\0\0")
        assert client.recv(1000)[:12] in (b"", b"HTTP/1.1 400")
