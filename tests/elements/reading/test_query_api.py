"""Lists whose parameters are in the body of a POST, and many ids in one read (D573)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from elements.api.list_query import FIELDS
from storage.access.token_limits import TokenLimits
from storage.models import Storage
from storage.options import Role
from tests.api_client import ApiClient
from tests.elements.handbook import ID
from tests.factories import issued_token
from tests.scale import first_quick

pytestmark = pytest.mark.django_db
VIEWS = "/acme/handbook/_api/rest/facets/processes/views"


def ask(api: ApiClient, token: str | None, body: Any, view: str = "list", **more: Any) -> Any:
    address = f"{VIEWS}/{view}/elements/query"
    return api.post(address, json.dumps(body), content_type="application/json", token=token, **more)


def parameters(body: dict[str, Any]) -> dict[str, str]:
    """Return the parameters of the list for the fields of a body."""
    texts = {name: ",".join(value) if isinstance(value, list) else json.dumps(value) for name, value in body.items()}
    return {FIELDS[name][0]: text.strip('"') for name, text in texts.items()}


@pytest.mark.parametrize(
    "body",
    first_quick(
        [
            {"filter": "Contains(name,'e')", "select": ["name", "owner"], "resources": ["attributes", "related"]},
            {"expandRelated": ["owner"], "orderBy": "name[1033] desc", "page": 2, "pageSize": 2},
            {},
            {"culture": 1031, "fallback": True, "pageSelectionKey": ID["ship"]},
            {"filter": "type -eq subProcess", "pageSize": 0},
            {"format": "csv", "select": ["name"]},
        ],
        2,
    ),
)
def test_the_response_is_that_of_the_list(handbook: Storage, api: ApiClient, editor: str, body: dict[str, Any]) -> None:
    reading = issued_token(handbook, Role.ARCHITECT, limits=TokenLimits(is_read_only=True))
    for token in (editor, reading, None):
        for view in ("list", "tree") if "pageSelectionKey" not in body else ("list",):
            address, query = f"{VIEWS}/{view}/elements", parameters(body)
            with CaptureQueriesContext(connection) as listing:
                expected = api.get(address, query_params=query, token=token)
            with CaptureQueriesContext(connection) as asking:
                found = ask(api, token, body, view)
            assert (found.status_code, found.content) == (200, expected.content)
            for name in ("X-Total-Count", "Content-Type", "Content-Disposition", "Cache-Control"):
                assert found.get(name) == expected.get(name)
            assert (len(asking) <= len(listing), "Link" in found, "ETag" in found) == (True, False, True)


def test_many_ids_in_one_read(handbook: Storage, api: ApiClient, editor: str) -> None:
    """Ids name elements at any level of the tree; the list has those that the caller sees, in its own order."""
    known = {value: name for name, value in ID.items()}
    asked = ["ship", "invoice", "order", "house", "order", "erp", "order-3", "token"]
    ids = [ID[each].upper() for each in asked] + ["99999999-0000-4000-8000-000000000000"]

    def named(token: str | None, view: str, **more: Any) -> list[str]:
        answer = ask(api, token, {"ids": ids, **more}, view)
        assert answer.json()["count"] == len(answer.json()["elements"])
        return [known[each["id"]] for each in answer.json()["elements"]]

    assert named(editor, "tree") == ["order", "house", "invoice", "ship"]
    assert named(None, "tree") == ["order", "house", "ship"]
    assert named(editor, "list", filter="state -eq inProcess", orderBy="id desc") == ["invoice", "order"]
    assert ask(api, editor, {"ids": ids, "pageSize": 1, "page": 2}).json()["elements"][0]["id"] == ID["invoice"]
    assert ask(api, editor, {"ids": []}).json() == {"count": 0, "elements": []}
    single = api.get(f"{VIEWS}/tree/elements/{ID['order']}", token=editor)
    assert ask(api, editor, {"ids": [ID["order"]]}, "tree").content == single.content
    first, second = (ask(api, editor, {"ids": [ID[each]]}) for each in ("order", "ship"))
    assert first["ETag"] != second["ETag"]
    again = ask(api, editor, {"ids": [ID["order"]]}, headers={"If-None-Match": first["ETag"]})
    assert (again.status_code, again["ETag"]) == (200, first["ETag"])


@pytest.mark.parametrize(
    ("body", "status", "problems"),
    [
        ([], 400, ["The body must be an object with ids, filter, resources, select, expandRelated, culture, fallback, orderBy, page, pageSize, pageSelectionKey or format."]),
        ({"ids": ["x"], "select": "name", "page": True, "filter": 1}, 400, ["filter: expected a text.", 'select: expected a list of names, such as ["name"].', "page: expected a whole number.", "ids[0]: 'x' is not a GUID."]),
        (
            {"ids": ["x", 5, None], "filtr": "x", "$select": ["x"], "asOf": "2026-01-01", "pageSize": "3", "resources": ["foo"], "page": 0, "filter": "name -eq", "expandRelated": ["owner(nome)"]},
            400,
            [
                "$select: fields of a body have no $; write select.",
                "asOf: send it in the address, as $asOf.",
                "filtr: unknown field; use ids, filter, resources, select, expandRelated, culture, fallback, orderBy, page, pageSize, pageSelectionKey or format.",
                "pageSize: expected a whole number.",
                "ids[0]: 'x' is not a GUID.",
                "ids[1]: 5 is not a GUID.",
                "ids[2]: null is not a GUID.",
                "$resources: 'foo' is not a resource; use attributes, related, children, content, displayNames, rootPath, versions or names.",
                "$expandRelated: owner: 'nome' is not an attribute of the types of this storage; similar: name.",
                "The filter is invalid at character 9 (name -eq>>>): the filter ends too early; expected a value: a 'text', a number, a date-time, true, false, null or a bare word.",
                "$page: expected a whole number from 1 to 1000000000, not '0'.",
            ],
        ),
        ({"ids": ["x"] * 12}, 400, [*(f"ids[{place}]: 'x' is not a GUID." for place in range(10)), "ids: 2 more are not GUIDs."]),
        ({"ids": [ID["ship"]] * 10_001}, 400, ["ids: expected a list of at most 10,000 ids."]),
        ({"select": ["nome"], "page": 0}, 400, ["$select: 'nome' is not an attribute or related context of this view's types; similar: name.", "$page: expected a whole number from 1 to 1000000000, not '0'."]),
        ({"filter": "Contains(attributes, 'e') OR " * 30 + "Contains(attributes, 'e')"}, 422, None),
    ],
)  # fmt: skip
def test_refused_bodies(
    handbook: Storage, api: ApiClient, editor: str, body: Any, status: int, problems: list[str] | None
) -> None:
    answer = ask(api, editor, body)
    assert answer.status_code == status, answer.content
    if problems is not None:
        assert [each["error"] for each in answer.json()["data"]] == problems
    beside = api.post(f"{VIEWS}/list/elements/query?$page=1", "{}", content_type="application/json", token=editor)
    assert beside.json()["message"] == "$page: send it in the body, as page."
    unknown = api.post(f"{VIEWS}/list/elements/query?$pages=1", "{}", content_type="application/json", token=editor)
    assert unknown.json()["message"].startswith("$pages: this operation takes ")
