"""A change needs the same number of statements for one element, for ten and for two hundred; so does drawing.

`writing_counts.json` has the numbers, so that a change of them shows in review. To update them after an intended
change: `WRITE_QUERY_COUNTS=1 make test ARGS="-n 0 tests/elements/writing/test_writing_counts.py"`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from elements.demo.sample import sample_lines
from storage.models import Storage
from storage.options import Role
from tests.conftest import StorageMaker
from tests.factories import token_for

pytestmark = [pytest.mark.django_db, pytest.mark.long]
Body = dict[str, Any]
BASELINE = Path(__file__).with_name("writing_counts.json")
SIZES = (1, 10, 200)
PROCESSES = "/acme/sample/_api/rest/facets/processes/views/detail/elements"
# Of a sample: the root of its tree, the prefix of its systems, and one of its users.
ROOT, SYSTEM = "00000000-0000-0003-0000-000000000000", "00000000-0000-0001-0000-00000000000"
USER = "00000000-0000-0009-0000-000000000003"


@pytest.fixture(scope="module")
def sample(filled_storage: StorageMaker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Storage]:
    """The tests create drafts to change for each operation; the sample has the targets of references."""
    file = tmp_path_factory.mktemp("sample") / "lines.ndjson"
    file.write_bytes(b"".join(sample_lines(10)))
    with filled_storage(file, key="sample", template="standard") as storage:
        yield storage


class CountingClient:
    def __init__(self, storage: Storage) -> None:
        # Django's own client, because validating responses of this size against the API document takes too long.
        self.client = Client(headers={"Authorization": f"Bearer {token_for(storage, Role.ARCHITECT)}"})
        self.parent, self.other = self.make(2)

    def make(self, count: int) -> list[str]:
        made = [
            {"type": "subProcess", "attributes": named(number), "rootPath": [{"id": ROOT}]} for number in range(count)
        ]
        return [each["id"] for each in self.post(PROCESSES, {"elements": made})["elements"]]

    def post(self, address: str, body: Body, **headers: str) -> Body:
        response = self.client.post(address, json.dumps(body), content_type="application/json", headers=headers)
        assert response.status_code == 200, response.content
        found: Body = response.json()
        return found

    def count(self, address: str, body: Body, **headers: str) -> int:
        with CaptureQueriesContext(connection) as captured:
            self.post(address, body, **headers)
        return len(captured)


def named(number: int) -> Body:
    return {"name": {"1031": f"Prozess {number}", "1033": f"Process {number}"}, "scope": {"1033": "All"}}


def related(number: int) -> Body:
    systems = [{"id": f"{SYSTEM}{each}"} for each in (number % 5, number % 7)]
    return {"systems": systems, "owner": [{"id": USER}]}


def update_attributes(desk: CountingClient, count: int) -> int:
    return desk.count(PROCESSES, {"elements": [{"id": each, "attributes": named(7)} for each in desk.make(count)]})


def update_contexts(desk: CountingClient, count: int) -> int:
    changed = [{"id": each, "related": related(number)} for number, each in enumerate(desk.make(count))]
    return desk.count(PROCESSES, {"elements": changed})


def move(desk: CountingClient, count: int) -> int:
    return desk.count(
        PROCESSES, {"elements": [{"id": each, "rootPath": [{"id": desk.parent}]} for each in desk.make(count)]}
    )


def order(desk: CountingClient, count: int) -> int:
    return desk.count(PROCESSES, {"elements": [{"id": each, "position": 0} for each in desk.make(count)]})


def everything(desk: CountingClient, count: int) -> int:
    changed = [
        {
            "id": each,
            "attributes": named(9),
            "related": related(number),
            "rootPath": [{"id": (desk.parent, desk.other)[number % 2]}],
        }
        for number, each in enumerate(desk.make(count))
    ]
    return desk.count(PROCESSES, {"elements": changed}, **{"Idempotency-Key": str(uuid4())})


def create(desk: CountingClient, count: int) -> int:
    made = [
        {
            "type": "subProcess",
            "attributes": named(number),
            "related": related(number),
            "rootPath": [{"id": desk.parent}],
        }
        for number in range(count)
    ]
    return desk.count(PROCESSES, {"elements": made})


def draw(desk: CountingClient, count: int) -> int:
    """Every second shape shows a new element, the others existing ones."""
    [owner] = desk.make(1)
    there = desk.make(count)
    items = [
        {
            "shapeInfo": {"index": number, "predecessors": [number - 1] if number else []},
            "element": {"id": there[number]}
            if number % 2
            else {"type": "task", "attributes": {"name": {"1033": "Task"}}},
        }
        for number in range(count)
    ]
    return desk.count(f"{PROCESSES}/{owner}/content", {"values": items})


OPERATIONS: dict[str, Callable[[CountingClient, int], int]] = {
    "attributes": update_attributes,
    "related contexts": update_contexts,
    "places": move,
    "positions": order,
    "all of these, with a key": everything,
    "new elements": create,
    "shapes": draw,
}


def test_statements_of_a_change_do_not_grow_with_it(sample: Storage) -> None:
    counts: dict[str, dict[str, int]] = {}
    for name, operation in OPERATIONS.items():
        desk = CountingClient(sample)
        operation(desk, 1)
        counts[name] = {str(size): operation(desk, size) for size in SIZES}
    if os.environ.get("WRITE_QUERY_COUNTS"):
        BASELINE.write_text(json.dumps(counts, indent=2) + "\n", encoding="utf-8")
    assert counts == json.loads(BASELINE.read_text(encoding="utf-8"))
