"""Workers that close connections, so that less busy workers get them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import pytest
from structlog.testing import capture_logs

from repository_site.core.fairness.admission import AFTER_SENDING
from repository_site.core.fairness.unread_responses import MEDIUM
from repository_site.operations.balance import ENOUGH_RESPONSES, PAUSE, Balance
from repository_site.operations.wsgi_worker import Gateway
from tests.repository_site.request_scopes import scope


class Worker:
    """The view of one of several workers, whose clock a test sets."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, busy: int, *others: int) -> None:
        self.now = 1_000.0
        monkeypatch.setattr(time, "monotonic", lambda: self.now)
        self.balance = Balance(1 + len(others))
        self.balance.join(0)
        self.balance._busy[:] = [0, *others]
        for _ in range(busy):
            self.balance.begin()

    def closed(self, responses: int) -> list[int]:
        return [number for number in range(1, responses + 1) if self.balance.has_too_much()]


@pytest.mark.parametrize(
    ("busy", "others", "closes"),
    [
        (5, [3], True),
        (6, [2], True),
        (4, [4], False),
        (5, [4], False),
        (3, [5], False),
        (2, [0], True),
        (1, [0], False),
        # Many requests differ more, and it matters less.
        (34, [30], False),
        (40, [30], True),
        # The least busy of several workers counts.
        (4, [4, 4, 2], True),
        (8, [], False),
    ],
)
def test_a_worker_that_is_busier_closes(
    monkeypatch: pytest.MonkeyPatch, busy: int, others: list[int], closes: bool
) -> None:
    worker = Worker(monkeypatch, busy, *others)
    assert worker.closed(ENOUGH_RESPONSES) == [ENOUGH_RESPONSES] * closes


def test_connections_are_closed_one_after_another(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = Worker(monkeypatch, 8, 0)
    assert worker.closed(50) == [ENOUGH_RESPONSES]
    worker.now += 2 * PAUSE
    assert worker.closed(50) == [1]


def test_a_moment_is_not_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = Worker(monkeypatch, 4, 2)
    assert worker.closed(ENOUGH_RESPONSES - 1) == []
    worker.balance.end()
    assert worker.closed(1) == []
    worker.balance.begin()
    assert worker.closed(ENOUGH_RESPONSES - 1) == []


def test_the_successor_of_a_killed_worker_begins_with_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = Worker(monkeypatch, 6, 0)
    worker.balance.join(0)
    assert worker.closed(50) == []


class ScriptedConnection:
    """The side of the server: a request without a body, and a client that reads whatever is sent."""

    def __init__(self, query: bytes) -> None:
        self.scope = scope(query_string=query)
        self.proto = self
        self.headers: list[tuple[bytes, bytes]] = []

    def receive(self) -> ScriptedConnection:
        return self

    def send(self, message: dict[str, Any]) -> ScriptedConnection:
        self.headers += message.get("headers", [])
        return self

    def done(self) -> bool:
        return True

    def cancel(self) -> None: ...

    def result(self) -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    def __await__(self) -> Iterator[None]:
        return iter(())


@pytest.mark.parametrize(
    ("query", "size", "busy", "is_closed"),
    [(b"", 1, 1, True), (b"", MEDIUM + 1, 1, True), (b"%24wait=30", 1, 0, False)],
)
def test_requests_count_while_a_thread_works_on_them(
    monkeypatch: pytest.MonkeyPatch, query: bytes, size: int, busy: int, is_closed: bool
) -> None:
    """The client of a large response reads when it wants, and one that follows changes waits: closing its connection
    would not help anybody."""
    loop, seen, client = asyncio.new_event_loop(), [], ScriptedConnection(query)

    def answer(environment: dict[str, Any], start: Any) -> list[bytes]:
        start("200 OK", [])
        seen.append(gateway.balance._busy[0])
        return [b"x" * size]

    gateway = Gateway(answer, loop)
    gateway.balance = Balance(2)
    gateway.balance.join(0)
    monkeypatch.setattr(gateway.balance, "has_too_much", lambda: True)
    gateway.handle(client)
    # Of a large response, nothing of the rest is sent before the loop runs.
    assert (seen, gateway.balance._busy[0]) == ([busy], 0)
    assert client.headers == [(b"connection", b"close")] * is_closed
    loop.run_until_complete(asyncio.sleep(0.01))
    loop.close()


def test_the_functions_for_after_sending_are_called_once_and_forgotten() -> None:
    """They refer to the request, whose environment has the list of them (D211). An error in one of them is
    logged, and the others still run."""
    loop, client, seen, lists = asyncio.new_event_loop(), ScriptedConnection(b""), [], []

    class Response(list[bytes]):
        def close(self) -> None:
            seen.append("closed")

    def answer(environment: dict[str, Any], start: Any) -> Response:
        start("200 OK", [])
        lists.append(environment[AFTER_SENDING])
        lists[0] += [lambda: seen.append("inner"), lambda: [][0], lambda: seen.append("outer")]
        return Response([b"x"])

    with capture_logs() as logs:
        Gateway(answer, loop).handle(client)
    assert (seen, lists) == (["closed", "outer", "inner"], [[]])
    assert [(each["event"], each["log_level"]) for each in logs] == [("work after a response failed", "error")]
    loop.close()
