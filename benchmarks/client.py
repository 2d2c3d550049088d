"""A client that costs next to nothing: one kept connection, requests as bytes."""

from __future__ import annotations

import socket
import time
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    head: bytes
    body: bytes
    seconds: float

    def header(self, name: str) -> str | None:
        wanted = name.lower().encode() + b": "
        for line in self.head.split(b"\r\n"):
            if line.lower().startswith(wanted):
                return line[len(wanted) :].decode()
        return None


class Connection:
    def __init__(self, port: int) -> None:
        self.port = port
        self.socket = self._connect()

    def _connect(self) -> socket.socket:
        found = socket.create_connection(("127.0.0.1", self.port), timeout=120)
        found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return found

    def again(self) -> None:
        self.socket.close()
        self.socket = self._connect()

    def receive(self) -> bytes:
        piece = self.socket.recv(262_144)
        if not piece:
            raise ConnectionError("the server closed the connection")
        return piece


class Client:
    def __init__(self, connection: Connection, token: str = "") -> None:
        self.connection = connection
        host = f"Host: 127.0.0.1:{connection.port}\r\n"
        self.always = host + (f"Authorization: Bearer {token}\r\n" if token else "")

    def called_by(self, token: str) -> Client:
        """Somebody else on the same connection, and so with the same worker."""
        return Client(self.connection, token)

    def reconnect(self) -> None:
        """The workers share the port; a new connection may reach another of them."""
        self.connection.again()

    def get(self, path: str, more: str = "", keeps: bool = True) -> Reply:
        """Without `keeps` the body is read and forgotten, for answers that are larger than one would keep."""
        request = f"GET {path} HTTP/1.1\r\n{self.always}{more}\r\n".encode()
        try:
            return self.send(request, keeps)
        except ConnectionError:
            # The server closes what nobody has used for a while, as when others take long.
            self.reconnect()
            return self.send(request, keeps)

    def post(self, path: str, body: bytes = b"") -> Reply:
        head = f"POST {path} HTTP/1.1\r\n{self.always}Content-Type: application/json\r\n"
        return self.send(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)

    def send(self, request: bytes, keeps: bool = True) -> Reply:
        started = time.perf_counter()
        self.connection.socket.sendall(request)
        received = bytearray()
        while (end := received.find(b"\r\n\r\n")) < 0:
            received += self.connection.receive()
        head = bytes(received[:end])
        body = received[end + 4 :]
        length = _length(head)
        if length is None:
            body = self._chunks(body, keeps)
        else:
            while len(body) < length:
                body += self.connection.receive()
        seconds = time.perf_counter() - started
        return Reply(int(head[9:12]), head, bytes(body), seconds)

    def _chunks(self, received: bytearray, keeps: bool) -> bytearray:
        """The body of an answer that comes in chunks."""
        body, place = bytearray(), 0
        while True:
            while (end := received.find(b"\r\n", place)) < 0:
                received += self.connection.receive()
            size = int(received[place:end], 16)
            while len(received) < end + 4 + size:
                received += self.connection.receive()
            if not size:
                return body
            if keeps:
                body += received[end + 2 : end + 2 + size]
            place = end + 4 + size
            if place > 8_000_000:
                del received[:place]
                place = 0


def _length(head: bytes) -> int | None:
    lower = head.lower()
    place = lower.find(b"\r\ncontent-length:")
    if place < 0:
        # An answer without a body, such as 304, has neither length nor chunks.
        return None if b"transfer-encoding" in lower else 0
    return int(lower[place + 17 :].split(b"\r\n", 1)[0])
