"""The workloads W1 to W7: one storage of generated elements, served by the service, the floor and plain DRF."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from urllib.parse import quote
from uuid import UUID

import orjson

from benchmarks.filters import FILTERS, PAGE, STRIDE
from benchmarks.http_client import TimingClient, raw_request
from benchmarks.installation import BYPASS_ROLE, COLLECTION, BenchmarkInstallation, BenchmarkServer
from benchmarks.load import Contender, Workload

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
PROCESS_KIND, TAG_KIND, TAGS = 3, 7, 50


def sample_id(number: int, kind: int = PROCESS_KIND) -> str:
    """Return the id of a generated element (see `elements.sample`)."""
    return str(UUID(int=(kind << 64) + number))


def spread(number: int, elements: int = ELEMENTS) -> int:
    """Return a different element for each number: low numbers are near the root of the tree, others are leaves."""
    return number * STRIDE % elements


def changes(name: str) -> dict[str, dict[str, str]]:
    return {name: {"1033": f"changed {random.random()}"}}  # noqa: S311  not a secret


@dataclass(frozen=True)
class StorageRequests:
    """Requests to the service about one storage."""

    server: BenchmarkServer
    token: str
    key: str
    elements: int = ELEMENTS

    def request(self, path: str, body: bytes | None = None) -> bytes:
        return raw_request(self.server.port, f"/{COLLECTION}/{self.key}/_api/{path}", self.token, body)

    def view(self, path: str, body: bytes | None = None, facet: str = "processes") -> bytes:
        return self.request(f"rest/facets/{facet}/views/detail/elements{path}", body)

    def page(self, number: int = 1, size: int = PAGE, more: str = "") -> bytes:
        return self.view(f"?{PARTS}&$page={number}&$pageSize={size}{more}")

    def first_page(self, number: int) -> bytes:
        return self.page()

    def filtered(self, text: str) -> bytes:
        return self.page(more=f"&$filter={quote(text)}")

    def search(self, number: int, title: str) -> bytes:
        """Return one of the filters of W5."""
        return self.filtered(FILTERS[title](number, self.elements))

    def one(self, number: int) -> bytes:
        return self.view(f"/{sample_id(spread(number, self.elements))}")

    def whole_list(self) -> bytes:
        return self.view(f"?{PARTS}")

    def update(self, number: int) -> bytes:
        element = {"id": sample_id(OURS[number % len(OURS)]), "attributes": changes("scope")}
        return self.view("", orjson.dumps({"elements": [element]}))

    def update_tag(self, number: int) -> bytes:
        """Return a change that needs no draft."""
        element = {"id": sample_id(number % TAGS, TAG_KIND), "attributes": changes("name")}
        return self.view("", orjson.dumps({"elements": [element]}), "tags")

    def transitions(self, number: int) -> bytes:
        return self.request(f"release/{sample_id(number % self.elements)}/transitions")

    def new_version(self, number: int) -> bytes:
        return self.request(f"release/{sample_id(number)}/createversion", b"")

    def release(self, number: int) -> bytes:
        path = f"release/{sample_id(number)}/transitions/InProcessToReleased?ignoreWarnings=true"
        return self.request(path, b"{}")


def storage_in(
    installation: BenchmarkInstallation, server: BenchmarkServer, key: str, elements: int = ELEMENTS
) -> StorageRequests:
    return StorageRequests(server, installation.tokens[key], key, elements)


@dataclass(frozen=True)
class Contenders:
    installation: BenchmarkInstallation
    service: BenchmarkServer
    floor: BenchmarkServer
    plain: BenchmarkServer

    @classmethod
    def start(cls, installation: BenchmarkInstallation) -> Contenders:
        service = installation.serve()
        environ = {
            "BENCHMARK_STORAGE": installation.storage_id(READ),
            "BENCHMARK_WRITTEN": installation.storage_id(WRITTEN),
            "BENCHMARK_BASE": f"http://127.0.0.1:{service.port}/{COLLECTION}/{READ}",
            "BENCHMARK_DATABASE": installation.database_url(BYPASS_ROLE),
        }
        floor = installation.serve("benchmarks.floor:application", **environ)
        settings = {"DJANGO_SETTINGS_MODULE": "benchmarks.plain_settings"}
        plain = installation.serve("benchmarks.plain:application", **environ, **settings)
        contenders = cls(installation, service, floor, plain)
        contenders.make_drafts()
        contenders.compare_responses()
        return contenders

    def storage(self, key: str = READ, server: BenchmarkServer | None = None) -> StorageRequests:
        return storage_in(self.installation, server or self.service, key)

    def of_floor(self, path: str, body: bytes | None = None) -> bytes:
        return raw_request(self.floor.port, path, body=body)

    def make_drafts(self) -> None:
        storage, client = self.storage(WRITTEN), TimingClient(self.service.port)
        for number in (*OURS, *THEIRS):
            client.send(storage.new_version(number), (200, 409))  # 409: an earlier run has made the draft

    def compare_responses(self) -> None:
        """Check that the floor sends the same bytes as the service; otherwise the comparison means nothing."""
        storage, ours, theirs = self.storage(), TimingClient(self.service.port), TimingClient(self.floor.port)
        for request, other in (
            *((storage.page(number), f"/list?page={number}&size=100") for number in (1, 90)),
            *((storage.one(number), f"/{sample_id(spread(number))}") for number in (0, 77, 5_000)),
            (storage.whole_list(), "/all"),
        ):
            if ours.send(request).body != theirs.send(self.of_floor(other)).body:
                raise SystemExit("error: the responses of floor and service differ; adapt benchmarks/floor.py")

    def main_workloads(self, connections: int, plain_share: float) -> list[Workload]:
        """Return W1, W2 and W3 for this many connections."""
        storage, written = self.storage(), self.storage(WRITTEN)

        def plain(path: str) -> bytes:
            return raw_request(self.plain.port, path)

        def update_floor(number: int) -> bytes:
            path = f"/{sample_id(THEIRS[number % len(THEIRS)])}"
            return self.of_floor(path, orjson.dumps({"attributes": changes("scope")}))

        requests: dict[str, dict[str, Callable[[int], bytes]]] = {
            "W1 list of 100": {
                SERVICE: storage.first_page,
                FLOOR: lambda _: self.of_floor("/list?page=1&size=100"),
                PLAIN: lambda _: plain("/elements/?page=1"),
            },
            "W2 one element": {
                SERVICE: storage.one,
                FLOOR: lambda number: self.of_floor(f"/{sample_id(spread(number))}"),
                PLAIN: lambda number: plain(f"/elements/{sample_id(spread(number))}/"),
            },
            "W3 update of one element": {SERVICE: written.update, FLOOR: update_floor},
        }
        return [self._workload(title, each, connections, plain_share) for title, each in requests.items()]

    def other_workloads(self) -> dict[str, Workload]:
        """Return those that are measured on one connection only, by title."""
        storage, written = self.storage(), self.storage(WRITTEN)
        requests: dict[str, dict[str, Callable[[int], bytes]]] = {
            "W4 page 90 of 100": {
                SERVICE: lambda _: storage.page(90),
                FLOOR: lambda _: self.of_floor("/list?page=90&size=100"),
            },
            **{f"W5 {title}": {SERVICE: partial(storage.search, title=title)} for title in FILTERS},
            "W6 list of transitions": {SERVICE: written.transitions},
            WHOLE_LIST: {SERVICE: lambda _: storage.whole_list(), FLOOR: lambda _: self.of_floor("/all")},
        }
        return {title: self._workload(title, each) for title, each in requests.items()}

    def _workload(
        self, title: str, requests: dict[str, Callable[[int], bytes]], connections: int = 1, plain_share: float = 1
    ) -> Workload:
        known = {SERVICE: (self.service, 1.0), FLOOR: (self.floor, 1.0), PLAIN: (self.plain, plain_share)}
        contenders = {name: Contender(make, *known[name]) for name, make in requests.items()}
        return Workload(title, contenders, connections)


def mixed_requests(storages: Sequence[StorageRequests]) -> Callable[[int], bytes]:
    """Return requests of all kinds, each to the next storage: of twenty, two pages, a filter, an update, a list of
    transitions and single reads; of a thousand, a whole list."""
    titles = list(FILTERS)

    def request(number: int) -> bytes:
        storage = storages[number % len(storages)]
        # A number of storages with a common divisor would otherwise always get the same kind.
        kind, turn = random.randrange(1_000), number // len(storages)  # noqa: S311  not a secret
        if kind == 0:
            return storage.whole_list()
        if kind % 10 == 0:
            return storage.page(1 + turn % (storage.elements // PAGE))
        if kind % 20 == 5:
            return storage.search(number, titles[turn % len(titles)])
        if kind % 20 == 11:
            return storage.update_tag(number)
        if kind % 20 == 17:
            return storage.transitions(number)
        return storage.one(number)

    return request
