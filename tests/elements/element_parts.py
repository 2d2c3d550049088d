"""Addresses and expected parts of elements of the handbook."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from tests.elements.handbook import HTML, ID, IMAGE, NO_END, pages, wire

CREATED, CHANGED = {"127": "2026-02-01T09:10:00"}, {"127": "2026-03-02T09:15:20.25"}
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
NOT_THERE = "00000000-0000-4000-8000-00000000ffff"


def part(element: str, rest: str, view: str = "detail", facet: str = "processes", **query: str) -> str:
    asked = f"?{urlencode({f'${name}': value for name, value in query.items()})}" if query else ""
    return f"/acme/handbook/_api/rest/facets/{facet}/views/{view}/elements/{ID.get(element, element)}/{rest}{asked}"


def refused(response: Any, status: int, *mentions: str) -> None:
    """Check the error body (D3), whose only problem names the mistake."""
    body = response.json()
    assert (response.status_code, body["type"]) == (status, "error")
    assert body["output"] == ("inline" if status == 400 else "volatile")
    assert body["data"] == [{"error": body["message"]}]
    assert all(each in body["message"] for each in mentions), body["message"]
