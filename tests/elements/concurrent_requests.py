"""Concurrent requests to a server, as an architect sends them."""

from __future__ import annotations

import http.client
import json
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

from tests.elements.handbook import ID
from tests.server_process import Server

Body = dict[str, Any]
T = TypeVar("T")
FACETS = "/acme/handbook/_api/rest/facets"
PROCESSES, SYSTEMS = f"{FACETS}/processes/views/detail/elements", f"{FACETS}/it/views/detail/elements"
# Seconds for which a connection is reused; less than the server keeps it.
KEPT = 20


class LoadAnswer(NamedTuple):
    status: int
    body: Any
    etag: str | None

    @property
    def element(self) -> Body:
        assert self.status == 200, self.body
        found: Body = self.body["elements"][0]
        return found


class LoadClient:
    """Client of an architect. It reuses connections for a while, each in one thread at a time."""

    def __init__(self, server: Server, token: str) -> None:
        self.server, self.token = server, token
        self.idle: list[tuple[http.client.HTTPConnection, float]] = []

    def call(self, method: str, address: str, body: Any = None, **headers: str) -> LoadAnswer:
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        headers |= {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        connection = self.connect()
        try:
            connection.request(method, address, None if body is None else json.dumps(body), headers)
            response = connection.getresponse()
            found = LoadAnswer(response.status, json.loads(response.read()), response.getheader("ETag"))
        except (OSError, http.client.HTTPException):
            connection.close()
            raise
        self.idle.append((connection, time.monotonic()))
        return found

    def connect(self) -> http.client.HTTPConnection:
        """Return a connection that the server has not yet closed for being idle."""
        while self.idle:
            connection, used = self.idle.pop()
            if time.monotonic() - used < KEPT:
                return connection
            connection.close()
        return http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)

    def close(self) -> None:
        for connection, _ in self.idle:
            connection.close()

    def update(self, *elements: Body, address: str = PROCESSES, **headers: str) -> LoadAnswer:
        return self.call("POST", address, {"elements": list(elements)}, **headers)

    def read(self, element: str, address: str = PROCESSES) -> LoadAnswer:
        return self.call("GET", f"{address}/{element}")

    def process(self, name: str, parent: str = ID["sales"]) -> str:
        return str(self.processes(name, count=1, parent=parent)[0])

    def processes(self, name: str, count: int, parent: str = ID["sales"]) -> list[str]:
        return self.ids(self.update(*(process(f"{name} {number}", parent) for number in range(count))))

    def systems(self, name: str, count: int) -> list[str]:
        made = ({"type": "system", "attributes": named(f"{name} {number}")} for number in range(count))
        return self.ids(self.update(*made, address=SYSTEMS))

    def ids(self, answer: LoadAnswer) -> list[str]:
        assert answer.status == 200, answer.body
        return [each["id"] for each in answer.body["elements"]]


def together(calls: Sequence[Callable[[], T]], threads: int = 16) -> list[T]:
    """Run all calls as concurrently as these threads can."""
    with ThreadPoolExecutor(threads) as pool:
        return [each.result() for each in [pool.submit(call) for call in calls]]


def statuses(answers: Sequence[LoadAnswer]) -> Counter[int]:
    return Counter(each.status for each in answers)


def named(text: str) -> Body:
    return {"name": {"1033": text}}


def process(name: str, parent: str, **more: Any) -> Body:
    return {"type": "subProcess", "attributes": named(name), "rootPath": [{"id": parent}], **more}
