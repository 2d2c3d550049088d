"""Every page takes a fixed number of statements, and all of them use an index."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from storage.models import Storage, StorageMembership
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.conftest import StorageMaker
from tests.factories import StaffAccountFactory

pytestmark = pytest.mark.django_db
ROOT = "/acme/large"
HOUSE, MAIN, PROCESS = (f"00000000-0000-4000-8000-00000000000{number}" for number in (1, 2, 3))
PAGES = {
    "start": ("/1033/", 9),
    "tree": ("/1033/processes/", 14),
    "opened tree": (f"/1033/processes/?open={PROCESS}", 16),
    "list": ("/1033/it/?as=list", 12),
    "element": (f"/1033/processes/{PROCESS}", 26),
    "shape": (f"/1033/processes/{PROCESS}?shape=00000000-0000-4004-8000-000000000001", 26),
    "child": ("/1033/processes/00000000-0000-4001-8000-000000000001", 20),
    "task": ("/1033/processes/00000000-0000-4003-8000-000000000001", 19),
    "search": ("/1033/search?q=ystem", 17),
}


def lines(count: int) -> Iterator[str]:
    """Create a process with this many references, shapes and children."""

    def identity(kind: int, number: int) -> str:
        return f"00000000-0000-400{kind}-8000-{number:012x}"

    def version(element: str, type: str, facet: str, name: str, **more: object) -> str:
        names = {"name": {"1031": name, "1033": name}, "version": {"127": "1.0"}}
        own = {"facetName": facet, "id": element, "versionId": element.replace("-8000-", "-9000-"), "type": type}
        return json.dumps({**own, "state": "released", "attributes": names, **more}) + "\n"

    def reference(kind: int, number: int, type: str, facet: str = "processes") -> dict[str, str]:
        return {"facetName": facet, "id": identity(kind, number), "type": type}

    numbers = range(1, count + 1)
    house = {"facetName": "processes", "id": HOUSE, "creationId": HOUSE, "type": "processHouse"}
    below = [{"facetName": "processes", "id": MAIN, "type": "mainProcess"}]
    yield json.dumps({**house, "attributes": {"name": {"1033": "House"}}, "children": below}) + "\n"
    process = {"facetName": "processes", "id": PROCESS, "type": "subProcess"}
    yield version(MAIN, "mainProcess", "processes", "Main", children=[process])
    yield version(
        PROCESS, "subProcess", "processes", "Process",
        children=[reference(1, number, "subProcess") for number in numbers],
        related={"systems": [reference(2, number, "system", "it") for number in numbers]},
        content=[
            {**reference(3, number, "task"), "properties": {
                "shapeId": identity(4, number),
                "predecessors": [{"properties": {"shapeId": identity(4, number - 1)}}] if number > 1 else []}}
            for number in numbers
        ],
    )  # fmt: skip
    for number in numbers:
        yield version(identity(1, number), "subProcess", "processes", f"Child {number}")
        yield version(identity(2, number), "system", "it", f"System {number}")
        task = {**reference(3, number, "task"), "creationId": identity(3, number)}
        yield json.dumps({**task, "attributes": {"name": {"1033": f"Task {number}"}}}) + "\n"


@pytest.fixture(scope="module", params=(3, 300))
def large(
    request: pytest.FixtureRequest, filled_storage: StorageMaker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Storage]:
    file = tmp_path_factory.mktemp("large") / "lines.ndjson"
    file.write_text("".join(lines(request.param)), encoding="utf-8")
    with filled_storage(file, key="large", template="standard") as storage:
        yield storage


@pytest.fixture
def client(large: Storage) -> Client:
    account = StaffAccountFactory.create()
    StorageMembership.objects.create(account=account, storage=large, roles=[Role.ANALYZER.value])
    client = Client()
    client.force_login(account)
    client.get(f"{ROOT}/1033/")  # reads the configuration, once
    return client


def test_statements_of_each_page(client: Client) -> None:
    counts = {}
    for name, (path, _) in PAGES.items():
        with CaptureQueriesContext(connection) as captured:
            assert client.get(f"{ROOT}{path}").status_code == 200, name
        counts[name] = len(captured)
    assert counts == {name: count for name, (_, count) in PAGES.items()}


@pytest.mark.one_node("reads the plans of one server")
def test_every_statement_uses_an_index(client: Client, large: Storage) -> None:
    """Under row-level security a condition that is not leakproof cannot use an index and would read the rows of all tenants."""
    looked_at = 0
    for name, (path, _) in PAGES.items():
        with CaptureQueriesContext(connection) as captured:
            client.get(f"{ROOT}{path}")
        statements = [each["sql"] for each in captured.captured_queries if "elements_" in each["sql"]]
        with tenant_scope(large), connection.cursor() as cursor:
            cursor.execute("SET LOCAL enable_seqscan = off")
            for sql in statements:
                cursor.execute(f"EXPLAIN {sql}")
                plan = "\n".join(row[0] for row in cursor.fetchall())
                assert "Seq Scan on elements_" not in plan, (name, sql, plan)
                looked_at += 1
    assert looked_at > 50
