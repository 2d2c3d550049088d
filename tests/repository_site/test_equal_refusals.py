"""Unknown and inaccessible elements get the same response (D3, D150): status, headers, body and statements.

Every operation of the API that takes an id is asked for one that nobody has, one that only the other tenant has and,
by a viewer, one of a draft. A new operation is asked, too: the list comes from the OpenAPI document.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from release.models import Task
from repository_site.api_document.document import openapi_document
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.conftest import StorageMaker
from tests.elements.handbook import ID, TEMPLATE, write_lines
from tests.factories import token_for
from tests.storage.office import member

pytestmark = [pytest.mark.django_db, pytest.mark.long]
UNKNOWN = str(UUID(int=0xDEAD))
PARTS = {
    "collectionId": "acme", "storageId": "handbook", "facetId": "processes", "viewId": "detail", "cultureId": "1033",
    "layoutKey": "horizontal", "transitionId": "release", "ignoreWarnings": "true", "attributeName": "name",
}  # fmt: skip
# Values that differ between requests: ids, and names and numbers of savepoints.
VALUES = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{32}|s\d+_x\d+|-- \d+")
KEPT = ("Content-Type", "Cache-Control", "Link", "X-Total-Count", "Vary")
BODIES: dict[str, dict[str, Any]] = {"delegate": {"assignee": ID["anna"]}, "content": {"count": 0, "shapes": []}}


@pytest.fixture(scope="module")
def handbook(filled_storage: StorageMaker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Storage]:
    folder = tmp_path_factory.mktemp("handbook")
    template = folder / "template.json"
    template.write_text(json.dumps(TEMPLATE), encoding="utf-8")
    fields: dict[str, Any] = {"key": "handbook", "template": str(template), "time_zone": "Europe/Berlin"}
    with (
        filled_storage(write_lines(folder / "own.ndjson"), collection="acme", **fields) as storage,
        filled_storage(write_lines(folder / "rival.ndjson", "Rival "), collection="rival", **fields),
    ):
        yield storage


@pytest.fixture
def theirs(handbook: Storage, api: ApiClient) -> dict[str, str]:
    """Create an element, a shape and a task of the other tenant."""
    rival = Storage.objects.get(collection__key="rival", key="handbook")
    address = "/rival/handbook/_api/rest/facets/processes/views/detail/elements/"
    body = {"elements": [{"type": "mainProcess", "attributes": {"name": {"1033": "Secret"}}}]}
    token = token_for(rival, Role.ARCHITECT)
    made = api.post(address, json.dumps(body), content_type="application/json", token=token)
    assert made.status_code == 200, made.content
    element = made.json()["elements"][0]["versionId"]
    with tenant_scope(rival):
        task = Task.objects.create(
            id=uuid4(), type="Approve expiry", element_id=ID["order"], version_id=ID["order-2"], revision=1,
            transition="expire", source_state="released", target_state="expired", requested_on=timezone.now(),
            requester_label="staff:1",
        )  # fmt: skip
    return {"elementId": element, "taskId": str(task.id), "relatedId": "systems", "shapeId": ID["shape-start-2"]}


def operations() -> list[tuple[str, str]]:
    """Return method and address of all operations in a storage that take an id."""
    return [
        (verb, template)
        for template, found in openapi_document()["paths"].items()
        for verb in found
        if "/_admin/" not in template and ("{elementId}" in template or "{taskId}" in template)
    ]


def address(template: str, ids: dict[str, str]) -> str:
    query = "?from=1.0" if template.endswith("/compare") else ""
    return re.sub(r"\{(\w+)\}", lambda part: ids.get(part[1]) or PARTS[part[1]], template) + query


def asked(api: ApiClient, verb: str, template: str, ids: dict[str, str], token: str) -> tuple[Any, ...]:
    body = BODIES.get(template.rpartition("/")[2], {}) if verb == "post" else {}
    options = {"content_type": "application/json"} if verb == "post" else {}
    call = getattr(api, verb)
    with CaptureQueriesContext(
        connection,
    ) as statements:
        response = call(address(template, ids), *([json.dumps(body)] if verb == "post" else []), token=token, **options)
    content = response.content.decode()
    for name in ("elementId", "taskId"):
        content = content.replace(ids[name], "{id}")
    headers = {
        name: value for name, value in response.headers.items() if name not in ("X-Request-ID", "Content-Length")
    }
    texts = [VALUES.sub("...", each["sql"]) for each in statements]
    return response.status_code, headers, content, texts


def differences(
    api: ApiClient, token: str, one: dict[str, str], other: dict[str, str]
) -> tuple[list[Any], dict[int, list[str]]]:
    """Return the operations that respond differently, and all statuses."""
    apart, statuses = [], dict[int, list[str]]()
    # The use of the token is recorded, and then the process recalls it (D589).
    for _ in range(2):
        api.get("/acme/handbook/_api/rest/info", token=token)
    for verb, template in operations():
        # One request before, to fill the caches for both.
        asked(api, verb, template, one, token)
        first, second = (asked(api, verb, template, ids, token) for ids in (one, other))
        if first != second:
            apart.append((verb, template, *((a, b) for a, b in zip(first, second, strict=True) if a != b)))
        statuses.setdefault(first[0], []).append(f"{verb} {template}")
    return apart, statuses


NOBODYS = {"elementId": UNKNOWN, "taskId": UNKNOWN, "relatedId": "systems", "shapeId": UNKNOWN}


@pytest.mark.parametrize("role", [Role.VIEWER, Role.ADMINISTRATOR])
def test_elements_of_another_tenant_look_unknown(
    api: ApiClient, handbook: Storage, theirs: dict[str, str], role: Role
) -> None:
    apart, statuses = differences(api, token_for(handbook, role), NOBODYS, theirs)
    assert apart == []
    assert set(statuses) <= {404} | ({403} if role is Role.VIEWER else set()), statuses


def test_a_draft_is_not_there_for_a_viewer(api: ApiClient, handbook: Storage) -> None:
    draft = {**NOBODYS, "elementId": ID["invoice"]}
    apart, statuses = differences(api, token_for(handbook, Role.VIEWER), NOBODYS, draft)
    assert apart == []
    assert set(statuses) <= {403, 404}, statuses


ELEMENTS = "/acme/handbook/_api/rest/facets/processes/views/detail/elements"
NEW = {"type": "mainProcess", "attributes": {"name": {"1033": "New"}}}
ELSEWHERE = [
    # Ids in parameters and bodies.
    ("get", f"{ELEMENTS}?$page=1&$pageSize=5&$pageSelectionKey={{id}}", None, 404),
    ("get", "/acme/handbook/_api/rest/tasks?element={id}", None, 200),
    ("get", f"{ELEMENTS}?$filter=systems%20-eq%20{{id}}", None, 200),
    ("post", f"{ELEMENTS}/", {"elements": [{**NEW, "versionId": "{id}"}]}, 404),
    ("post", "/acme/handbook/_api/v1/permalinks", {"linkType": "ofElement", "elementId": "{id}"}, 404),
    ("get", "/acme/handbook/_api/v1/permalinks?elementId={id}", None, 200),
    ("post", f"{ELEMENTS}/", {"elements": [{**NEW, "related": {"systems": [{"id": "{id}"}]}}]}, 422),
]


@pytest.mark.parametrize(("verb", "path", "body", "status"), ELSEWHERE)
def test_nor_do_ids_elsewhere(
    api: ApiClient, handbook: Storage, theirs: dict[str, str], verb: str, path: str, body: Any, status: int
) -> None:
    found = []
    for each in (UNKNOWN, theirs["elementId"]):
        given = [json.dumps(body).replace("{id}", each)] if body else []
        options = {"content_type": "application/json"} if body else {}
        token = token_for(handbook, Role.ARCHITECT)
        response = getattr(api, verb)(path.replace("{id}", each), *given, token=token, **options)
        headers = {name: value.replace(each, "{id}") for name, value in response.headers.items() if name in KEPT}
        found.append((response.status_code, headers, response.content.decode().replace(each, "{id}")))
    assert found[0] == found[1]
    assert found[0][0] == status, found[0]


# Every page has another value, which means the same.
CSRF = re.compile(r'name="csrfmiddlewaretoken" value="\w+"')


@pytest.mark.parametrize("page", ["1033/processes/{id}", "1033/processes/{id}/", "admin/elements/element/{id}/change/"])
def test_pages_tell_no_more(handbook: Storage, theirs: dict[str, str], page: str) -> None:
    """For readers, a draft looks unknown, too."""
    is_office = page.startswith("admin")
    browser = member(handbook, Role.EDITOR if is_office else Role.VIEWER)
    asked_for = [UNKNOWN, theirs["elementId"], *([] if is_office else [ID["invoice"], ID["invoice-1"]])]
    found = []
    for each in asked_for:
        response = browser.get(f"/acme/handbook/{page.format(id=each)}")
        headers = {name: value for name, value in response.headers.items() if name != "X-Request-ID"}
        content = CSRF.sub("", response.content.decode()).replace(each, "{id}")
        found.append((response.status_code, headers, content))
    assert found[0][0] == 404
    assert found == [found[0]] * len(asked_for)


MEASURED = [
    "/{collectionId}/{storageId}/_api/rest/facets/{facetId}/views/{viewId}/elements/{elementId}",
    "/{collectionId}/{storageId}/_api/rest/facets/{facetId}/views/{viewId}/elements/{elementId}/attributes",
    "/{collectionId}/{storageId}/_api/rest/release/{elementId}/transitions",
    "/{collectionId}/{storageId}/_api/rest/tasks/{taskId}",
]


def calls_of(work: Callable[[], object]) -> int:
    """Return the number of function calls, a measure of the work that does not depend on the machine."""
    count = 0

    def note(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("template", MEASURED)
def test_time_tells_no_more(api: ApiClient, handbook: Storage, theirs: dict[str, str], template: str) -> None:
    """The work in the process is the same, as are the statements."""
    token = token_for(handbook, Role.EDITOR)
    one, other = (address(template, ids) for ids in (NOBODYS, theirs))
    for each in (one, other):
        assert api.get(each, token=token).status_code == 404
    # The least of some, since now and then a request also does work that does not belong to it, such as tidying caches.
    costs = [min(calls_of(lambda each=each: api.get(each, token=token)) for _ in range(4)) for each in (one, other)]  # type: ignore[misc]
    assert max(costs) - min(costs) <= 0.01 * min(costs), costs
