"""Load from wrk: latencies and throughput of contenders that take turns. Single requests are timed in Python.

A slow moment of the machine affects all contenders, because they send in rounds of a few seconds each.
"""

from __future__ import annotations

import json
import math
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.client import HTTPMessage, HTTPResponse
from itertools import count
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import NamedTuple

from benchmarks.installation import BenchmarkServer
from repository_site.core.terminal.progress import with_progress

SCRIPT = Path(__file__).with_name("load.lua")
MOST_ROUNDS = 40
# Turns of a contender with a limit.
SHORT_ROUNDS = 2
REQUESTS = 2_000
"""Different requests in a turn. A contender that answers more gets them again."""


def raw_request(
    port: int,
    path: str,
    token: str = "",
    body: bytes | None = None,
    content_type: str = "application/json",
    tag: str = "",
    session: str = "",
) -> bytes:
    """Return a GET request, or a POST request if there is a body. With a tag, the response may be 304."""
    head = f"{'GET' if body is None else 'POST'} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
    if token:
        head += f"Authorization: Bearer {token}\r\n"
    if session:
        head += f"Cookie: sessionid={session}\r\n"
    if tag:
        head += f"If-None-Match: {tag}\r\n"
    if body is not None:
        head += f"Content-Type: {content_type}\r\nContent-Length: {len(body)}\r\n"
    return f"{head}\r\n".encode() + (body or b"")


class TimedResponse(NamedTuple):
    headers: HTTPMessage
    body: bytes
    seconds: float


class TimingClient:
    """One connection, and so always the same worker."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=120)

    def send(self, request: bytes, expected: tuple[int, ...] = (200,)) -> TimedResponse:
        started = time.perf_counter()
        self.socket.sendall(request)
        response = HTTPResponse(self.socket)
        response.begin()
        body = response.read()
        if response.status not in expected:
            raise SystemExit(f"error: status {response.status} for {request[:300]!r}: {body[:500]!r}")
        return TimedResponse(response.headers, body, time.perf_counter() - started)


class Contender(NamedTuple):
    """`request` returns the request with a number, which selects the element, page or filter. A slow contender gets
    about this many `seconds`, however few requests it answers; 0 means no limit."""

    request: Callable[[int], bytes]
    server: BenchmarkServer
    seconds: float = 0.0


class Turn(NamedTuple):
    """Turns of a contender: at least this many, of so many seconds, and more until it has answered all requests."""

    rounds: int
    seconds: int
    requests: int


@dataclass
class Latencies:
    """`counts` are numbers of requests by microseconds."""

    counts: Counter[int] = field(default_factory=Counter)
    seconds: float = 0.0
    failed: int = 0

    @property
    def requests(self) -> int:
        return self.counts.total()

    @property
    def throughput(self) -> float:
        return self.requests / self.seconds

    @property
    def median(self) -> float:
        return self.percentile(50)

    @property
    def tail(self) -> float:
        """The 99th percentile, in medians."""
        return self.percentile(99) / self.median

    def percentile(self, percent: float) -> float:
        """Return the seconds in which this part of all requests was answered."""
        return sorted(self.counts.elements())[math.ceil(self.requests * percent / 100) - 1] / 1_000_000


@dataclass
class Workload:
    title: str
    contenders: Mapping[str, Contender]
    connections: int = 1
    found: dict[str, Latencies] = field(default_factory=dict)

    def measure(self, requests: int, rounds: int) -> None:
        """Let each contender answer at least this many requests, or as many as it can in its seconds."""
        turns = {name: self._turn_of(each, requests, rounds) for name, each in self.contenders.items()}
        self.found = {name: Latencies() for name in self.contenders}
        names = list(self.contenders)
        for number in range(MOST_ROUNDS):
            # The order rotates, so that no contender always follows the same other one.
            names = names[1:] + names[:1]
            for name in names:
                turn = turns[name]
                if number < turn.rounds or self.found[name].requests < turn.requests:
                    send_load(self.contenders[name], self.connections, turn.seconds, number, self.found[name])

    def _turn_of(self, contender: Contender, requests: int, rounds: int) -> Turn:
        # Two workers answer twice as many requests as one. A turn is long enough for two requests of each connection.
        each = warm_up(contender) / min(self.connections, 2)
        shortest = 2 * self.connections * each
        if contender.seconds:
            # Few turns, because the requests that are not answered at the end of a turn do not count.
            seconds = math.ceil(max(contender.seconds / SHORT_ROUNDS, shortest))
            return Turn(min(rounds, SHORT_ROUNDS), seconds, requests=self.connections)
        return Turn(rounds, math.ceil(max(requests / rounds * each, shortest)), requests)

    def ratio(self, name: str, to: str, of: str = "median") -> float:
        return float(getattr(self.found[name], of) / getattr(self.found[to], of))


def measure(title: str, workloads: Sequence[Workload], requests: int, rounds: int) -> None:
    for workload in with_progress(workloads, title, len(workloads)):
        workload.measure(requests, rounds)


def send_requests(title: str, contender: Contender, connections: int, requests: int) -> Latencies:
    """Send at least this many requests, whatever they measure."""
    found = Latencies()
    for turn in with_progress(count(), title):
        send_load(contender, connections, 5, turn, found)
        if found.requests >= requests:
            break
    return found


def warm_up(contender: Contender) -> float:
    """Send requests with negative numbers, which are not measured, and return the seconds of the fastest."""
    client = TimingClient(contender.server.port)
    return min(client.send(contender.request(number), (200, 304)).seconds for number in range(-3, 0))


def send_load(contender: Contender, connections: int, seconds: int, turn: int, found: Latencies) -> None:
    """Add what wrk measures in these seconds. Each turn has requests of its own."""
    with NamedTemporaryFile() as file:
        for number in range(turn * REQUESTS, (turn + 1) * REQUESTS):
            request = contender.request(number)
            file.write(b"%d %s" % (len(request), request))
        file.flush()
        command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "120s", "-s", str(SCRIPT)]
        address = f"http://127.0.0.1:{contender.server.port}"
        done = subprocess.run([*command, address, "--", file.name], capture_output=True, check=False)
    contender.server.wait_until_idle()
    if done.returncode:
        raise SystemExit(f"error: wrk ended with {done.returncode}: {done.stderr.decode()}")
    result = json.loads(done.stdout.splitlines()[-1])
    if failed := {kind: number for kind, number in result["failed"].items() if number}:
        sys.stderr.write(f"Requests with {connections} connections to port {contender.server.port} failed: {failed}\n")
    found.failed += sum(failed.values())
    found.counts.update(dict(result["counts"]))
    found.seconds += result["seconds"]
