"""Every operation needs the same number of statements, with ten elements and with a thousand.

`query_counts.json` has the numbers, so that a change of them shows in review. To update them after an intended change:
`WRITE_QUERY_COUNTS=1 make test ARGS="-n 0 tests/elements/test_query_counts.py"`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from elements.reading import identities
from elements.sample import sample_lines
from repository_site.core.database.statements import engine
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.conftest import StorageMaker
from tests.factories import token_for

pytestmark = pytest.mark.django_db
BASELINE = Path(__file__).with_name("query_counts.json")
SIZES = (10, 1000)
# The first process of a sample; it has children, references and, here, a diagram.
ROOT, CHILD = "00000000-0000-0003-0000-000000000000", "00000000-0000-0003-0000-000000000001"
VIEWS = "facets/processes/views"
OPERATIONS = {
    "listFacets": "facets",
    "listViews": VIEWS,
    "getViewConfiguration": f"{VIEWS}/detail/config",
    "listElements": f"{VIEWS}/detail/elements",
    "listElements, tree": f"{VIEWS}/tree/elements",
    "listElements, a page": f"{VIEWS}/detail/elements?$page=1&$pageSize=1000",
    "listElements, the page of an element": f"{VIEWS}/detail/elements?$pageSelectionKey={CHILD}",
    "listElements, filtered": f"{VIEWS}/detail/elements?$filter=Contains(attributes, 'order') AND NOT IsNull(systems)",
    "listElements, attributes": f"{VIEWS}/detail/elements?$resources=attributes",
    "listElements, expanded": f"{VIEWS}/detail/elements?$expandRelated=systems,owner,risks",
    "getElement": f"{VIEWS}/detail/elements/{ROOT}",
    "getElement, filtered": f"{VIEWS}/detail/elements/{ROOT}?$filter=type -eq mainProcess",
    "listAttributes": f"{VIEWS}/detail/elements/{ROOT}/attributes",
    "getAttribute": f"{VIEWS}/detail/elements/{ROOT}/attributes/name",
    "listRelated": f"{VIEWS}/detail/elements/{ROOT}/related",
    "listRelated, filtered": f"{VIEWS}/detail/elements/{ROOT}/related?$filter=NOT IsNull(name)",
    "getRelated, expanded": f"{VIEWS}/detail/elements/{ROOT}/related/systems?$expandRelated=systems",
    "listChildren": f"{VIEWS}/tree/elements/{ROOT}/children",
    "getContent": f"{VIEWS}/detail/elements/{ROOT}/content",
    "listChanges": f"{VIEWS}/detail/elements/{ROOT}/history",
    "getElementInfo": f"{VIEWS}/tree/elements/{CHILD}/info",
    "listVersions": f"{VIEWS}/detail/elements/{ROOT}/versions",
    "listReporting": "facets/it/reporting",
    "getReporting": f"facets/processes/reporting/{ROOT}",
    "renderDiagram": f"diagram/{ROOT}/render/1033/vertical",
    "listTypeSchemas": "/schema/types",
    "getTypeSchema": "/schema/types/subProcess",
}


def path_of(address: str) -> str:
    return f"/acme/sample/_api{address}" if address.startswith("/") else f"/acme/sample/_api/rest/{address}"


@pytest.fixture(autouse=True)
def _nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start like the first request in a state of the storage; later ones find the targets of references in the
    cache."""
    monkeypatch.setattr(identities, "MOST_KEPT", 0)


def drawn(lines: Iterable[bytes], count: int) -> Iterator[bytes]:
    """Return the sample with a diagram of `count` tasks, one after the other, for its first process."""
    tasks = [
        {"facetName": "processes", "id": f"00000000-0000-00fe-0000-{each:012x}", "type": "task"}
        for each in range(count)
    ]
    shapes = [f"00000000-0000-00ff-0000-{each:012x}" for each in range(count)]
    for line in lines:
        document = json.loads(line)
        if document["id"] == ROOT:
            document["content"] = [
                {
                    "properties": {
                        "shapeId": shape,
                        "predecessors": [{"properties": {"shapeId": before}}] if before else [],
                    },
                    **task,
                }
                for shape, before, task in zip(shapes, ["", *shapes], tasks, strict=False)
            ]
        yield json.dumps(document).encode() + b"\n"
    for task in tasks:
        yield json.dumps({**task, "creationId": task["id"], "attributes": {"name": {"1033": "Task"}}}).encode() + b"\n"


@pytest.fixture(scope="module", params=SIZES)
def sample(
    request: pytest.FixtureRequest, filled_storage: StorageMaker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Storage]:
    file = tmp_path_factory.mktemp("sample") / "lines.ndjson"
    file.write_bytes(b"".join(drawn(sample_lines(request.param), request.param)))
    with filled_storage(file, key="sample", template="standard") as storage:
        yield storage


def test_statements_of_each_operation(sample: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    # Django's own client, because validating responses of this size against the API document takes too long.
    client = Client(headers={"Authorization": f"Bearer {token_for(sample, Role.ARCHITECT)}"})
    monkeypatch.setattr("elements.api.reading_viewset.BATCH", 5_000)
    client.get("/acme/sample/_api/rest/facets")  # reads the configuration, once
    counts = {}
    for name, address in OPERATIONS.items():
        with CaptureQueriesContext(connection) as captured:
            response = client.get(path_of(address))
            assert (response.status_code, b"".join(response) != b"") == (200, True), name
        counts[name] = len(captured)
    if os.environ.get("WRITE_QUERY_COUNTS"):
        BASELINE.write_text(json.dumps(counts, indent=2) + "\n", encoding="utf-8")
    expected = json.loads(BASELINE.read_text(encoding="utf-8"))
    # Citus cannot read the rows of a storage and accounts, which are on the coordinator, in one statement.
    expected["getElementInfo"] += engine().is_distributed
    assert counts == expected


@pytest.mark.one_node("reads the plans of one server")
def test_every_statement_uses_an_index(sample: Storage) -> None:
    """Under row-level security, a condition that is not leakproof cannot use an index and would read the rows of all
    tenants.

    Reading a small table as a whole is quicker; with sequential scans disabled, the planner does it only if it must.
    """
    client = Client(headers={"Authorization": f"Bearer {token_for(sample, Role.ARCHITECT)}"})
    looked_at = 0
    for name, address in OPERATIONS.items():
        with CaptureQueriesContext(connection) as captured:
            response = client.get(path_of(address))
            assert (response.status_code, b"".join(response) != b"") == (200, True)
        statements = [each["sql"] for each in captured.captured_queries if "elements_" in each["sql"]]
        with tenant_scope(sample), connection.cursor() as cursor:
            cursor.execute("SET LOCAL enable_seqscan = off")
            for sql in statements:
                cursor.execute(f"EXPLAIN {sql}")
                plan = "\n".join(row[0] for row in cursor.fetchall())
                assert "Seq Scan on elements_" not in plan, (name, sql, plan)
                looked_at += 1
    assert looked_at > 100


def test_every_operation_is_counted() -> None:
    """New operations of these apps must join the list."""
    from elements.api.urls import urlpatterns

    known = {name.partition(",")[0] for name in OPERATIONS}
    views: list[Any] = [pattern.callback for pattern in urlpatterns]
    actions = [getattr(view.cls, view.actions["get"]) for view in views if "get" in view.actions]
    assert {action.operation.id for action in actions} <= known
