"""Requests as bytes, which wrk sends as well, and a client that sends one and measures its time."""

from __future__ import annotations

import socket
import time
from dataclasses import dataclass
from http.client import HTTPMessage, HTTPResponse


def raw_request(port: int, path: str, token: str = "", body: bytes | None = None) -> bytes:
    """Return a GET request, or a POST request if there is a body."""
    method = "GET" if body is None else "POST"
    lines = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{port}"]
    if token:
        lines.append(f"Authorization: Bearer {token}")
    if body is not None:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode() + (body or b"")


@dataclass(frozen=True, slots=True)
class TimedResponse:
    status: int
    headers: HTTPMessage
    body: bytes
    seconds: float


class TimingClient:
    """One persistent connection. It opens a new one if the server has closed it because it was idle."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.socket: socket.socket | None = None

    def send(self, request: bytes, expected: tuple[int, ...] = (200,)) -> TimedResponse:
        try:
            response = self._send(request)
        except ConnectionError:
            self.socket = None
            response = self._send(request)
        if response.status not in expected:
            raise SystemExit(f"error: status {response.status} for {request[:300]!r}: {response.body[:500]!r}")
        return response

    def _send(self, request: bytes) -> TimedResponse:
        if self.socket is None:
            self.socket = socket.create_connection(("127.0.0.1", self.port), timeout=120)
        started = time.perf_counter()
        self.socket.sendall(request)
        response = HTTPResponse(self.socket)
        response.begin()
        body = response.read()
        return TimedResponse(response.status, response.headers, body, time.perf_counter() - started)
