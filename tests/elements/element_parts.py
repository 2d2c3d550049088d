"""Addresses and expected parts of elements of the handbook."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from tests.elements.handbook import AUTHOR_NOTE, HTML, ID, IMAGE, NO_END, pages, wire

CREATED, CHANGED = {"127": "2026-02-01T09:10:00"}, {"127": "2026-03-02T09:15:20.25"}
FOUNDED = {"127": "2026-01-05T08:00:00"}
RELEASED = {"relOn": {"127": "2026-02-10T12:00:00"}, "validFrom": {"127": "2026-02-10T00:00:00"}}
ORDER_2 = {
    "changedOn": CHANGED,
    "cost": {"127": 12345678901234567890.125},
    "count": {"127": 3},
    "createdOn": CREATED,
    "description": {"1033": f"{HTML}<p>From order to invoice.</p>"},
    "dueDate": {"127": "2026-12-31"},
    "gotoUrl": pages("order-2"),
    "images": {"127": [IMAGE]},
    "isReleased": {"127": True},
    "name": {"1031": "Auftrag\nabwickeln", "1033": "Handle order"},
    "relOn": {"127": "2026-02-20T10:00:00"},
    "scope": {"1033": "Whole company"},
    "state1": {"127": "released"},
    "validFrom": {"127": "2026-02-20T00:00:00"},
    "validUntil": NO_END,
    "version": {"127": "2.0"},
}
ORDER_3 = {
    "authorNote": AUTHOR_NOTE,
    "changedOn": CHANGED,
    "createdOn": CREATED,
    "gotoUrl": pages("order-3"),
    "isReleased": {"127": False},
    "name": {"1033": "Handle every order"},
    "state1": {"127": "inProcess"},
    "validUntil": NO_END,
    "version": {"127": "2.1"},
}
HISTORY = [wire("order-1"), wire("order-2")]
SYSTEMS = [wire("crm-1"), wire("erp-2"), wire("old-1")]
RELATED_2 = {
    "changedBy": [wire("anna")],
    "createdBy": [wire("anna")],
    "owner": [wire("anna")],
    "relBy": [wire("ben")],
    "releaseHistory": HISTORY,
    "systems": SYSTEMS,
}
RELATED_3 = {
    "author": [wire("anna")],
    "changedBy": [wire("token")],
    "createdBy": [wire("anna")],
    "releaseHistory": HISTORY,
    "systems": [wire("erp-2")],
}
NOT_THERE = "00000000-0000-4000-8000-00000000ffff"


def part(element: str, rest: str, view: str = "detail", facet: str = "processes", **query: str) -> str:
    asked = f"?{urlencode({f'${name}': value for name, value in query.items()})}" if query else ""
    return f"/acme/handbook/_api/rest/facets/{facet}/views/{view}/elements/{ID.get(element, element)}/{rest}{asked}"


def found(response: Any) -> list[str]:
    return [each.get("versionId", each["id"]) for each in response.json()["elements"]]


def refused(response: Any, status: int, *mentions: str) -> None:
    """Check that an error body (D3) has one problem with these words."""
    body = response.json()
    assert (response.status_code, body["type"]) == (status, "error")
    assert body["output"] == ("inline" if status == 400 else "volatile")
    assert body["data"] == [{"error": body["message"]}]
    assert all(each in body["message"] for each in mentions), body["message"]
