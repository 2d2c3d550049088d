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
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from repository_site.core import environment
from tests.server_process import Server, free_port

WORKERS = 2
ATTACKER, VICTIM = "/attacker/handbook", "/victim/handbook"
ELEMENTS = "_api/rest/facets/processes/views/detail/elements"
# More than a batch, so that the whole list is streamed.
PROCESSES_OF_VICTIM, PROCESSES_OF_ATTACKER = 600, 4_000
FILL = f"""
from io import StringIO
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.core.management import call_command
from storage.tenancy.contexts import storage_at
from storage.models import StaffAccount, StorageMembership
quiet = {{"stdout": StringIO(), "stderr": StringIO()}}
for collection, count in (("attacker", {PROCESSES_OF_ATTACKER}), ("victim", {PROCESSES_OF_VICTIM})):
    call_command("sample_storage", collection, "handbook", str(count), **quiet)
    call_command("issue_token", collection, "handbook", "--name", "load", "--role", "architect")
account = StaffAccount.objects.create(username="eve", is_staff=True)
StorageMembership.objects.create(account=account, storage=storage_at("attacker", "handbook"), roles=["architect"])
session = SessionStore()
session[SESSION_KEY] = str(account.pk)
session[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
session[HASH_SESSION_KEY] = account.get_session_auth_hash()
session.save()
print(session.session_key)
"""


@dataclass
class Measured:
    """What a victim noticed: seconds by kind of request, and statuses."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    statuses: Counter[int] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    def p95(self, kind: str) -> float:
        return statistics.quantiles(self.seconds[kind], n=20)[-1]


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

    def start(self) -> None:
        self.server.start("serve", "--workers", str(WORKERS))
        done = self.server.manage("shell", "--no-imports", "-c", FILL)
        assert done.returncode == 0, done.stderr
        self.attacker, self.victim, self.session = done.stdout.split()

    def request(
        self, address: str, body: Any = None, *, anonymous: bool = False, session: bool = False, method: str = "GET"
    ) -> str:
        """Return the text of an attacker's request."""
        lines = [f"{method} {address} HTTP/1.1", "Host: 127.0.0.1", "Accept-Encoding: identity"]
        if session:
            lines.append(f"Cookie: sessionid={self.session}")
        elif not anonymous:
            lines.append(f"Authorization: Bearer {self.attacker}")
        content = "" if body is None else json.dumps(body)
        if body is not None:
            lines += ["Content-Type: application/json", f"Content-Length: {len(content)}"]
        return "\r\n".join([*lines, "", content])

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

    def measure(self, seconds: float) -> Measured:
        """Read, write and list as the victim, one request after the other, and whole lists beside that."""
        found, end = Measured(), time.monotonic() + seconds
        other = threading.Thread(target=self._use, args=(found, end, True))
        other.start()
        self._use(found, end, False)
        other.join()
        return found

    def _use(self, found: Measured, end: float, lists_all: bool) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        headers = {"Authorization": f"Bearer {self.victim}", "Content-Type": "application/json"}
        address = f"{VICTIM}/{ELEMENTS}"

        def call(kind: str, method: str, at: str, body: Any = None) -> Any:
            started = time.perf_counter()
            connection.request(method, at, None if body is None else json.dumps(body), headers)
            response = connection.getresponse()
            content = response.read()
            found.seconds.setdefault(kind, []).append(time.perf_counter() - started)
            found.statuses[response.status] += 1
            if response.status != 200:
                found.problems.append(f"{kind}: {response.status} {content[:200]!r}")
            return json.loads(content)

        if lists_all:
            while time.monotonic() < end:
                call("whole list", "GET", address)
                time.sleep(0.2)
        else:
            ids = [each["id"] for each in call("page", "GET", f"{address}?$page=1&$pageSize=50")["elements"]]
            new = [{"type": "subProcess", "attributes": {"name": {"1033": f"Draft {number}"}}} for number in range(5)]
            drafts = [each["id"] for each in call("write", "POST", address, {"elements": new}).get("elements", ids)]
            number = 0
            while time.monotonic() < end:
                number += 1
                call("read", "GET", f"{address}/{ids[number % len(ids)]}")
                changed = {"id": drafts[number % len(drafts)], "attributes": {"scope": {"1033": f"{number}"}}}
                change = {"elements": [changed]}
                call("write", "POST", address, change)
                call("page", "GET", f"{address}?$page={number % 10 + 1}&$pageSize=50")
                time.sleep(0.01)
        connection.close()


def dear_filter(conditions: int) -> str:
    return quote(" OR ".join(f"Contains(attributes,'x{number}')" for number in range(conditions)))
