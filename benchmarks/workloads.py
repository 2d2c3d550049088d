"""The workloads W1 to W7: one storage of generated elements, served by the service, the floor and plain DRF.

Each request with a filter (W5) asks for something else, so that no total is cached from the request before. A filter
matches about the same number of elements in a storage of any size, so that times differ by finding and not by
rendering. Only `Contains` matches more in a larger storage.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cache, partial
from urllib.parse import quote
from uuid import UUID

import orjson

from benchmarks.installation import COLLECTION, BenchmarkInstallation, BenchmarkServer
from benchmarks.load import Contender, TimingClient, Workload, raw_request
from elements.demo.sample import BEGIN, sample_lines

SERVICE, FLOOR, PLAIN = "service", "floor", "plain DRF"
CONNECTIONS = (1, 8, 64)
ELEMENTS = 10_000
READ = f"s{ELEMENTS}"
WRITTEN = "written"
"""A second storage of the same size, because drafts in the first would change its responses."""
# These elements have a draft that can be changed: half for the service, half for the floor.
OURS, THEIRS = range(9_000, 9_200), range(9_200, 9_400)
RELEASED = range(9_500, 9_990)
"""W6 makes and releases new versions of these."""
PARTS = "$resources=attributes,related,children"
WHOLE_LIST = "W7 whole list"
PROCESS_KIND, TAG_KIND, USER_KIND, TAGS = 3, 7, 9, 50
PAGE, NAMES, TITLES = 100, 1_000, 40
STRIDE = 7_919
"""A prime that divides no size, so that successive numbers lead to different places."""


def sample_id(number: int, kind: int = PROCESS_KIND) -> str:
    """Return the id of a generated element (see `elements.demo.sample`)."""
    return str(UUID(int=(kind << 64) + number))


def spread(number: int, elements: int = ELEMENTS) -> int:
    """Return a different element for each number: low numbers are near the root of the tree, others are leaves."""
    return number * STRIDE % elements


def changes(name: str) -> dict[str, dict[str, str]]:
    return {name: {"1033": f"changed {random.random()}"}}  # noqa: S311  not a secret


@cache
def _names() -> list[str]:
    """Return the names of the first processes, which are the same in a storage of any size."""
    processes = list(sample_lines(NAMES))[-NAMES:]
    return [orjson.loads(line)["attributes"]["name"]["1033"] for line in processes]


def _name(number: int) -> str:
    return _names()[number * STRIDE % NAMES]


def _digits(number: int) -> str:
    """Return eight digits. Those of successive numbers differ from the first digit on."""
    return str(10_000_000 + number * 55_623_059 % 90_000_000)


@cache
def _frequent_names() -> list[str]:
    """Return the names whose words, without the number at their end, are frequent."""
    titles = {title for title, _ in Counter(name.rpartition(" ")[0] for name in _names()).most_common(TITLES)}
    return [name for name in _names() if name.rpartition(" ")[0] in titles]


def name_starts(number: int, elements: int) -> str:
    """Match a few elements: a larger storage gets more digits."""
    names = _frequent_names()
    title, _, digits = names[number * STRIDE % len(names)].rpartition(" ")
    return f"StartsWith(name, '{title} {digits[: len(str(elements)) - 4]}')"


def name_in(number: int, elements: int) -> str:
    return "name -in ({})".format(", ".join(f"'{_name(number + place)}'" for place in (0, 331, 662)))


def date_range(number: int, elements: int) -> str:
    """Match as many elements as a page has."""
    start = BEGIN + timedelta(seconds=number * STRIDE % (elements - PAGE))
    return f"changedOn -ge {start.isoformat()} AND changedOn -lt {(start + timedelta(seconds=PAGE)).isoformat()}"


# Made from the number of the request and the number of elements.
FILTERS: dict[str, Callable[[int, int], str]] = {
    "name -eq": lambda number, elements: f"name -eq '{_name(number)}'",
    "StartsWith": name_starts,
    "-in": name_in,
    "date range": date_range,
    # A third of the names end in a g before their number, so some three elements in a thousand match.
    "Contains": lambda number, elements: f"Contains(name, 'g {_digits(number)[:2]}')",
}
EXPECTED = {"name -eq": 1, "-in": 3, "date range": PAGE}
"""Matches of the filters for which the number is known exactly."""


@dataclass(frozen=True)
class StorageRequests:
    """Requests to the service about one storage."""

    server: BenchmarkServer
    key: str
    elements: int = ELEMENTS
    as_of: str = ""
    """Time whose content all requests read; empty for today."""
    caller: str = ""
    """Name of the caller's token; empty for that of an administrator."""

    def request(self, path: str, body: bytes | None = None, tag: str = "") -> bytes:
        token = self.server.tokens[self.caller or self.key]
        if self.as_of:
            path += f"{'&' if '?' in path else '?'}$asOf={self.as_of}"
        return raw_request(self.server.port, f"/{COLLECTION}/{self.key}/_api/{path}", token, body, tag=tag)

    def view(self, path: str, body: bytes | None = None, facet: str = "processes") -> bytes:
        return self.request(f"rest/facets/{facet}/views/detail/elements{path}", body)

    def page(self, number: int = 1, size: int = PAGE, more: str = "") -> bytes:
        return self.view(f"?{PARTS}&$page={number}&$pageSize={size}{more}")

    def first_page(self, number: int) -> bytes:
        return self.page()

    def known_page(self, number: int, tag: str) -> bytes:
        """Return the request for the first page by a client that has it already."""
        return self.request(f"rest/facets/processes/views/detail/elements?{PARTS}&$page=1&$pageSize={PAGE}", tag=tag)

    def empty_page(self, number: int) -> bytes:
        """Return a request for a page of a facet that has no elements."""
        return self.view(f"?{PARTS}&$page=1&$pageSize={PAGE}", facet="knowledge")

    def search(self, number: int, title: str) -> bytes:
        """Return one of the filters of W5."""
        return self.page(more=f"&$filter={quote(FILTERS[title](number, self.elements))}")

    def one(self, number: int) -> bytes:
        return self.view(f"/{sample_id(spread(number, self.elements))}")

    def agent(self, number: int) -> bytes:
        """Return the message of an agent that reads one element."""
        call = {"name": "read_element", "arguments": {"id": str(sample_id(spread(number, self.elements)))}}
        return self.request("mcp", orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}))

    def whole_list(self, number: int = 0) -> bytes:
        return self.view(f"?{PARTS}")

    def update(self, number: int) -> bytes:
        element = {"id": sample_id(OURS[number % len(OURS)]), "attributes": changes("scope")}
        return self.view("", orjson.dumps({"elements": [element]}))

    def update_tag(self, number: int) -> bytes:
        """Return a change that needs no draft."""
        element = {"id": sample_id(number % TAGS, TAG_KIND), "attributes": changes("name")}
        return self.view("", orjson.dumps({"elements": [element]}), "tags")

    def bulk(self, operation: str, count: int) -> bytes:
        """Return a change of the reviewers of many elements."""
        reviewer = {"reviewer": [{"id": sample_id(0, USER_KIND)}]}
        ids = [sample_id(1 + number) for number in range(count)]
        return self.bulk_report("", orjson.dumps({"ids": ids, "operations": [{operation: {"related": reviewer}}]}))

    def bulk_report(self, run: str, body: bytes | None = None) -> bytes:
        return self.request(f"rest/facets/processes/views/detail/bulk/{run}".rstrip("/"), body)

    def transitions(self, number: int) -> bytes:
        return self.request(f"release/{sample_id(number % self.elements)}/transitions")

    def new_version(self, number: int) -> bytes:
        return self.request(f"release/{sample_id(number)}/createversion", b"")

    def bpmn(self, document: bytes | None = None) -> bytes:
        """Return the export of a diagram of a draft, or the import of a document into it."""
        path = f"/{COLLECTION}/{self.key}/_api/v1/bpmn/{sample_id(OURS[-1])}"
        return raw_request(self.server.port, path, self.server.tokens[self.key], document, "application/xml")

    def picture(self, tag: str = "") -> bytes:
        """Return the picture of that diagram, if it does not have this entity tag."""
        path = f"/{COLLECTION}/{self.key}/_api/rest/diagram/{sample_id(OURS[-1])}/render/1033/vertical"
        return raw_request(self.server.port, path, self.server.tokens[self.key], tag=tag)

    def release(self, number: int) -> bytes:
        path = f"release/{sample_id(number)}/transitions/InProcessToReleased?ignoreWarnings=true"
        return self.request(path, b"{}")


def make_drafts(storage: StorageRequests, numbers: Iterable[int]) -> None:
    client = TimingClient(storage.server.port)
    for number in numbers:
        client.send(storage.new_version(number), (200, 409))  # 409: an earlier run has made the draft


class Contenders:
    """The service, the floor and plain DRF, started and compared."""

    def __init__(self, installation: BenchmarkInstallation) -> None:
        self.service = installation.serve()
        environ = {
            "BENCHMARK_STORAGE": installation.storage_id(READ),
            "BENCHMARK_WRITTEN": installation.storage_id(WRITTEN),
            "BENCHMARK_BASE": f"http://127.0.0.1:{self.service.port}/{COLLECTION}/{READ}",
            "BENCHMARK_DATABASE": installation.bypass_url,
        }
        self.floor = installation.serve("benchmarks.contenders.floor:application", **environ)
        settings = {"DJANGO_SETTINGS_MODULE": "benchmarks.contenders.plain_settings"}
        self.plain = installation.serve("benchmarks.contenders.plain:application", **environ, **settings)
        make_drafts(self.storage(WRITTEN), (*OURS, *THEIRS))
        self.compare_responses()

    def storage(self, key: str = READ, server: BenchmarkServer | None = None) -> StorageRequests:
        return StorageRequests(server or self.service, key)

    def of_floor(self, path: str, body: bytes | None = None) -> bytes:
        return raw_request(self.floor.port, path, body=body)

    def compare_responses(self) -> None:
        """Check that the floor sends the same bytes as the service; otherwise the comparison means nothing."""
        storage, ours, theirs = self.storage(), TimingClient(self.service.port), TimingClient(self.floor.port)
        for request, other in (
            *((storage.page(number), f"/list?page={number}&size=100") for number in (1, 90)),
            *((storage.one(number), f"/{sample_id(spread(number))}") for number in (0, 77, 5_000)),
            (storage.whole_list(), "/all"),
        ):
            if ours.send(request).body != theirs.send(self.of_floor(other)).body:
                raise SystemExit(
                    "error: the responses of floor and service differ; adapt benchmarks/contenders/floor.py"
                )

    def update_floor(self, number: int) -> bytes:
        path = f"/{sample_id(THEIRS[number % len(THEIRS)])}"
        return self.of_floor(path, orjson.dumps({"attributes": changes("scope")}))

    def main_workloads(self, connections: int, plain_seconds: float) -> list[Workload]:
        """Return W1, W2 and W3 for this many connections."""
        storage, floor, plain = self.storage(), self.of_floor, partial(raw_request, self.plain.port)
        add = partial(self._workload, connections=connections, plain_seconds=plain_seconds)
        return [
            add(
                "W1 list of 100",
                storage.first_page,
                lambda _: floor("/list?page=1&size=100"),
                lambda _: plain("/elements/?page=1"),
            ),
            add(
                "W2 one element",
                storage.one,
                lambda number: floor(f"/{sample_id(spread(number))}"),
                lambda number: plain(f"/elements/{sample_id(spread(number))}/"),
            ),
            add("W3 update of one element", self.storage(WRITTEN).update, self.update_floor),
        ]

    def other_workloads(self) -> dict[str, Workload]:
        """Return those that are measured on one connection only, by title."""
        storage, floor, add = self.storage(), self.of_floor, self._workload
        found = [
            add("W4 page 90 of 100", lambda _: storage.page(90), lambda _: floor("/list?page=90&size=100")),
            *(add(f"W5 {title}", partial(storage.search, title=title)) for title in FILTERS),
            add("W6 list of transitions", self.storage(WRITTEN).transitions),
            add(WHOLE_LIST, storage.whole_list, lambda _: floor("/all")),
        ]
        return {each.title: each for each in found}

    def _workload(
        self, title: str, *requests: Callable[[int], bytes], connections: int = 1, plain_seconds: float = 0
    ) -> Workload:
        """The requests are those of the service, the floor and plain DRF, in this order."""
        known = {SERVICE: (self.service, 0.0), FLOOR: (self.floor, 0.0), PLAIN: (self.plain, plain_seconds)}
        contenders = {name: Contender(make, *known[name]) for name, make in zip(known, requests, strict=False)}
        return Workload(title, contenders, connections)


def mixed_requests(storages: Sequence[StorageRequests]) -> Callable[[int], bytes]:
    """Return requests of all kinds, each to the next storage: of a thousand, a whole list, 99 pages, 50 filters, 50
    updates, 50 lists of transitions, and single elements."""
    titles = list(FILTERS)
    kinds: dict[Callable[[StorageRequests, int, int], bytes], int] = {
        lambda storage, number, turn: storage.whole_list(): 1,
        lambda storage, number, turn: storage.page(1 + turn % (storage.elements // PAGE)): 99,
        lambda storage, number, turn: storage.search(number, titles[turn % len(titles)]): 50,
        lambda storage, number, turn: storage.update_tag(number): 50,
        lambda storage, number, turn: storage.transitions(number): 50,
        lambda storage, number, turn: storage.one(number): 750,
    }

    def request(number: int) -> bytes:
        # Random: a number of storages with a common divisor would otherwise always get the same kind.
        [kind] = random.choices(list(kinds), list(kinds.values()))  # noqa: S311  not a secret
        return kind(storages[number % len(storages)], number, number // len(storages))

    return request
