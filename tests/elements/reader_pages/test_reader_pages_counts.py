"""Every page takes a fixed number of statements, and all of them use an index."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from repository_site.core.database.statements import engine
from storage.models import Storage, StorageMembership
from storage.options import Role
from tests.conftest import StorageMaker
from tests.elements.index_use import assert_every_statement_uses_an_index
from tests.factories import StaffAccountFactory
from tests.scale import many_rows

pytestmark = [pytest.mark.django_db, pytest.mark.long]
ROOT = "/acme/large"
HOUSE, MAIN, PROCESS = (f"00000000-0000-4000-8000-00000000000{number}" for number in (1, 2, 3))
PAGES = {
    "start": ("/1033/", 10),
    "tree": ("/1033/processes/", 9),
    "opened tree": (f"/1033/processes/?open={PROCESS}", 10),
    "list": ("/1033/it/?as=list", 8),
    "element": (f"/1033/processes/{PROCESS}", 12),
    "shape": (f"/1033/processes/{PROCESS}?shape=00000000-0000-4004-8000-000000000001", 12),
    "child": ("/1033/processes/00000000-0000-4001-8000-000000000001", 9),
    "task": ("/1033/processes/00000000-0000-4003-8000-000000000001", 9),
    "used system": ("/1033/it/00000000-0000-4002-8000-000000000001", 10),
    "uses": ("/1033/it/00000000-0000-4002-8000-000000000001/uses", 10),
    "uses in a context": ("/1033/it/00000000-0000-4002-8000-000000000001/uses?context=systems", 10),
    "search": ("/1033/search?q=system", 9),
    "narrowed search": ("/1033/search?q=system&facet=it&state=released&page=1", 9),
    "suggestions": ("/1033/search/suggestions?q=sys", 6),
}


def lines(count: int) -> Iterator[str]:
    """Create a process with this many references, shapes and children. All steps use the first system."""

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
        systems = {"systems": [reference(2, each, "system", "it") for each in sorted({1, number})]}
        task = {**reference(3, number, "task"), "creationId": identity(3, number), "related": systems}
        yield json.dumps({**task, "attributes": {"name": {"1033": f"Task {number}"}}}) + "\n"


@pytest.fixture(scope="module", params=(3, pytest.param(300, marks=many_rows)))
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


def test_statements_of_each_page(client: Client, large: Storage) -> None:
    sent = {}
    for name, (path, _) in PAGES.items():
        with CaptureQueriesContext(connection) as captured:
            assert client.get(f"{ROOT}{path}").status_code == 200, name
        sent[name] = [each["sql"] for each in captured.captured_queries]
    assert {name: len(texts) for name, texts in sent.items()} == {name: count for name, (_, count) in PAGES.items()}
    if not engine().is_distributed:
        # Elsewhere the plans are those of several servers.
        assert_every_statement_uses_an_index(large, sent, at_least=50)
