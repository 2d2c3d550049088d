"""A steady load of readers and writers that record every response, and the checks after it.

Writers repeat refused requests with the same Idempotency-Key, as clients should. So in the end every change must be
stored completely, and once.
"""

from __future__ import annotations

import http.client
import itertools
import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple, Self

from tests.elements.handbook import ID
from tests.faults.installation import STORAGE, Installation
from tests.figures import note
from tests.patience import BUSY_SECONDS, SLOWER

API = f"{STORAGE}/_api"
PROCESSES = f"{API}/rest/facets/processes/views/detail/elements"
SYSTEMS = f"{API}/rest/facets/it/views/detail/elements"
READS = (
    f"{PROCESSES}?$resources=attributes,related&$pageSize=20",
    f"{PROCESSES}/{ID['order']}",
    f"{API}/rest/info",
)
PAGES = (
    f"{STORAGE}/1033/",
    f"{STORAGE}/1033/processes/{ID['order']}",
    f"{STORAGE}/admin/",
    f"{STORAGE}/admin/elements/element/",
)
# Seconds that a client waits for an answer, and that it pauses: readers after each request, writers after three.
TIMEOUT, BREATH = 60, 0.04
# Seconds in which all open requests must be answered once a load ends.
LAST_TRIES = 60
Body = dict[str, Any]


class Answer(NamedTuple):
    """A response; `status` is 0 if the connection was refused or broke."""

    kind: str
    sent: float
    seconds: float
    status: int
    body: Any
    retry_after: str | None

    @property
    def is_refusal(self) -> bool:
        return self.status in (0, 429) or self.status >= 500


class Client:
    """A client that keeps one connection for as long as it works."""

    def __init__(self, installation: Installation, kind: str) -> None:
        self.installation, self.kind = installation, kind
        self.connection: http.client.HTTPConnection | None = None

    def call(self, method: str, address: str, body: Any = None, **headers: str) -> Answer:
        sent = time.monotonic()
        address = address.replace(STORAGE, f"/{self.installation.collection}/handbook", 1)
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        if "/_api/" in address:
            headers |= {"Authorization": f"Bearer {self.installation.token}", "Content-Type": "application/json"}
        else:
            headers |= {"Cookie": f"sessionid={self.installation.session}"}
        if self.connection is None:
            self.connection = http.client.HTTPConnection("127.0.0.1", self.installation.server.port, timeout=TIMEOUT)
        try:
            self.connection.request(method, address, None if body is None else json.dumps(body), headers)
            response = self.connection.getresponse()
            content = response.read()
        except (OSError, http.client.HTTPException):
            self.close()
            return Answer(self.kind, sent, time.monotonic() - sent, 0, None, None)
        is_json = response.getheader("Content-Type", "").startswith("application/json")
        found = json.loads(content) if is_json and content else content
        return Answer(
            self.kind, sent, time.monotonic() - sent, response.status, found, response.getheader("Retry-After")
        )

    def close(self) -> None:
        if self.connection is not None:
            self.connection.close()
            self.connection = None


@dataclass
class Load:
    """Runs inside a `with` block; `settle` then compares the acknowledged writes with the stored content."""

    installation: Installation
    name: str
    writers: int = 3
    readers: int = 2
    answers: list[Answer] = field(default_factory=list)
    probes: list[Answer] = field(default_factory=list)
    made: dict[int, str] = field(default_factory=dict)
    """Acknowledged elements by the number in their name."""
    released: set[int] = field(default_factory=set)
    numbers: itertools.count[int] = field(default_factory=itertools.count)
    kept: dict[str, list[int]] = field(default_factory=dict)
    """The acknowledged numbers by element."""

    def __enter__(self) -> Self:
        self.stop, self.given_up = threading.Event(), threading.Event()
        self.desk = Client(self.installation, "check")
        self.rival = self.installation.everything_of_the_rival()
        [self.parent] = self.create(f"Parent of {self.name}")
        self.shared = self.create(*(f"Kept by {self.name} {number}" for number in range(self.writers)))
        tasks: list[Callable[[], None]] = [lambda each=each: self.write(each) for each in self.shared]  # type: ignore[misc]
        tasks += [lambda: self.read("read", READS)] * self.readers
        tasks += [lambda: self.read("page", PAGES), self.probe]
        self.pool = ThreadPoolExecutor(len(tasks))
        self.clients = [self.pool.submit(task) for task in tasks]
        try:
            self.run_until(lambda: len(self.made) > 2 * self.writers and self.count("page") >= len(PAGES))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *problem: object) -> None:
        self.stop.set()
        wait(self.clients, timeout=LAST_TRIES)
        self.given_up.set()
        self.pool.shutdown()
        self.desk.close()
        for each in self.clients:
            each.result()

    def create(self, *names: str) -> list[str]:
        parent = [{"id": getattr(self, "parent", ID["sales"])}]
        elements = [
            {"type": "subProcess", "attributes": {"name": {"1033": each}}, "rootPath": parent} for each in names
        ]
        answer = self.desk.call("POST", PROCESSES, {"elements": elements})
        assert answer.status == 200, answer
        return [each["id"] for each in answer.body["elements"]]

    def run_until(self, is_so: Callable[[], bool], seconds: float = 20) -> None:
        end = time.monotonic() + SLOWER * seconds
        while not is_so():
            assert time.monotonic() < end, Counter((each.kind, each.status) for each in self.answers[-200:])
            for each in self.clients:
                if each.done():
                    each.result()
            time.sleep(0.02)

    def run_for(self, seconds: float) -> None:
        time.sleep(seconds)

    def slowest(self, since: float = 0.0) -> float:
        return max(each.seconds for each in self.answers if each.sent >= since)

    def pause(self, since: float) -> float:
        """Return the longest time without an acknowledged write."""
        writes = (each for each in self.answers if each.kind == "write" and each.status == 200)
        ends = sorted(each.sent + each.seconds for each in writes)
        return max(later - earlier for earlier, later in pairwise([since, *(end for end in ends if end > since)]))

    def has_refused(self, *kinds: str) -> bool:
        return {each.kind for each in self.answers if each.is_refusal} >= set(kinds)

    def count(self, kind: str) -> int:
        return sum(each.kind == kind for each in self.answers)

    def write(self, shared: str) -> None:
        """Create a process together with a system, write three values at once, release the process; in turn."""
        client = Client(self.installation, "write")
        kept = self.kept[shared] = []
        while not self.stop.is_set():
            number = next(self.numbers)
            text = str(number)
            tool = {"type": "system", "attributes": {"name": {"1033": f"Tool {self.name} {number}"}}}
            made = {
                "type": "subProcess",
                "attributes": {"name": {"1033": f"{self.name} {number}"}, "scope": {"1031": text, "1033": text}},
                "rootPath": [{"id": self.parent}],
                "related": {"tools": [tool]},
            }
            answer = self.insist(client, PROCESSES, {"elements": [made]}, f"make-{self.name}-{number}")
            if answer is None:
                break
            element = answer.body["elements"][0]
            self.made[number] = element["id"]
            values = {"scope": {"1031": text, "1033": text}, "count": {"127": number}}
            change = {"elements": [{"id": shared, "attributes": values}]}
            if self.insist(client, PROCESSES, change, f"keep-{self.name}-{number}") is None:
                break
            kept.append(number)
            release = f"{API}/release/{element['versionId']}/transitions/InProcessToReleased?ignoreWarnings=true"
            if self.insist(client, release, None, f"release-{self.name}-{number}") is None:
                break
            self.released.add(number)
            self.stop.wait(BREATH)
        client.close()

    def insist(self, client: Client, address: str, body: Any, key: str) -> Answer | None:
        """Send a request until it is acknowledged or the load ends."""
        while True:
            answer = client.call("POST", address, body, Idempotency_Key=key.replace(" ", "-"))
            self.answers.append(answer)
            if answer.status == 200:
                return answer
            assert answer.is_refusal, answer
            # At the end of a test every refused client gets one more attempt, so that all work is done.
            if self.stop.wait(BREATH * 5) and self.given_up.is_set():
                return None

    def read(self, kind: str, addresses: tuple[str, ...]) -> None:
        client = Client(self.installation, kind)
        for address in itertools.cycle(addresses):
            self.answers.append(client.call("GET", address)._replace(body=address))
            if self.stop.wait(BREATH):
                break
        client.close()

    def probe(self) -> None:
        """Ask `/readyz` as a load balancer does, each time over a new connection."""
        for kind in itertools.cycle(("ready", "healthy")):
            client = Client(self.installation, kind)
            self.probes.append(client.call("GET", "/readyz" if kind == "ready" else "/healthz"))
            client.close()
            if self.stop.wait(BREATH):
                break

    def settle(
        self,
        *,
        since: float,
        within: float,
        alike: str = "",
        may_break: bool = False,
        refusal: int = 503,
        group: str = "faults",
        **more: float,
    ) -> None:
        """Check that nothing is lost, incomplete or stuck after a fault that ended at `since`. Note `more` figures."""
        refused = [each for each in self.answers if each.is_refusal]
        statuses = Counter((each.kind, each.status) for each in refused)
        allowed = {refusal, 0} if may_break else {refusal}
        assert {each.status for each in refused} <= allowed, (
            statuses,
            [each for each in refused if each.status != refusal],
        )
        assert {each.retry_after for each in refused if each.status} <= {"1", "2", "5", "30"}, statuses
        unread = [each for each in self.answers if each.kind in ("read", "page") and each.status not in (200, *allowed)]
        assert unread == []
        back = max((each.sent + each.seconds - since for each in refused), default=0.0)
        assert back < within, f"refused until {back:.1f} s after it was over: {statuses}"
        # The probe is ready again once all clients are served.
        served = since + max(back, 0.0) + 1
        unready = [each.sent - served for each in self.probes if each.kind == "ready" and each.status != 200]
        assert max(unready, default=0.0) < BUSY_SECONDS, f"still not ready {unready} s after all clients are served"
        lost = self.check_stored()
        figures = {
            "tried": len(self.answers),
            "acknowledged": len(self.made) + len(self.released) + sum(map(len, self.kept.values())),
            "refused": len(refused),
            "seconds": round(max(back, 0.0), 1),
            "lost": len(lost),
        }
        if group == "fail-overs":
            figures["pause"] = round(self.pause(since), 1)
        note(group, alike or self.name, **figures, **{name: round(value, 1) for name, value in more.items()})
        assert lost == []
        self.installation.check_nothing_is_stuck()
        self.installation.check_lifecycles()
        assert self.installation.everything_of_the_rival() == self.rival
        # A worker that dies breaks the connection of the probe; a running worker is always healthy.
        assert {each.status for each in self.probes if each.kind == "healthy"} <= ({200, 0} if may_break else {200})
        self.desk.close()

    def check_stored(self) -> list[int]:
        """Return acknowledged elements that are missing or incomplete. Every stored element must be complete."""
        children = self.all_of(f"{PROCESSES}/{self.parent}/children")
        found = {}
        for each in children:
            name = each["attributes"]["name"]["1033"]
            if not name.startswith("Kept"):
                found[int(name.removeprefix(f"{self.name} "))] = each
        assert len(found) + len(self.shared) == len(children), "something was made twice"
        lost = [number for number, id in self.made.items() if number not in found or found[number]["id"] != id]
        lost += [number for number, each in found.items() if not self.is_whole(number, each)]
        tools = self.all_of(f"{SYSTEMS}?$filter=StartsWith(name,'Tool {self.name} ')".replace(" ", "%20"))
        assert {each["id"] for each in tools} == {each["related"]["tools"][0]["id"] for each in found.values()}
        assert len(tools) == len(found)
        for element, numbers in self.kept.items():
            self.check_kept(element, numbers)
        return lost

    def is_whole(self, number: int, element: Body) -> bool:
        attributes = element["attributes"]
        texts = attributes["scope"] == {"1031": str(number), "1033": str(number)}
        is_released = attributes["isReleased"]["127"] or number not in self.released
        return texts and len(element["related"]["tools"]) == 1 and bool(is_released)

    def check_kept(self, element: str, numbers: list[int]) -> None:
        """Check that values written together agree, and that the change history has every acknowledged one exactly once."""
        stored = self.desk.call("GET", f"{PROCESSES}/{element}").body["elements"][0]["attributes"]
        history = self.desk.call("GET", f"{PROCESSES}/{element}/history?$pageSize=1000").body["values"]
        changes = [each["after"]["attributes"] for each in history if each["action"] == "updated"]
        told = [int(each["scope[1033]"]) for each in changes]
        assert [each for each in told if each in set(numbers)] == numbers[::-1]
        assert len(set(told)) == len(told) <= len(numbers) + 1
        assert [each for each in changes if {str(value) for value in each.values()} != {each["scope[1033]"]}] == []
        assert {len(each) for each in changes} == {3}
        assert stored["scope"] == {"1031": str(told[0]), "1033": str(told[0])}
        assert stored["count"] == {"127": told[0]}

    def all_of(self, address: str) -> list[Body]:
        answer = self.desk.call("GET", address)
        assert answer.status == 200, answer
        found: list[Body] = answer.body["elements"]
        return found

    def ready_between(self, begin: float, end: float) -> Counter[int]:
        """Return the answers of `/readyz` to requests that started and ended in this period."""
        return Counter(
            each.status
            for each in self.probes
            if each.kind == "ready" and begin <= each.sent and each.sent + each.seconds <= end
        )
