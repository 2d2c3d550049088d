"""A minimal HTTP client: one persistent connection and no parsing beyond what a measurement needs."""

from __future__ import annotations

import socket
import time
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TimedResponse:
    status: int
    headers: dict[bytes, bytes]
    """Header names are in lower case."""
    body: bytes
    seconds: float

    def header(self, name: str) -> str:
        return self.headers.get(name.lower().encode(), b"").decode()


class TimingClient:
    def __init__(self, port: int) -> None:
        self.port = port
        self.connect()

    def connect(self) -> None:
        """Open a new connection. The workers share the port, so another worker may accept it."""
        self.socket = socket.create_connection(("127.0.0.1", self.port), timeout=120)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.stream = self.socket.makefile("rb", buffering=262_144)

    def reconnect(self) -> None:
        self.stream.close()
        self.socket.close()
        self.connect()

    def get(self, path: str, token: str = "", keep_body: bool = True) -> TimedResponse:
        request = self._head("GET", path, token) + b"\r\n"
        try:
            return self._send(request, keep_body)
        except ConnectionError:
            # The server closes idle connections, for example while other contenders take long.
            self.reconnect()
            return self._send(request, keep_body)

    def post(self, path: str, body: bytes = b"", token: str = "") -> TimedResponse:
        head = self._head("POST", path, token) + b"Content-Type: application/json\r\n"
        return self._send(b"%sContent-Length: %d\r\n\r\n%s" % (head, len(body), body))

    def _head(self, method: str, path: str, token: str) -> bytes:
        credential = f"Authorization: Bearer {token}\r\n" if token else ""
        return f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n{credential}".encode()

    def _send(self, request: bytes, keep_body: bool = True) -> TimedResponse:
        started = time.perf_counter()
        self.socket.sendall(request)
        status = self.stream.readline()
        if not status:
            raise ConnectionError("the server closed the connection")
        headers = {}
        while (line := self.stream.readline()) != b"\r\n":
            name, _, value = line.partition(b":")
            headers[name.lower()] = value.strip()
        if b"transfer-encoding" in headers:
            body = self._read_chunks(keep_body)
        else:
            body = self.stream.read(int(headers.get(b"content-length", 0)))
        return TimedResponse(int(status[9:12]), headers, body, time.perf_counter() - started)

    def _read_chunks(self, keep_body: bool) -> bytes:
        chunks = []
        while size := int(self.stream.readline(), 16):
            chunk = self.stream.read(size)
            if keep_body:
                chunks.append(chunk)
            self.stream.readline()
        self.stream.readline()
        return b"".join(chunks)
