"""The workloads W1 to W7: one storage of generated elements, served by the service, the floor and plain DRF."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from functools import partial
from itertools import cycle
from urllib.parse import quote
from uuid import UUID

import orjson

from benchmarks.filters import FILTERS, PAGE, STRIDE
from benchmarks.http_client import TimedResponse, TimingClient
from benchmarks.installation import BYPASS_ROLE, COLLECTION, BenchmarkInstallation, BenchmarkServer
from benchmarks.measuring import Send, Workload, checked

SERVICE, FLOOR, PLAIN = "service", "floor", "plain DRF"
ELEMENTS = 10_000
READ = f"s{ELEMENTS}"
WRITTEN = "written"
"""A second storage of the same size, because drafts in the first would change its responses."""
# These elements have a draft that can be changed: half for the service, half for the floor.
OURS, THEIRS = range(9_000, 9_200), range(9_200, 9_400)
RELEASED = range(9_500, 9_990)
"""W6 makes and releases new versions of these."""
PARTS = "$resources=attributes,related,children"


def process_id(number: int) -> str:
    """Return the id of a generated process (see `elements.sample`)."""
    return str(UUID(int=(3 << 64) + number))


def spread(number: int, elements: int = ELEMENTS) -> int:
    """Return a different element for each number: low numbers are near the root of the tree, others are leaves."""
    return number * STRIDE % elements


def new_scope() -> dict[str, dict[str, str]]:
    return {"scope": {"1033": f"changed {random.random()}"}}  # noqa: S311  not a secret


@dataclass(frozen=True)
class StorageClient:
    client: TimingClient
    token: str
    key: str
    elements: int = ELEMENTS

    @property
    def api(self) -> str:
        return f"/{COLLECTION}/{self.key}/_api"

    @property
    def view(self) -> str:
        return f"{self.api}/rest/facets/processes/views/detail/elements"

    def page(self, number: int = 1, size: int = PAGE, more: str = "") -> TimedResponse:
        return self.client.get(f"{self.view}?{PARTS}&$page={number}&$pageSize={size}{more}", self.token)

    def filtered(self, text: str) -> TimedResponse:
        return self.page(more=f"&$filter={quote(text)}")

    def search(self, title: str, number: int) -> TimedResponse:
        """Send one of the filters of W5."""
        return self.filtered(FILTERS[title](number, self.elements))

    def one(self, number: int) -> TimedResponse:
        return self.client.get(f"{self.view}/{process_id(number % self.elements)}", self.token)

    def whole_list(self, keep_body: bool = True) -> TimedResponse:
        return self.client.get(f"{self.view}?{PARTS}", self.token, keep_body)

    def update(self, number: int) -> TimedResponse:
        body = {"elements": [{"id": process_id(OURS[number % len(OURS)]), "attributes": new_scope()}]}
        return self.client.post(self.view, orjson.dumps(body), self.token)

    def transitions(self, number: int) -> TimedResponse:
        return self.client.get(f"{self.api}/release/{process_id(number % self.elements)}/transitions", self.token)

    def new_version(self, number: int) -> TimedResponse:
        return self.client.post(f"{self.api}/release/{process_id(number)}/createversion", token=self.token)

    def release(self, number: int) -> TimedResponse:
        path = f"{self.api}/release/{process_id(number)}/transitions/InProcessToReleased?ignoreWarnings=true"
        return self.client.post(path, b"{}", self.token)


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

    def storage(self, key: str = READ, server: BenchmarkServer | None = None) -> StorageClient:
        return StorageClient((server or self.service).client(), self.installation.tokens[key], key)

    def make_drafts(self) -> None:
        storage = self.storage(WRITTEN)
        for number in (*OURS, *THEIRS):
            response = storage.new_version(number)
            if response.status not in (200, 409):  # 409: an earlier run has made the draft
                raise SystemExit(f"error: cannot create a draft: {response.body[:500]!r}")

    def compare_responses(self) -> None:
        """Check that the floor sends the same bytes as the service; otherwise the comparison means nothing."""
        storage, floor = self.storage(), self.floor.client()
        for response, other in (
            *((storage.page(number), floor.get(f"/list?page={number}&size=100")) for number in (1, 90)),
            *((storage.one(number), floor.get(f"/{process_id(number)}")) for number in (0, 77, 5_000)),
            (storage.whole_list(), floor.get("/all")),
        ):
            if checked("service", response).body != checked("floor", other).body:
                raise SystemExit("error: the responses of floor and service differ; adapt benchmarks/floor.py")


def workloads(contenders: Contenders) -> list[Workload]:
    storage, written = contenders.storage(), contenders.storage(WRITTEN)
    floor, plain = contenders.floor.client(), contenders.plain.client()
    released = cycle(RELEASED)

    def floor_update(number: int) -> TimedResponse:
        path = f"/{process_id(THEIRS[number % len(THEIRS)])}"
        return floor.post(path, orjson.dumps({"attributes": new_scope()}))

    def page_after_change(number: int) -> TimedResponse:
        checked("change", written.update(number))
        return written.page(1)

    def new_version_and_release(_: int) -> TimedResponse:
        """Leave the element as the next call expects it."""
        number = next(released)
        made = checked("new version", written.new_version(number))
        response = written.release(number)
        return replace(response, seconds=made.seconds + response.seconds)

    def page(number: int) -> dict[str, Send]:
        return {
            SERVICE: lambda _: storage.page(number),
            FLOOR: lambda _: floor.get(f"/list?page={number}&size=100"),
            PLAIN: lambda _: plain.get(f"/elements/?page={number}"),
        }

    one: dict[str, Send] = {
        SERVICE: lambda number: storage.one(spread(number)),
        FLOOR: lambda number: floor.get(f"/{process_id(spread(number))}"),
        PLAIN: lambda number: plain.get(f"/elements/{process_id(spread(number))}/"),
    }
    whole: dict[str, Send] = {SERVICE: lambda _: storage.whole_list(), FLOOR: lambda _: floor.get("/all")}
    return [
        Workload("W1 list of 100", page(1), 40, {PLAIN: 10}),
        Workload("W2 one element", one, 120, {PLAIN: 8}),
        Workload("W3 update of one element", {SERVICE: written.update, FLOOR: floor_update}, 40),
        Workload("W4 page 90 of 100", page(90), 40, {PLAIN: 10}),
        Workload("W1 after a change", {SERVICE: page_after_change}, 12),
        *(Workload(f"W5 {title}", {SERVICE: partial(storage.search, title)}, 12) for title in FILTERS),
        Workload("W6 list of transitions", {SERVICE: written.transitions}, 10),
        Workload("W6 new version and release", {SERVICE: new_version_and_release}, 5),
        Workload("W7 whole list", whole, 1),
    ]


def mixed_requests(contenders: Contenders) -> Send:
    """Send requests of all kinds: of twenty, two pages, a filter, an update, a list of transitions, single reads."""
    storage, written = contenders.storage(), contenders.storage(WRITTEN)
    titles = list(FILTERS)

    def send(number: int) -> TimedResponse:
        if number % 50 == 0:
            storage.client.reconnect()
            written.client.reconnect()
        if number % 1_000 == 999:
            return storage.whole_list(keep_body=False)
        if number % 10 == 0:
            return storage.page(1 + number // 10 % 90)
        if number % 20 == 5:
            return storage.search(titles[number // 20 % len(titles)], number)
        if number % 20 == 11:
            return written.update(number // 20)
        if number % 20 == 17:
            return written.transitions(number)
        return storage.one(number * 7)

    return send
