"""Requests that replace a diagram, and what they leave."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import connection

from elements.models import ShapeFlow
from storage.models import Storage
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.elements.drawing import Item
from tests.elements.element_parts import part
from tests.elements.handbook import ID
from tests.elements.update_desk import fingerprint

Body = dict[str, Any]


def put(api: ApiClient, token: str | None, owner: str, *items: Item, query: str = "", **more: Any) -> Any:
    headers = more.pop("headers", None)
    body = {"values": list(items), **more}
    address = part(owner, "content", "diagram") + query
    return api.put(address, body, content_type="application/json", token=token, headers=headers)


def replace(api: ApiClient, token: str, owner: str, *items: Item, **more: Any) -> Body:
    """Replace a diagram, check the ids in the response, and return it."""
    response = put(api, token, owner, *items, **more)
    assert response.status_code == 200, response.json()
    body: Body = response.json()
    assert list(body) == ["values", "lanes", "added", "changed", "removed"]
    assert [each["index"] for each in body["values"]] == [item["shapeInfo"]["index"] for item in items]
    assert [each["index"] for each in body["lanes"]] == [lane["index"] for lane in more.get("lanes", ())]
    for sent, found in zip([item["shapeInfo"] for item in items], body["values"], strict=True):
        assert found["id"] == sent.get("id", str(UUID(found["id"])))
    return body


def drawn(index: int, shape: str, *before: int | str, **more: Any) -> Item:
    """Return an item for an existing shape; `element` has changed values of its element."""
    element = more.pop("element", None)
    info = {"index": index, "id": ID.get(shape, shape), "predecessors": list(before), **more}
    return {"shapeInfo": info, **({"element": element} if element else {})}


LINE = [[0, 0], [5, 5]]


def draw_line(storage: Storage) -> None:
    """Store the points of the flow, as an import of BPMN does."""
    with tenant_scope(storage):
        ShapeFlow.objects.filter(shape_id=ID["shape-check-3"]).update(waypoints=LINE)


def stored_line(storage: Storage) -> Any:
    with tenant_scope(storage):
        return ShapeFlow.objects.get(shape_id=ID["shape-check-3"]).waypoints


def details(api: ApiClient, token: str | None, owner: str) -> Body:
    body: Body = api.get(part(owner, "content", "diagram") + "?$details=true", token=token).json()
    assert list(body) == ["count", "elements", "lanes"]
    return body


def with_details(plain: Body, labels: tuple[Any, ...] = (), **more: Any) -> Body:
    """Return a shape as operation 10 shows it with details."""
    before = [
        {**each, "properties": {**each["properties"], **({"label": label} if label else {})}}
        for each, label in zip(plain["properties"]["predecessors"], labels or (None,) * 99, strict=False)
    ]
    return {**plain, "properties": {**plain["properties"], "predecessors": before, **more}}


def shown(shape: str, element: str, **more: Any) -> Body:
    return {"kind": "shape", "shapeId": shape, "element": element, **more}


def line(shape: str, before: str, **more: Any) -> Body:
    return {"kind": "flow", "shapeId": shape, "predecessor": before, **more}


def everything(storage: Storage) -> tuple[str, list[Any]]:
    """Return a digest of all rows of elements, and all rows of other tables that a change writes."""
    found = []
    with tenant_scope(storage), connection.cursor() as cursor:
        for table in ("storage_answeredrequest", "storage_storagegrowth", "elements_contentmark"):
            cursor.execute(f"SELECT t::text FROM {table} t WHERE t.storage_id = %s ORDER BY 1", [storage.pk])
            found.append(cursor.fetchall())
    return fingerprint(storage), found


def without_new_ids(value: Any, known: frozenset[str] = frozenset(ID.values())) -> Any:
    """Return a response with numbers instead of the ids that were made for it, in the order of their occurrence."""
    numbers: dict[str, int] = {}

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: plain(each) for key, each in value.items()}
        if isinstance(value, list):
            return [plain(each) for each in value]
        if isinstance(value, str) and len(value) == 36 and value not in known:
            return numbers.setdefault(value, len(numbers))
        return value

    return plain(value)
