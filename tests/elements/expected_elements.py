"""The draft and the published version of the order process in the handbook, as operation 4 returns them."""

from __future__ import annotations

from typing import Any

from tests.elements.handbook import AUTHOR_NOTE, HTML, ID, pages, wire

NO_END = {"127": "9999-12-31T00:00:00"}
CHANGED = {"127": "2026-03-02T09:15:20.25"}
CREATED = {"127": "2026-02-01T09:10:00"}


# The draft in a view with all properties, in the order of the response.
DRAFT: dict[str, Any] = {
    "facetName": "processes",
    "id": ID["order"],
    "versionId": ID["order-3"],
    "type": "subProcess",
    "state": "inProcess",
    "displayNames": {"1031": "Teilprozess", "1033": "Sub process"},
    "attributes": {
        "authorNote": AUTHOR_NOTE,
        "changedOn": CHANGED,
        "createdOn": CREATED,
        "gotoUrl": pages("order-3"),
        "isReleased": {"127": False},
        "name": {"1033": "Handle every order"},
        "state1": {"127": "inProcess"},
        "validUntil": NO_END,
        "version": {"127": "2.1"},
    },
    "related": {
        "author": [wire("anna")],
        "changedBy": [wire("token")],
        "createdBy": [wire("anna")],
        "releaseHistory": [wire("order-1"), wire("order-2")],
        "systems": [wire("erp-2")],
    },
    "content": [wire("start-3"), wire("check-3")],
    "rootPath": [wire("sales-1"), wire("house")],
}


# The response to a viewer: the published version, without references to unpublished elements.
PUBLISHED: dict[str, Any] = {
    "facetName": "processes",
    "id": ID["order"],
    "versionId": ID["order-2"],
    "type": "subProcess",
    "state": "released",
    "displayNames": {"1031": "Teilprozess", "1033": "Sub process"},
    "attributes": {
        "changedOn": CHANGED,
        "cost": {"127": 12345678901234567890.125},
        "count": {"127": 3},
        "createdOn": CREATED,
        "description": {"1033": f"{HTML}<p>From order to invoice.</p>"},
        "dueDate": {"127": "2026-12-31"},
        "gotoUrl": pages("order-2"),
        "images": {
            "127": [
                {
                    "address": "a1",
                    "fullAddress": "https://x.example/a1",
                    "mimeType": "image/png",
                    "protocol": "https",
                    "title": "Board",
                }
            ]
        },
        "isReleased": {"127": True},
        "name": {"1031": "Auftrag\nabwickeln", "1033": "Handle order"},
        "relOn": {"127": "2026-02-20T10:00:00"},
        "scope": {"1033": "Whole company"},
        "state1": {"127": "released"},
        "validFrom": {"127": "2026-02-20T00:00:00"},
        "validUntil": NO_END,
        "version": {"127": "2.0"},
    },
    "related": {
        "changedBy": [wire("anna")],
        "createdBy": [wire("anna")],
        "owner": [wire("anna")],
        "relBy": [wire("ben")],
        "releaseHistory": [wire("order-2")],
        "systems": [wire("erp-1")],
    },
    "content": [wire("start-2"), wire("check-2"), wire("ship-1")],
    "rootPath": [wire("sales-1"), wire("house")],
}


def in_order(value: Any) -> Any:
    """Return dictionaries as lists of pairs, to compare the order of keys."""
    if isinstance(value, dict):
        return [(key, in_order(each)) for key, each in value.items()]
    return [in_order(each) for each in value] if isinstance(value, list) else value
