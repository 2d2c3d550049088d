"""Clients of an attacker, in a process of their own, so that they do not slow down the client that is measured.

`python -m tests.faults.attackers PORT < plan.json` opens connections that send the same request again and again, whatever
the response says, until its input ends and at least one response has arrived. It then writes how often it got each
status.
"""

from __future__ import annotations

import json
import select
import selectors
import socket
import sys
import time
from collections import Counter
from typing import Any

LENGTH = b"content-length:"
SMALL_BUFFER = 8_192
# Seconds to wait for the first response of a busy server.
PATIENCE = 30


class Attacker:
    """One connection. A slow one reads `bytes_per_second`, or sends its body at that rate."""

    def __init__(self, port: int, request: bytes, rate: int, is_slow_body: bool) -> None:
        self.port, self.request, self.rate, self.is_slow_body = port, request, rate, is_slow_body
        self.seen = bytearray()
        self.unsent = b""
        self.is_in_head, self.left = True, 0
        self.status = 0
        self.due = 0.0
        self.socket = self.connect()

    def connect(self) -> socket.socket:
        made = socket.socket()
        if self.rate and not self.is_slow_body:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL_BUFFER)
        made.settimeout(30)
        made.connect(("127.0.0.1", self.port))
        made.setblocking(False)
        return made

    def begin(self) -> None:
        self.seen.clear()
        self.is_in_head, self.left = True, 0
        self.unsent = self.request

    def send(self, now: float) -> None:
        size = len(self.unsent)
        if self.is_slow_body and size < len(self.request):
            size, self.due = self.rate, now + 1
        elif self.is_slow_body:
            size = self.request.index(b"\r\n\r\n") + 4
        sent = self.socket.send(self.unsent[:size])
        self.unsent = self.unsent[sent:]

    def receive(self, now: float) -> int:
        """Read what is there, and return the status of a response that is complete."""
        piece = self.socket.recv(self.rate if self.rate else 1 << 20)
        if not piece:
            raise ConnectionError
        if self.rate:
            self.due = now + 1
        if self.is_in_head:
            self.seen += piece
            head, separator, rest = bytes(self.seen).partition(b"\r\n\r\n")
            if not separator:
                return 0
            self.is_in_head, self.status = False, int(head[9:12])
            place = head.lower().find(LENGTH)
            self.left = int(head[place + len(LENGTH) :].split(b"\r\n")[0]) if place >= 0 else -1
            piece = rest
            self.seen.clear()
        if self.left < 0:
            self.seen = (self.seen + piece)[-5:]
            return self.status if self.seen.endswith(b"0\r\n\r\n") else 0
        self.left -= len(piece)
        return self.status if self.left <= 0 else 0


def attack(port: int, plan: list[dict[str, Any]]) -> Counter[int]:
    found: Counter[int] = Counter()
    attackers = [
        Attacker(port, each["request"].encode("latin-1"), each.get("rate", 0), bool(each.get("slow_body")))
        for each in plan
        for _ in range(each["connections"])
    ]
    with selectors.DefaultSelector() as selector:
        for each in attackers:
            each.begin()
            selector.register(each.socket, selectors.EVENT_READ | selectors.EVENT_WRITE, each)
        while not select.select([sys.stdin], [], [], 0)[0]:
            step(selector, found)
            if any(each.rate for each in attackers):
                time.sleep(0.02)
        end = time.monotonic() + PATIENCE
        while not found and time.monotonic() < end:
            step(selector, found)
    return found


def step(selector: selectors.BaseSelector, found: Counter[int]) -> None:
    for key, events in selector.select(0.1):
        each, now = key.data, time.monotonic()
        if now < each.due:
            continue
        try:
            if events & selectors.EVENT_WRITE and each.unsent:
                each.send(now)
            if events & selectors.EVENT_READ:
                status = each.receive(now)
                if status:
                    found[status] += 1
                    each.begin()
        except BlockingIOError:
            continue
        except OSError:
            found[0] += 1
            selector.unregister(each.socket)
            each.socket.close()
            each.socket = each.connect()
            each.begin()
            selector.register(each.socket, selectors.EVENT_READ | selectors.EVENT_WRITE, each)
            continue
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if each.unsent else 0)
        if wanted != key.events:
            selector.modify(each.socket, wanted, each)


if __name__ == "__main__":
    counts = attack(int(sys.argv[1]), json.loads(sys.stdin.readline()))
    sys.stdout.write(json.dumps(counts) + "\n")
