"""A client for load tests against a real server, used by many threads at once."""

from __future__ import annotations

import http.client
import json
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

from tests.server_process import Server

T = TypeVar("T")
# Seconds for which an idle connection is used again; less than the server keeps it.
IDLE_SECONDS = 20


class LoadResponse(NamedTuple):
    status: int
    body: Any
    etag: str | None

    @property
    def element(self) -> dict[str, Any]:
        assert self.status == 200, self.body
        found: dict[str, Any] = self.body["elements"][0]
        return found


class LoadClient:
    """Calls with one token. Each thread takes an idle connection or opens a new one."""

    def __init__(self, server: Server, token: str) -> None:
        self.server, self.token = server, token
        self.idle: list[tuple[http.client.HTTPConnection, float]] = []

    def call(self, method: str, address: str, body: Any = None, **headers: str) -> LoadResponse:
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        headers |= {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        connection = self.connect()
        try:
            connection.request(method, address, None if body is None else json.dumps(body), headers)
            response = connection.getresponse()
            found = LoadResponse(response.status, json.loads(response.read()), response.getheader("ETag"))
        except (OSError, http.client.HTTPException):
            connection.close()
            raise
        self.idle.append((connection, time.monotonic()))
        return found

    def connect(self) -> http.client.HTTPConnection:
        while self.idle:
            connection, used = self.idle.pop()
            if time.monotonic() - used < IDLE_SECONDS:
                return connection
            connection.close()
        return http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)

    def close(self) -> None:
        for connection, _ in self.idle:
            connection.close()


def together(calls: Sequence[Callable[[], T]], threads: int = 16) -> list[T]:
    """Run the calls in threads and return their results in order."""
    with ThreadPoolExecutor(threads) as pool:
        return [each.result() for each in [pool.submit(call) for call in calls]]


def statuses(responses: Sequence[LoadResponse]) -> Counter[int]:
    return Counter(each.status for each in responses)
