"""Receivers of webhooks: real servers that answer well, badly, slowly or not at all."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    line: str
    headers: dict[str, str]
    body: bytes
    at: float


class Receiver:
    """Listens on a free port, and answers each request by the behaviour that its path names, or by `default`."""

    def __init__(self, default: str = "ok") -> None:
        self.default = default
        self.requests: list[ReceivedRequest] = []
        self.connections = 0
        self.open = 0
        self.refuses: Callable[[ReceivedRequest], bool] = lambda received: False
        self.stopping = threading.Event()
        self._lock = threading.Lock()
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=500)
        self.port = self._socket.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def url(self, path: str = "") -> str:
        return f"http://127.0.0.1:{self.port}/{path}"

    def close(self) -> None:
        self.stopping.set()
        self._socket.close()

    def _accept(self) -> None:
        while not self.stopping.is_set():
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=[connection], daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with self._lock:
            self.connections += 1
            self.open += 1
        try:
            with connection, suppress(OSError):
                received = self._read(connection)
                if received is not None and self.refuses(received):
                    connection.sendall(b"HTTP/1.1 503 Later\r\nContent-Length: 0\r\n\r\n")
                elif received is not None:
                    name = received.line.split()[1].strip("/")
                    BEHAVIOURS[name if name in BEHAVIOURS else self.default](self, connection)
        finally:
            with self._lock:
                self.open -= 1

    def _read(self, connection: socket.socket) -> ReceivedRequest | None:
        data = b""
        while b"\r\n\r\n" not in data:
            if not (part := connection.recv(65536)):
                return None
            data += part
        head, _, body = data.partition(b"\r\n\r\n")
        line, *lines = head.decode().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (each.partition(":") for each in lines)}
        while len(body) < int(headers.get("content-length", 0)):
            body += connection.recv(65536)
        received = ReceivedRequest(line, headers, body, time.monotonic())
        with self._lock:
            self.requests.append(received)
        return received


Behaviour = Callable[[Receiver, socket.socket], None]


def says(answer: bytes) -> Behaviour:
    return lambda receiver, connection: connection.sendall(answer)


def status(code: int, *headers: str) -> Behaviour:
    lines = [f"HTTP/1.1 {code} Reason", *headers, "Content-Length: 2", "", "no"]
    return says("\r\n".join(lines).encode())


def hang(receiver: Receiver, connection: socket.socket) -> None:
    receiver.stopping.wait(60)


def slow(receiver: Receiver, connection: socket.socket) -> None:
    time.sleep(0.15)
    connection.sendall(OK)


def drip_headers(receiver: Receiver, connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\n")
    while not receiver.stopping.wait(0.02):
        connection.sendall(b"x")


def drip_body(receiver: Receiver, connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
    while not receiver.stopping.wait(0.02):
        connection.sendall(b"x")


def continue_for_ever(receiver: Receiver, connection: socket.socket) -> None:
    while not receiver.stopping.wait(0.005):
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")


BEHAVIOURS: dict[str, Behaviour] = {
    "ok": says(OK),
    "accepted": says(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"),
    "chunked": says(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"),
    "broken": status(500),
    "missing": status(404),
    "gone": status(410),
    "busy": status(503, "Retry-After: 120"),
    "busy-for-days": status(429, "Retry-After: 999999"),
    "broken-for-a-while": status(500, "Retry-After: 120"),
    "redirect": status(302, "Location: http://127.0.0.1:1/"),
    "hang": hang,
    "slow": slow,
    "drip-headers": drip_headers,
    "drip-body": drip_body,
    "continue": continue_for_ever,
    "too-long": says(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nshort"),
    "too-short": says(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nmuch longer"),
    "huge": says(b"HTTP/1.1 200 OK\r\nContent-Length: 10485760\r\n\r\n" + b"x" * 10_485_760),
    "huge-headers": says(b"HTTP/1.1 200 OK\r\n" + b"X-Long: " + b"y" * 60_000 + b"\r\nX-More: " + b"z" * 60_000),
    "nonsense": says(b"not http at all\r\n\r\n"),
    "closes": says(b""),
    "zero-bytes": says(b"\0\xff not http\r\n\r\n"),
}


@contextmanager
def receiving(default: str = "ok") -> Iterator[Receiver]:
    receiver = Receiver(default)
    try:
        yield receiver
    finally:
        receiver.close()
