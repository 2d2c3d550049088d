"""Every address in a response works: a walk through the demo storage from its list of facets to its last element."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterator
from itertools import cycle, islice
from typing import Any

import orjson
import pytest
from django.test import Client

from storage.access.tokens import issue_token
from storage.models import Storage
from storage.options import Role
from tests.elements.transfer_files import DEMO
from tests.factories import storage_context
from tests.scale import only_at_full_scale

pytestmark = pytest.mark.django_db

API = "http://testserver/demo/showcase/_api/rest"
ADDRESS_KEYS = {"views", "elements", "expandUri"}
PARTS = ("attributes", "related", "children", "content", "info", "versions")
PUBLISHED = {"released", "inEffect", "requestToExpire"}
GUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
ELEMENT = re.compile(rf"{API}/facets/\w+/(views/(?P<view>\w+)/elements|reporting)/(?P<id>{GUID.pattern})")


class Crawler:
    """Follows the addresses of responses, each once. `followed` counts them by kind.

    Of the first element of each type it reads all parts; of all others `parts_of_others` in turn, because reading all
    parts of all would take minutes.
    """

    def __init__(self, token: str | None = None, parts_of_others: int = 0) -> None:
        # An address of its own, for a rate limit of its own.
        self.client = Client(REMOTE_ADDR="192.0.2.77", headers={"Authorization": f"Bearer {token}"} if token else {})
        self.offered: deque[tuple[str, str]] = deque()
        self.seen: set[str] = set()
        self.elements: set[str] = set()
        self.arrived: set[str] = set()
        self.types: set[str] = set()
        self.turns = cycle(PARTS)
        self.parts_of_others = parts_of_others
        self.followed: Counter[str] = Counter()
        self.views: Counter[str] = Counter()

    def crawl(self, *starts: str) -> None:
        for start in starts:
            self.offer("start", start)
        while self.offered:
            self.follow(*self.offered.popleft())

    def offer(self, key: str, address: str) -> None:
        if address not in self.seen:
            self.seen.add(address)
            self.offered.append((key, address))

    def follow(self, key: str, address: str) -> None:
        body = self.read(address)
        self.followed[key] += 1
        if named := ELEMENT.fullmatch(address):
            self.views[named["view"] or "reports"] += 1
            self.arrive(address, named["id"], body)
        if address.endswith("/views/detail/elements"):
            for identity in ids(body["elements"]):
                self.offer("listed", f"{address}/{identity}")
        for found_key, found in addresses_in(body):
            assert found.startswith(f"{API}/facets/"), f"{found} in {address}"
            self.offer(found_key, found)

    def read(self, address: str) -> Any:
        response = self.client.get(address.removeprefix("http://testserver"))
        assert response.status_code == 200, f"{address}: {response.status_code} {response.content!r}"
        body = orjson.loads(response.content)
        assert body["count"] == len(next(value for key, value in body.items() if key != "count"))
        return body

    def arrive(self, address: str, identity: str, body: Any) -> None:
        """The address of an element leads to it and to no other version of it."""
        (element,) = body.get("elements") or body["values"]
        assert element.get("versionId", element["id"]) == identity, address
        self.arrived.add(identity)
        if element["id"] not in self.elements and "/views/" in address:
            is_first = element["type"] not in self.types
            parts = PARTS if is_first else islice(self.turns, self.parts_of_others)
            self.elements.add(element["id"])
            self.types.add(element["type"])
            for part in parts:
                self.followed[part] += 1
                self.check_part(element, part, self.read(f"{address}/{part}"))

    def check_part(self, element: Any, part: str, body: Any) -> None:
        """A part on its own equals the part of the element."""
        found = body.get("values", body.get("elements"))
        if part in ("attributes", "related"):
            assert found == element.get(part, {})
        elif part in ("children", "content"):
            assert ids(found) == ids(element.get(part, []))
        elif part == "info":
            assert found[0]["id"] == element.get("versionId", element["id"])
        else:
            assert element.get("versionId", element["id"]) in ids(found)


def ids(elements: Any) -> list[str]:
    return [each.get("versionId", each["id"]) for each in elements]


def addresses_in(value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, list):
        for each in value:
            yield from addresses_in(each)
    elif isinstance(value, dict):
        for key, each in value.items():
            if key in ADDRESS_KEYS and isinstance(each, str):
                yield key, each
            else:
                yield from addresses_in(each)


def ids_of(key: str, *, published: bool = False) -> set[str]:
    """Return the ids of elements or versions in the demo's file; an element without versions is its own version."""
    lines = [orjson.loads(line) for line in DEMO.read_bytes().splitlines()]
    seen = [line for line in lines if not published or line.get("state", "released") in PUBLISHED]
    return {line.get(key, line["id"]) for line in seen}


@pytest.mark.long
@only_at_full_scale
def test_an_anonymous_caller_can_follow_every_address(showcase: Storage) -> None:
    crawler = Crawler()
    crawler.crawl(f"{API}/facets")
    followed, views = crawler.followed, crawler.views
    assert (followed["start"], followed["views"], followed["elements"]) == (1, 19, 67)
    assert followed["listed"] + followed["expandUri"] > 800
    assert views["detail"] > 350
    assert min(views["list"], views["reporting"], views["tree"]) > 100
    assert min(views["diagram"], views["documentContent"]) > 40
    assert len(crawler.types) == 32
    assert all(followed[part] == 32 for part in PARTS)
    assert crawler.elements <= ids_of("id", published=True)
    assert crawler.arrived <= ids_of("versionId", published=True)


@pytest.mark.long
@only_at_full_scale
def test_an_administrator_can_follow_every_address_and_finds_everything(showcase: Storage) -> None:
    issued = issue_token(storage_context(showcase), "crawler", [Role.ADMINISTRATOR])
    crawler = Crawler(issued.value, parts_of_others=1)
    crawler.crawl(f"{API}/facets", f"{API}/facets/processes/reporting")
    followed, views = crawler.followed, crawler.views
    assert (followed["start"], followed["views"], followed["elements"]) == (2, 19, 67)
    assert min(views["list"], views["reporting"], views["tree"]) > 130
    assert min(views["diagram"], views["documentContent"]) >= 50
    assert views["reports"] > 80
    assert all(followed[part] > 90 for part in PARTS)
    # The token of the crawler is an element, too.
    assert crawler.elements == ids_of("id") | {str(issued.token.id)}
    assert crawler.arrived - {str(issued.token.id)} == ids_of("versionId")
