"""What is measured: one storage of generated elements, served by the service, by the floor and by plain Django REST."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from urllib.parse import quote
from uuid import UUID

import orjson

from benchmarks.client import Client, Reply
from benchmarks.filters import FILTERS, Filters
from benchmarks.installation import BYPASS, COLLECTION, Installation, Server
from benchmarks.measuring import Work, check

SERVICE, FLOOR, PLAIN = "service", "floor", "plain DRF"
PARTS = "$resources=attributes,related,children"
ELEMENTS = 10_000
# These get a draft, so that they can be changed: some for the service, the others for the floor.
DRAFTS = range(9_000, 9_400)
OURS, THEIRS = DRAFTS[:200], DRAFTS[200:]
TEMPORARY = range(9_500, 9_990)
"""These go through their life for W6, one a request."""


def process_id(number: int) -> str:
    """Of the process with this number, see `elements.sample`."""
    return str(UUID(int=(3 << 64) + number))


def spread(number: int, elements: int = ELEMENTS) -> int:
    """With each number to another place of the tree, and to none twice: few elements have children, and those with the
    lowest numbers lie near the root."""
    return number * 7_919 % elements


WRITTEN = "written"
"""A storage of the same size for what writes: drafts would make the answers of the other less alike."""


def storage_key(count: int) -> str:
    return f"s{count}"


@dataclass
class StorageClient:
    """Somebody who works with one storage of the service."""

    client: Client
    key: str
    elements: int = ELEMENTS

    @property
    def api(self) -> str:
        return f"/{COLLECTION}/{self.key}/_api"

    @property
    def view(self) -> str:
        return f"{self.api}/rest/facets/processes/views/detail/elements"

    def page(self, number: int = 1, more: str = "") -> Reply:
        return self.client.get(f"{self.view}?{PARTS}&$page={number}&$pageSize=100{more}")

    def filtered(self, written: str) -> Reply:
        return self.page(1, f"&$filter={quote(written)}")

    def one(self, number: int) -> Reply:
        return self.client.get(f"{self.view}/{process_id(number % self.elements)}")

    def whole_list(self, keeps: bool = True) -> Reply:
        return self.client.get(f"{self.view}?{PARTS}", keeps=keeps)

    def update(self, number: int) -> Reply:
        changed = {"scope": {"1033": f"changed {random.random()}"}}  # noqa: S311  not a secret
        return self.client.post(
            self.view, orjson.dumps({"elements": [{"id": process_id(number), "attributes": changed}]})
        )

    def new_version(self, number: int) -> Reply:
        return self.client.post(f"{self.api}/release/{process_id(number)}/createversion")

    def transitions(self, number: int) -> Reply:
        return self.client.get(f"{self.api}/release/{process_id(number % self.elements)}/transitions")

    def transition(self, number: int, key: str) -> Reply:
        return self.client.post(f"{self.api}/release/{process_id(number)}/transitions/{key}?ignoreWarnings=true", b"{}")


@dataclass
class Site:
    installation: Installation
    service: Server
    floor: Server
    plain: Server
    tokens: dict[str, str]
    lives: list[int] = field(default_factory=lambda: list(TEMPORARY))

    @classmethod
    def start(cls, installation: Installation) -> Site:
        """The storages have been made before."""
        key = storage_key(ELEMENTS)
        service = installation.serve()
        environ = {
            "BENCHMARK_STORAGE": installation.storage_id(key),
            "BENCHMARK_WRITTEN": installation.storage_id(WRITTEN),
            "BENCHMARK_BASE": f"http://127.0.0.1:{service.port}/{COLLECTION}/{key}",
            "BENCHMARK_ZONE": installation.time_zone(key),
            "BENCHMARK_DATABASE": installation.address(BYPASS),
        }
        floor = installation.serve_program("benchmarks.floor:application", **environ)
        settings = {"DJANGO_SETTINGS_MODULE": "benchmarks.plain_settings"}
        plain = installation.serve_program("benchmarks.plain:application", **environ, **settings)
        site = cls(installation, service, floor, plain, installation.tokens())
        site.make_drafts()
        site.compare_answers()
        return site

    @property
    def storage(self) -> StorageClient:
        return self.client_of(storage_key(ELEMENTS))

    def client_of(self, key: str, server: Server | None = None) -> StorageClient:
        return StorageClient((server or self.service).client(self.tokens[key]), key)

    def make_drafts(self) -> None:
        storage = self.client_of(WRITTEN)
        for number in DRAFTS:
            reply = storage.new_version(number)
            if reply.status not in (200, 409):  # 409: it has one from an earlier run
                raise SystemExit(f"error: no draft can be made: {reply.body[:500]!r}")

    def compare_answers(self) -> None:
        """The floor is one only while it answers the same, byte for byte."""
        storage, floor = self.storage, self.floor.client()
        for number in (1, 90):
            _same(storage.page(number), floor.get(f"/list?page={number}&size=100"))
        for number in (0, 77, 5_000):
            _same(storage.one(number), floor.get(f"/{process_id(number)}"))
        _same(storage.whole_list(), floor.get("/all"))

    def works(self) -> list[Work]:
        storage, written = self.storage, self.client_of(WRITTEN)
        floor, plain = self.floor.client(), self.plain.client()

        def floor_update(number: int) -> Reply:
            changed = {"attributes": {"scope": {"1033": f"changed {random.random()}"}}}  # noqa: S311  not a secret
            return floor.post(f"/{process_id(THEIRS[number % len(THEIRS)])}", orjson.dumps(changed))

        def page_after_change(number: int) -> Reply:
            check("change", written.update(OURS[number % len(OURS)]))
            return written.page(1)

        def page(number: int) -> dict[str, Callable[[int], Reply]]:
            return {
                SERVICE: lambda _: storage.page(number),
                FLOOR: lambda _: floor.get(f"/list?page={number}&size=100"),
                PLAIN: lambda _: plain.get(f"/elements/?page={number}"),
            }

        return [
            Work("W1 list of 100", page(1), times=40, slowness={PLAIN: 10}),
            Work(
                "W2 one element",
                {
                    SERVICE: lambda number: storage.one(spread(number)),
                    FLOOR: lambda number: floor.get(f"/{process_id(spread(number))}"),
                    PLAIN: lambda number: plain.get(f"/elements/{process_id(spread(number))}/"),
                },
                times=120,
                slowness={PLAIN: 8},
            ),
            Work(
                "W3 update of one element",
                {SERVICE: lambda number: written.update(OURS[number % len(OURS)]), FLOOR: floor_update},
                times=40,
            ),
            Work("W4 page 90 of 100", page(90), times=40, slowness={PLAIN: 10}),
            Work("W1 after a change", {SERVICE: page_after_change}, times=12),
            *self.filters(storage),
            *self.lives_of_elements(written),
            Work(
                "W7 whole list", {SERVICE: lambda _: storage.whole_list(), FLOOR: lambda _: floor.get("/all")}, times=1
            ),
        ]

    def filters(self, storage: StorageClient) -> list[Work]:
        filters = Filters(self.installation.names, storage.elements)
        return [
            Work(f"W5 {title}", {SERVICE: partial(_filtered, storage, filters, kind)}, times=12)
            for title, kind in FILTERS.items()
        ]

    def lives_of_elements(self, storage: StorageClient) -> list[Work]:
        def live(_: int) -> Reply:
            """A new version, and its release: the next call finds the element as it was."""
            number = self.lives[0]
            self.lives = [*self.lives[1:], number]
            made = storage.new_version(number)
            if made.status != 200:
                return made
            released = storage.transition(number, "InProcessToReleased")
            return Reply(released.status, released.head, released.body, made.seconds + released.seconds)

        return [
            Work("W6 list of transitions", {SERVICE: storage.transitions}, times=10),
            Work("W6 new version and release", {SERVICE: live}, times=5),
        ]


def _filtered(storage: StorageClient, filters: Filters, kind: Callable[[Filters, int], str], number: int) -> Reply:
    return storage.filtered(kind(filters, number))


def _same(ours: Reply, floor: Reply) -> None:
    if (ours.status, floor.status) != (200, 200) or ours.body != floor.body:
        raise SystemExit("error: the floor does not answer what the service answers; the comparison would say nothing")
