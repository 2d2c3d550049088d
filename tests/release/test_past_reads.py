"""Reads as of a time (D563): every read of elements returns the bytes that it returned then. In a file of its own,
because only committed transactions have times of their own."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.utils import timezone

from elements.transfer.importing import import_elements
from repository_site.api_document.document import openapi_document
from storage.models import Storage
from storage.options import Role
from storage.provisioning.provision import remove_storage
from tests.api_client import ApiClient
from tests.factories import StorageFactory
from tests.release.house import ID, HouseClient, write_lines, write_template
from tests.release.random_changes import PROCESSES, RandomChanges
from tests.scale import scaled

pytestmark = pytest.mark.django_db(transaction=True)
PLACES = {"house": "processes", "erp": "it", "inProcess-task": "processes", **dict.fromkeys(PROCESSES, "processes")}
LISTS = (
    "", "?$filter=name -eq 'order-2'", "?$filter=Contains(name, 'order') OR Contains(purp, 'Purp')",
    "?$pageSize=3&$page=2", "?$orderBy=changedOn desc", "?$format=csv", "?$expandRelated=systems",
    "?$resources=children,rootPath,content,versions,related", "?$culture=1031&$fallback=true",
    "?$filter=changedOn -gt 2026-02-01",
)  # fmt: skip


@pytest.fixture
def old_house(tmp_path: Path) -> Iterator[Storage]:
    storage = StorageFactory.create(collection="acme", key="house", template=write_template(tmp_path / "template.json"))
    import_elements(storage, str(write_lines(tmp_path / "own.ndjson")))
    yield storage
    remove_storage(storage)


def addresses() -> Iterator[str]:
    """Yield addresses of every operation that takes `$asOf`."""
    for facet in ("processes", "it"):
        yield from (f"rest/facets/{facet}/views/detail/elements{query}" for query in LISTS)
    for name, facet in PLACES.items():
        parts = {
            "collectionId": "acme", "storageId": "house", "facetId": facet, "viewId": "detail", "elementId": ID[name],
            "attributeName": "name", "relatedId": "systems", "cultureId": "1033", "layoutKey": "vertical",
        }  # fmt: skip
        for path, operations in openapi_document()["paths"].items():
            names = {each["name"] for each in operations.get("get", {}).get("parameters", ())}
            if "$asOf" in names:
                for part, value in parts.items():
                    path = path.replace(f"{{{part}}}", value)
                yield path.removeprefix("/acme/house/_api/")


def at(address: str, moment: datetime) -> str:
    text = moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
    return f"{address}{'&' if '?' in address else '?'}$asOf={text}"


def answer(client: HouseClient, address: str) -> tuple[int, bytes, str]:
    response = client.get(address)
    return response.status_code, response.content, response.headers.get("X-Total-Count", "")


@pytest.mark.parametrize("seed", range(scaled(12)))
def test_past_reads_repeat_every_byte(old_house: Storage, api: ApiClient, seed: int) -> None:
    changes = RandomChanges(old_house, api, seed)
    readers = [HouseClient(old_house, api, Role.ARCHITECT), HouseClient(old_house, api, Role.VIEWER)]
    every = sorted(set(addresses()))
    seen: list[tuple[HouseClient, str, datetime, tuple[int, bytes, str]]] = []
    for _ in range(scaled(150)):
        changes.change()
        reader, now = changes.random.choice(readers), timezone.now()
        for address in changes.random.sample(every, scaled(60)):
            seen.append((reader, address, now, answer(reader, address)))
    for reader, address, moment, then in seen:
        assert answer(reader, at(address, moment)) == then, address
