"""An installation with an attacker and a victim, and measurements of what the victim notices of an attack (D195)."""

from __future__ import annotations

import http.client
import json
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from repository_site.core import environment
from tests.server_process import Server, free_port

WORKERS = 2
ATTACKER, VICTIM = "/attacker/handbook", "/victim/handbook"
ELEMENTS = "_api/rest/facets/processes/views/detail/elements"
PROCESSES = f"{VICTIM}/{ELEMENTS}"
# Requests of each kind in a round, and seconds between them.
ROUND, BREATH = 30, 0.01
# More than a batch, so that the whole list is streamed.
PROCESSES_OF_VICTIM, PROCESSES_OF_ATTACKER = 600, 4_000
FILL = f"""
from io import StringIO
from django.core.management import call_command
from tests.faults.sessions import begin_session
quiet = {{"stdout": StringIO(), "stderr": StringIO()}}
for collection, count in (("attacker", {PROCESSES_OF_ATTACKER}), ("victim", {PROCESSES_OF_VICTIM})):
    call_command("sample_storage", collection, "handbook", str(count), "--plain", **quiet)
    call_command("issue_token", collection, "handbook", "--name", "load", "--role", "architect")
print(begin_session("eve", "attacker"))
"""


@dataclass
class Measured:
    """Measurements of a victim: seconds by kind of request, and statuses."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    statuses: Counter[int] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    def p95(self, kind: str) -> float:
        return statistics.quantiles(self.seconds[kind], n=20)[-1] if len(self.seconds[kind]) > 1 else 0.0


class Arena:
    def __init__(self, folder: Path, **environ: str) -> None:
        self.server = Server(folder / "var", free_port())
        self.server.environ |= {
            "REPOSITORY_BODY_LIMIT": str(10 * 1024 * 1024),
            # Rates count requests; here, only what requests cost may protect the victim.
            "REPOSITORY_TOKEN_RATE": "off",
            "REPOSITORY_ANONYMOUS_RATE": "off",
            **environ,
        }
        self.attacker = self.victim = self.session = ""
        self.ids: list[str] = []
        self.drafts: list[str] = []
        self.quiet = Measured()
        """The victim before the first attack."""

    def start(self) -> None:
        self.server.start("serve", "--workers", str(WORKERS))
        done = self.server.manage("shell", "--no-imports", "-c", FILL)
        assert done.returncode == 0, done.stderr
        self.attacker, self.victim, self.session = done.stdout.split()
        self.prepare_victim()

    def request(self, address: str, body: Any = None, *, anonymous: bool = False, session: bool = False) -> str:
        """Return the text of an attacker's request: POST with a body, which is XML if it is a text, else GET."""
        lines = [
            f"{'GET' if body is None else 'POST'} {address} HTTP/1.1",
            "Host: 127.0.0.1",
            "Accept-Encoding: identity",
        ]
        if session:
            lines.append(f"Cookie: sessionid={self.session}")
        elif not anonymous:
            lines.append(f"Authorization: Bearer {self.attacker}")
        content = "" if body is None else body if isinstance(body, str) else json.dumps(body)
        if body is not None:
            kind = "xml" if isinstance(body, str) else "json"
            lines += [f"Content-Type: application/{kind}", f"Content-Length: {len(content)}"]
        return "\r\n".join([*lines, "", content])

    def call_as_attacker(self, address: str, body: Any = None) -> Any:
        headers = {"Authorization": f"Bearer {self.attacker}", "Content-Type": "application/json"}
        content = None if body is None else json.dumps(body)
        status, found = self.server.request("GET" if body is None else "POST", address, content, headers)
        assert status == 200, found
        return found

    def create(self, element: dict[str, Any]) -> str:
        """Create an element of the attacker, and return its id."""
        made = self.call_as_attacker(f"{ATTACKER}/{ELEMENTS}", {"elements": [element]})
        identity: str = made["elements"][0]["id"]
        return identity

    @property
    def elements_of_attacker(self) -> list[str]:
        page = self.call_as_attacker(f"{ATTACKER}/{ELEMENTS}?$page=1&$pageSize=10")
        return [each["id"] for each in page["elements"]]

    @contextmanager
    def attack(self, *plan: dict[str, Any]) -> Iterator[Counter[str]]:
        """Attack for as long as the block runs; the statuses are known afterwards."""
        found: Counter[str] = Counter()
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.attackers", str(self.server.port)],
            cwd=environment.PROJECT_DIR,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdin is not None
        process.stdin.write(json.dumps(plan) + "\n")
        process.stdin.flush()
        try:
            yield found
        finally:
            told, _ = process.communicate("end\n", timeout=60)
            found.update(json.loads(told))

    def measure(self) -> Measured:
        """Read, write and list as the victim, one request after the other, and whole lists beside that."""
        found, is_over = Measured(), threading.Event()
        beside = threading.Thread(target=self._list_all, args=(found, is_over))
        beside.start()
        try:
            self._use(found)
        finally:
            is_over.set()
            beside.join()
        return found

    def _use(self, found: Measured) -> None:
        with closing(Victim(self, found)) as victim:
            for number in range(ROUND):
                one = self.drafts[number % len(self.drafts)]
                victim.call("read", "GET", f"{PROCESSES}/{self.ids[number % len(self.ids)]}")
                changed = {"id": one, "attributes": {"scope": {"1033": f"{time.monotonic()}"}}}
                victim.call("write", "POST", PROCESSES, {"elements": [changed]})
                victim.call("page", "GET", f"{PROCESSES}?$page={number % 10 + 1}&$pageSize=50")
                time.sleep(BREATH)

    def _list_all(self, found: Measured, is_over: threading.Event) -> None:
        with closing(Victim(self, found)) as victim:
            while not is_over.wait(BREATH):
                victim.call("whole list", "GET", PROCESSES)

    def prepare_victim(self) -> None:
        with closing(Victim(self, Measured())) as victim:
            page = victim.call("page", "GET", f"{PROCESSES}?$page=1&$pageSize=50")
            self.ids = [each["id"] for each in page["elements"]]
            new = [{"type": "subProcess", "attributes": {"name": {"1033": f"Draft {number}"}}} for number in range(5)]
            made = victim.call("write", "POST", PROCESSES, {"elements": new})
            self.drafts = [each["id"] for each in made["elements"]]


class Victim:
    """One connection of the victim."""

    def __init__(self, arena: Arena, found: Measured) -> None:
        self.found = found
        self.connection = http.client.HTTPConnection("127.0.0.1", arena.server.port, timeout=60)
        self.headers = {"Authorization": f"Bearer {arena.victim}", "Content-Type": "application/json"}

    def call(self, kind: str, method: str, address: str, body: Any = None) -> Any:
        started = time.perf_counter()
        self.connection.request(method, address, None if body is None else json.dumps(body), self.headers)
        response = self.connection.getresponse()
        content = response.read()
        self.found.seconds.setdefault(kind, []).append(time.perf_counter() - started)
        self.found.statuses[response.status] += 1
        if response.status != 200:
            self.found.problems.append(f"{kind}: {response.status} {content[:200]!r}")
        try:
            return json.loads(content)
        except ValueError:
            self.found.problems.append(f"{kind}: incomplete after {len(content)} bytes")
            return {}

    def close(self) -> None:
        self.connection.close()


def dear_filter(conditions: int) -> str:
    return quote(" OR ".join(f"Contains(attributes,'x{number}')" for number in range(conditions)))
