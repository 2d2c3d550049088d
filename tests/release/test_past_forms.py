"""Every form of a read as of a time (D563): names and fields of references, counts, parameters in a body, compatible
paths and tools of agents repeat every byte. In a file of its own, because only committed transactions have times."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import pytest
from django.utils import timezone

from storage.models import Storage
from storage.options import Role
from tests.api_client import ApiClient
from tests.release.house import ID, HouseClient, user
from tests.release.random_changes import RandomChanges
from tests.scale import scaled

pytestmark = pytest.mark.django_db(transaction=True)
DETAIL = "rest/facets/processes/views/detail/elements"
PARTS = "related,children,content,rootPath"
QUERIES = (
    "?$expandRelated=owner(name)", "?$expandRelated=owner(name),systems(name,version,state1),secondaryAuthors",
    "?$resources=names", f"?$resources=names,{PARTS}", f"?$resources={PARTS}&$expandRelated=children(name,version),content(name)",
    "?$resources=names&$culture=1031&$fallback=true", "?$expandRelated=rootPath(name)&$resources=rootPath",
    "?$pageSize=2&$resources=names", "?$pageSize=0", "?$pageSize=0&$filter=Contains(name, 'Name')",
)  # fmt: skip
BODIES: tuple[dict[str, Any], ...] = (
    {"ids": [ID["order"], ID["inProcess"], ID["released"], ID["erp"]]},
    {"ids": [ID["order"], ID["inProcess"]], "resources": ["names", "related"]},
    {"filter": "Contains(name, 'Name') OR IsNull(systems)", "select": ["name", "systems"], "pageSize": 3},
    {"pageSize": 0},
)
COMPATIBLE = (
    "v1/reporting?page=1", "v1/reporting?page=2&pageSize=3&facet=processes", "v1/reporting/{id}",
    "v2/data/elements?Facet=processes", "v2/data/elements?Facet=processes&Lcid=1031&PageSize=3",
    "v2/data/elements?Facet=processes&Filter=Contains(name, 'Name')", "v2/data/elements/{id}", "v2/data/elements/{id}?Lcid=1033",
)  # fmt: skip
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("read_element", {}),
    ("read_element", {"culture": 1031}),
    ("follow_references", {}),
    ("follow_references", {"direction": "incoming"}),
    ("follow_references", {"direction": "children"}),
)


class PastRead(NamedTuple):
    """A read in one of its forms. A body with `arguments` is a call of a tool."""

    address: str
    body: dict[str, Any] | None = None

    def send(self, client: HouseClient, moment: datetime | None = None) -> tuple[int, bytes, str]:
        text = moment.astimezone(UTC).isoformat().replace("+00:00", "Z") if moment else ""
        address, body = self.address, self.body
        if body is not None and "arguments" in body:
            arguments = body["arguments"] | ({"asOf": text} if text else {})
            message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {**body, "arguments": arguments}}
            response = client.post(address, message)
        else:
            address += f"{'&' if '?' in address else '?'}$asOf={text}" if text else ""
            response = client.get(address) if body is None else client.post(address, body)
        return response.status_code, response.content, response.headers.get("X-Total-Count", "")


def reads() -> Iterator[PastRead]:
    yield from (PastRead(f"{DETAIL}{query}") for query in QUERIES)
    yield from (PastRead(f"{DETAIL}/query", body) for body in BODIES)
    for name in ("order", "inProcess", "erp"):
        facet = "it" if name == "erp" else "processes"
        one = f"rest/facets/{facet}/views/detail/elements/{ID[name]}"
        yield from (PastRead(f"{one}{query}") for query in QUERIES if "pageSize" not in query)
        yield from (PastRead(address.replace("{id}", ID[name])) for address in COMPATIBLE)
        for tool, more in CALLS:
            yield PastRead("mcp", {"name": tool, "arguments": {"id": ID[name], **more}})


@pytest.mark.long
@pytest.mark.parametrize("seed", range(scaled(4)))
def test_every_form_repeats_every_byte(old_house: Storage, api: ApiClient, seed: int) -> None:
    changes, every = RandomChanges(old_house, api, seed), sorted(set(map(json.dumps, reads())))
    readers = [HouseClient(old_house, api, Role.ARCHITECT), HouseClient(old_house, api, Role.VIEWER)]
    seen = []
    for number in range(scaled(30)):
        changes.change()
        now = timezone.now()
        for text in every if number % 4 == 1 else changes.random.sample(every, 10):
            read, reader = PastRead(*json.loads(text)), changes.random.choice(readers)
            seen.append((reader, read, now, read.send(reader)))
    assert len({then for _, _, _, then in seen}) > len(every)
    for reader, read, moment, then in seen:
        assert read.send(reader, moment) == then, read


def test_names_of_references_are_those_of_the_time(old_house: Storage, api: ApiClient) -> None:
    """Each form shows the old name of a target that was renamed, and of one that was deleted."""
    administrator = HouseClient(old_house, api, user="cora")
    made = administrator.update({"type": "subProcess", "attributes": {"name": {"1033": "Before"}}}).json()
    parent = made["elements"][0]
    child = {"type": "subProcess", "attributes": {"name": {"1033": "Child"}}, "rootPath": [{"id": parent["id"]}]}
    assert administrator.update({**child, "related": {"owner": [user("ben")]}}).status_code == 200
    moment = timezone.now()
    forms = (
        PastRead(f"{DETAIL}?$resources=names,rootPath,related&$filter=name -eq 'Child'"),
        PastRead(f"{DETAIL}?$resources=rootPath&$expandRelated=rootPath(name),owner(name)&$filter=name -eq 'Child'"),
        PastRead(f"{DETAIL}/query", {"filter": "name -eq 'Child'", "resources": ["names", "rootPath", "related"]}),
        PastRead("v1/reporting?page=1&facet=processes"),
        PastRead(f"v2/data/elements/{parent['id']}"),
        PastRead("mcp", {"name": "read_element", "arguments": {"id": parent["id"]}}),
    )
    before = [each.send(administrator) for each in forms]
    assert all(status == 200 and b"Before" in body for status, body, _ in before), before
    renamed = {"id": parent["id"], "attributes": {"name": {"1033": "After"}}}
    assert administrator.update(renamed).status_code == 200
    assert not any(b"Before" in each.send(administrator)[1] for each in forms)
    assert [each.send(administrator, moment) for each in forms] == before


def test_times_that_agents_name(old_house: Storage, api: ApiClient) -> None:
    viewer = HouseClient(old_house, api, Role.VIEWER)

    def refused(tool: str, moment: str, **arguments: Any) -> str:
        body = {"name": tool, "arguments": {"id": ID["order"], "asOf": moment, **arguments}}
        response = viewer.post("mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": body})
        result = response.json()["result"]
        assert result["isError"] is True
        text: str = result["content"][0]["text"]
        return text

    assert refused("read_element", "yesterday").startswith("asOf: expected a time in ISO 8601, such as asOf=2026-")
    assert refused("read_element", "2020-01-01").startswith("asOf: the record of this storage begins at ")
    tomorrow = f"{timezone.now() + timedelta(days=2):%Y-%m-%d}"
    assert refused("follow_references", tomorrow) == f"asOf: {tomorrow} is in the future."
    assert refused("list_transitions", "2020-01-01") == "asOf: unknown argument."
