"""Every operation needs the same number of statements, with ten elements and with a thousand.

`query_counts.json` has the numbers, so that a change of them shows in review. To update them after an intended change:
`WRITE_QUERY_COUNTS=1 make test ARGS="-n 0 tests/elements/reading/test_query_counts.py"`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from elements.demo.sample import sample_lines
from elements.models import Element, ElementChange
from elements.reading import identities
from repository_site.core.database.statements import engine
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.conftest import StorageMaker
from tests.elements.index_use import assert_every_statement_uses_an_index
from tests.factories import token_for
from tests.scale import many_rows

pytestmark = pytest.mark.django_db
BASELINE = Path(__file__).with_name("query_counts.json")
SIZES = (10, pytest.param(1000, marks=many_rows))
# The first process of a sample; it has children, references and, here, a diagram.
ROOT, CHILD = "00000000-0000-0003-0000-000000000000", "00000000-0000-0003-0000-000000000001"
SYSTEM = "00000000-0000-0001-0000-000000000000"
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
    "listElements, with a text": f"{VIEWS}/detail/elements?$filter=Contains(purp, 'order') OR Contains(purp, 'result')",
    "listElements, attributes": f"{VIEWS}/detail/elements?$resources=attributes",
    "listElements, expanded": f"{VIEWS}/detail/elements?$expandRelated=systems,owner,risks",
    "listElements, with names": f"{VIEWS}/detail/elements?$resources=names",
    "listElements, with fields": f"{VIEWS}/detail/elements?$expandRelated=systems(name,scope),owner(name),children(name)",
    "listElements, a table": f"{VIEWS}/detail/elements?$format=csv&$page=1&$pageSize=100",
    "getElement": f"{VIEWS}/detail/elements/{ROOT}",
    "getElement, filtered": f"{VIEWS}/detail/elements/{ROOT}?$filter=type -eq mainProcess",
    "listAttributes": f"{VIEWS}/detail/elements/{ROOT}/attributes",
    "getAttribute": f"{VIEWS}/detail/elements/{ROOT}/attributes/name",
    "listRelated": f"{VIEWS}/detail/elements/{ROOT}/related",
    "listRelated, filtered": f"{VIEWS}/detail/elements/{ROOT}/related?$filter=NOT IsNull(name)",
    "getRelated, expanded": f"{VIEWS}/detail/elements/{ROOT}/related/systems?$expandRelated=systems",
    "listReferrers": f"facets/it/views/detail/elements/{SYSTEM}/referencedBy?$pageSize=1000",
    "listReferrers, a later page": f"facets/it/views/detail/elements/{SYSTEM}/referencedBy?$page=2&$pageSize=1",
    "listReferrers, in a context": f"facets/it/views/detail/elements/{SYSTEM}/referencedBy?context=systems",
    "compareElement": f"{VIEWS}/detail/elements/{ROOT}/compare?from={ROOT}&$words=true",
    "compareElement, at two times": f"{VIEWS}/detail/elements/{ROOT}/compare?from={{now}}",
    "compareStorage": "compare?from={now}",
    "listChildren": f"{VIEWS}/tree/elements/{ROOT}/children",
    "getContent": f"{VIEWS}/detail/elements/{ROOT}/content",
    "listChanges": f"{VIEWS}/detail/elements/{ROOT}/history",
    "getElementInfo": f"{VIEWS}/tree/elements/{CHILD}/info",
    "listVersions": f"{VIEWS}/detail/elements/{ROOT}/versions",
    "listReporting": "facets/it/reporting",
    "getReporting": f"facets/processes/reporting/{ROOT}",
    "renderDiagram": f"diagram/{ROOT}/render/1033/vertical",
    "renderDiagram, detailed": f"diagram/{ROOT}/render/1033/detailed",
    "renderDiagram, in lanes": f"diagram/{ROOT}/render/1033/horizontalSwimlane",
    "listDiagramLayouts": f"diagram/{ROOT}/render",
    "exportBpmn": f"/v1/bpmn/{ROOT}",
    "listSubscribers": f"/v1/subscriptions/{ROOT}",
    "getPermissionSet": f"permissions/permissionsets/{ROOT}",
    "getFacetPermissionSet": "permissions/facets/processes",
    "listReport": "/v1/reporting?page=1&pageSize=1000",
    "getReport": f"/v1/reporting/{ROOT}",
    "listDataElements": "/v2/data/elements?Facet=processes&PageSize=1000",
    "getDataElement": f"/v2/data/elements/{ROOT}",
    "listPermalinks": "/v1/permalinks",
    "followChanges": "changes",
    "searchElements": "search?q=input result",
    "searchElements, nothing found": "search?q=ordxr",
    "suggestElements": "search/suggestions?q=ord",
    "listTypeSchemas": "/schema/types",
    "getTypeSchema": "/schema/types/subProcess",
}


def path_of(address: str) -> str:
    address = address.replace("{now}", f"{datetime.now(UTC).replace(tzinfo=None).isoformat()}Z")
    return f"/acme/sample/_api{address}" if address.startswith("/") else f"/acme/sample/_api/rest/{address}"


@pytest.fixture(autouse=True)
def _nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start like the first request in a state of the storage; later ones find the targets of references in the
    cache."""
    monkeypatch.setattr(identities, "MOST_KEPT", 0)


def drawn(lines: Iterable[bytes], count: int) -> Iterator[bytes]:
    """Return the sample with a diagram of `count` tasks, one after the other, for its first process. All
    processes use the first system."""
    tasks = [
        {"facetName": "processes", "id": f"00000000-0000-00fe-0000-{each:012x}", "type": "task"}
        for each in range(count)
    ]
    shapes = [f"00000000-0000-00ff-0000-{each:012x}" for each in range(count)]
    for line in lines:
        document = json.loads(line)
        systems = document.get("related", {}).get("systems", [])
        if systems and SYSTEM not in {each["id"] for each in systems}:
            systems[0]["id"] = SYSTEM
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
    # Drawing takes far longer than reading.
    file.write_bytes(b"".join(drawn(sample_lines(request.param), request.param // 5)))
    with filled_storage(file, key="sample", template="standard") as storage:
        yield storage


def test_statements_of_each_operation(sample: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = statements(sample, monkeypatch)
    counts = {name: len(texts) for name, texts in sent.items()}
    if os.environ.get("WRITE_QUERY_COUNTS"):
        BASELINE.write_text(json.dumps(counts, indent=2) + "\n", encoding="utf-8")
    expected = baseline()
    # Citus cannot read the rows of a storage and accounts, which are on the coordinator, in one statement.
    expected["getElementInfo"] += engine().is_distributed
    assert counts == expected
    if not engine().is_distributed:
        # Elsewhere the plans are those of several servers.
        assert_every_statement_uses_an_index(sample, sent, at_least=100)


@pytest.mark.long
@pytest.mark.on_cluster
def test_past_reads_ask_when_the_record_begins(sample: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    """They send this statement more (D566), and none that looks for words of today."""
    counts = baseline()
    sent = statements(sample, monkeypatch, timezone.now())
    expected = {name: counts[name] + 1 - (name == "listElements, with a text") for name in sent}
    assert ({name: len(texts) for name, texts in sent.items()}, len(sent) > 25) == (expected, True)
    if not engine().is_distributed:
        assert_every_statement_uses_an_index(sample, sent, at_least=75)


def baseline() -> dict[str, int]:
    """Return the number of statements of each operation. Citus reads storage and token before the scope (D613)."""
    found: dict[str, int] = json.loads(BASELINE.read_text(encoding="utf-8"))
    return {name: count + engine().is_distributed for name, count in found.items()}


def statements(sample: Storage, monkeypatch: pytest.MonkeyPatch, as_of: datetime | None = None) -> dict[str, list[str]]:
    """Call each operation, or each that takes `$asOf`, and return the statements that it has sent."""
    # Django's own client, because validating responses of this size against the API document takes too long.
    client = Client(headers={"Authorization": f"Bearer {token_for(sample, Role.ARCHITECT)}"})
    monkeypatch.setattr("elements.api.reading_viewset.BATCH", 5_000)
    for _ in range(2):
        # The first request reads the configuration and notes the use of the token, the second reads the token again.
        client.get("/acme/sample/_api/rest/facets")
    change = {"action": "updated", "changed_on": datetime.now(UTC), "before": {}, "after": {}}
    with tenant_scope(sample):
        ElementChange.objects.bulk_create(
            ElementChange(element_id=element, version_id=version, **change)
            for element, version in Element.objects.exclude(id=ROOT).values_list("id", "newest_id")
        )
    sent = {}
    past = {action.operation.id for action in actions() if "$asOf" in action.operation.query_names}
    for name, address in OPERATIONS.items():
        if as_of and name.partition(",")[0] not in past:
            continue
        past_query = f"{'&' if '?' in address else '?'}$asOf={as_of:%Y-%m-%dT%H:%M:%S.%fZ}" if as_of else ""
        with CaptureQueriesContext(connection) as captured:
            response = client.get(path_of(address) + past_query)
            assert (response.status_code, b"".join(response) != b"") == (200, True), name
        sent[name] = [each["sql"] for each in captured.captured_queries]
    return sent


def test_every_operation_is_counted() -> None:
    """New operations of these apps must join the list."""
    # tests/elements/events/test_webhooks_api.py counts those of webhooks, which do not depend on the content, and
    # tests/elements/files/test_files_api.py those of files, tests/release/bulk/test_bulk_runs.py those of bulk changes.
    known = {name.partition(",")[0] for name in OPERATIONS} | {"listWebhooks", "getWebhook", "listWebhookDeliveries"}
    known |= {"getFile", "getBulkReport"}
    assert {action.operation.id for action in actions()} <= known


def actions() -> list[Any]:
    """Return the methods of all operations of this app that read."""
    from elements.api.urls import urlpatterns

    views: list[Any] = [pattern.callback for pattern in urlpatterns]
    return [getattr(view.cls, view.actions["get"]) for view in views if "get" in view.actions]
