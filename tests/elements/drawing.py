"""Requests that draw in a diagram, and their expected responses."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from tests.api_client import ApiClient
from tests.elements.element_parts import part
from tests.elements.handbook import BASE, FACETS, ID, wire
from tests.tags import version_tag

Item = dict[str, Any]
ERRORS = {
    400: ("error", "inline"), 401: ("unauthorized", "volatile"), 403: ("unauthorized", "volatile"), 404: ("error", "volatile"),
    409: ("error", "dialog"), 412: ("error", "dialog"), 413: ("error", "volatile"), 422: ("error", "inline"),
}  # fmt: skip


def problems(response: Any, status: int) -> list[str]:
    """Return the problems in an error body (D3)."""
    body = response.json()
    assert (response.status_code, (body["type"], body["output"])) == (status, ERRORS[status]), body
    assert list(body) == ["message", "output", "type", "data"]
    texts = [each["error"] for each in body["data"]]
    assert body["data"] == [{"error": text} for text in texts]
    assert texts == [body["message"]] or len(texts) > 1
    return texts


def new(index: int, type: str, name: str, *before: int) -> Item:
    element = {"type": type, "attributes": {"name": {"1033": name}}}
    return {"shapeInfo": {"index": index, "predecessors": list(before)}, "element": element}


def existing(index: int, type: str, name: str, *before: int) -> Item:
    element = {"type": type, "id": ID.get(name, name)}
    return {"shapeInfo": {"index": index, "predecessors": list(before)}, "element": element}


def anchor(index: int, shape: str, *before: int) -> Item:
    return {"shapeInfo": {"index": index, "id": ID.get(shape, shape), "predecessors": list(before)}}


def post(api: ApiClient, token: str | None, owner: str, *items: Item, **more: Any) -> Any:
    return post_body(api, token, owner, {"values": list(items)}, **more)


def post_body(api: ApiClient, token: str | None, owner: str, body: Any, **more: Any) -> Any:
    address = part(owner, "content", "diagram")
    return api.post(address, body, content_type="application/json", token=token, **more)


def draw(api: ApiClient, token: str, owner: str, *items: Item, **more: Any) -> list[str]:
    """Draw shapes, check the whole response, and return their ids."""
    response = post(api, token, owner, *items, **more)
    assert response.status_code == 200, response.json()
    shapes = [each["id"] for each in response.json()["values"]]
    indexes = [item["shapeInfo"]["index"] for item in items]
    answer = [{"id": shape, "index": index} for shape, index in zip(shapes, indexes, strict=True)]
    assert response.json() == {"values": answer}
    assert [str(UUID(shape)) for shape in shapes] == shapes
    return shapes


def content(api: ApiClient, token: str | None, owner: str) -> list[dict[str, Any]]:
    body = api.get(part(owner, "content", "diagram"), token=token).json()
    elements: list[dict[str, Any]] = body["elements"]
    assert body == {"count": len(elements), "elements": elements}
    return elements


def flow(api: ApiClient, token: str | None, owner: str) -> dict[str, list[str]]:
    """Return the names in a diagram in order, each with the names of its predecessors."""
    found = content(api, token, owner)
    names = {each["properties"]["shapeId"]: each["attributes"]["name"]["1033"] for each in found}
    before = [[each["properties"]["shapeId"] for each in shape["properties"]["predecessors"]] for shape in found]
    return {name: [names[each] for each in shapes] for name, shapes in zip(names.values(), before, strict=True)}


def one(api: ApiClient, token: str | None, element: str, view: str = "detail") -> dict[str, Any]:
    (found,) = api.get(part(element, "", view).removesuffix("/"), token=token).json()["elements"]
    return dict(found)


def tag(api: ApiClient, token: str, element: str) -> str:
    return version_tag(api.get(part(element, ""), token=token)["ETag"])


def made(type: str, element: str, **more: str) -> dict[str, Any]:
    """Return the identity of a created element, as references have it."""
    identity = {"facetName": "processes", "id": element, **more, "type": type}
    return identity if "versionId" in more else {**identity, "creationId": element}


def shape(owner: str, shape: str, of: dict[str, Any], name: str, *before: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    """Return a shape as operation 10 shows it."""

    def predecessor(shape: str, of: dict[str, Any]) -> dict[str, Any]:
        address = f"{FACETS}/processes/views/detail/elements/{of.get('versionId', of['id'])}"
        return {"properties": {"shapeId": shape}, **of, "expandUri": address}

    goto = {lcid: f"{BASE}/{lcid}/processes/{ID[owner]}?shape={shape}" for lcid in ("1031", "1033")}
    return {
        "properties": {"predecessors": [predecessor(*each) for each in before], "shapeId": shape},
        **of,
        "attributes": {"gotoUrl": goto, "name": {"1033": name}},
    }


ORDER_3 = [
    shape("order-3", ID["shape-start-3"], wire("start-3", bare=True), "Start"),
    shape("order-3", ID["shape-check-3"], wire("check-3", bare=True), "Check again",
          (ID["shape-start-3"], wire("start-3", bare=True))),
]  # fmt: skip
