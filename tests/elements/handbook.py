"""A small storage to read, acme/handbook: its template and its elements as transfer lines, with short names for ids.

It has two people and a group, three systems and a process house. `order` has an expired, a released and a draft
version, each with a diagram; `invoice` is only a draft, so only callers who see drafts may learn of it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.cycles import STANDARD_CYCLES

NUMBERS = (
    "anna", "ben", "crew", "german", "english", "erp", "erp-1", "erp-2", "crm", "crm-1", "old", "old-1",
    "house", "sales", "sales-1", "order", "order-1", "order-2", "order-3", "invoice", "invoice-1", "ship", "ship-1",
    "loose", "loose-1", "customer-view", "start-2", "check-2", "start-3", "check-3", "retired", "retired-1",
    "shape-start-2", "shape-check-2", "shape-ship-2", "shape-invoice-2", "shape-start-3", "shape-check-3", "shape-sales",
    "token",
)  # fmt: skip
ID = {name: f"00000000-0000-4000-8000-{number:012x}" for number, name in enumerate(NUMBERS, 1)}
BASE = "http://testserver/acme/handbook"
FACETS = f"{BASE}/_api/rest/facets"
HTML = '<?xml version="1.0" encoding="utf-8"?>'

Document = dict[str, Any]


def _text(type: str = "SingleLineText", **more: Any) -> Document:
    return {"displayNames": {"1033": "Label"}, "attribute": {"dataType": type, **more}}


def _fixed(type: str) -> Document:
    return _text(type, isInvariantCulture=True)


def _context(facet: str, **more: Any) -> Document:
    return {"displayNames": {"1033": "Label"}, "related": {"facet": facet, **more}}


def _type(facet: str, english: str, german: str, *properties: str, **more: Any) -> Document:
    name = english.title().replace(" ", "")
    return {
        "facet": facet,
        "displayNames": {"1031": german, "1033": english},
        "color": "#007ACC",
        "elementTypeName": f"{name}Diagram" if more.get("hasDiagram") else name,
        "entityTypeName": name,
        "properties": list(properties),
        **more,
    }


def _view(*properties: str, **more: Any) -> Document:
    shown: Any = list(properties) or "all"
    return {"displayNames": {"1033": "Label"}, "key": "Plain", "properties": shown, **more}


RECORD = ("changedOn", "createdOn", "gotoUrl", "changedBy", "createdBy")
RELEASE = (
    "version", "state1", "isReleased", "validFrom", "validUntil", "relOn", "relBy", "releaseHistory", "stereotype",
    "author", "secondaryAuthors", "authorNote", "owner",
)  # fmt: skip
TREE = {"isHierarchical": True, "rootTypes": ["processHouse", "view"]}
IN_TREE = ["processHouse", "view", "mainProcess", "subProcess"]

TEMPLATE: Document = {
    "name": "handbook",
    "releaseCycles": STANDARD_CYCLES,
    "title": "Handbook",
    "cultures": {"data": [1031, 1033], "default": 1033, "mandatory": [1033]},
    "properties": {
        "name": _text("MultiLineText"),
        "description": _text("Html"),
        "scope": _text(),
        "version": _fixed("SingleLineText"),
        "state1": _fixed("SingleLineText"),
        "stereotype": _fixed("SingleLineText"),
        "isReleased": _fixed("Boolean"),
        **{name: _fixed("DateTime") for name in ("changedOn", "createdOn", "relOn", "validFrom", "validUntil")},
        "gotoUrl": _text("Url"),
        "authorNote": _text(),
        "cost": _fixed("Decimal"),
        "count": _fixed("Integer"),
        "images": _fixed("Files"),
        "dueDate": _fixed("Date"),
        "firstName": _fixed("SingleLineText"),
        "roleEditor": _fixed("Boolean"),
        "lcid": _fixed("SingleLineText"),
        "owner": _context("users", maxOccurrence=1),
        "author": _context("users", relatedTypes=["user"], maxOccurrence=1),
        "secondaryAuthors": _context("users", relatedTypes=["user"]),
        "changedBy": _context("users", readOnly=True),
        "createdBy": _context("users", readOnly=True),
        "relBy": _context("users", readOnly=True),
        "releaseHistory": _context("processes", readOnly=True),
        "systems": _context("it"),
        "userGroups": _context("users", relatedTypes=["userGroup"]),
        "hasCulture": _context("cultures", maxOccurrence=1),
    },
    "facets": {
        "processes": {
            "displayNames": {"1031": "Prozesse", "1033": "Processes"},
            "typeName": "Processes",
            "views": {
                "detail": _view(key="Detail"),
                "tree": _view("name", "state1", "owner", key="Tree", types=IN_TREE, **TREE),
                "list": _view("name", "version", types=["mainProcess", "subProcess"], key="List"),
                "diagram": _view("name", "systems", key="Diagram"),
                "reporting": _view("name", "state1", "owner", "systems", key="Reporting", **TREE),
            },
        },
        "it": {
            "displayNames": {"1033": "IT"},
            "typeName": "It",
            "views": {"list": _view("name"), "detail": _view(), "reporting": _view("name", "owner")},
        },
        "users": {
            "displayNames": {"1033": "Users"},
            "typeName": "Users",
            "views": {"detail": _view(), "reporting": _view("name")},
        },
        # Neither detail nor reporting: addresses must use another view.
        "cultures": {"displayNames": {"1033": "Cultures"}, "typeName": "Cultures", "views": {"all": _view()}},
        "automation": {"displayNames": {"1033": "Automation"}, "typeName": "Automation", "views": {"detail": _view()}},
    },
    "types": {
        "processHouse": _type("processes", "Process house", "Prozesshaus", "name", "state1", *RECORD, "owner",
                              isArchitectural=True, hasDiagram=True, staticState="show", insertables=["mainProcess"]),
        "view": _type("processes", "View", "Sicht", "name", "state1", isArchitectural=True, staticState="show"),
        "mainProcess": _type("processes", "Main process", "Hauptprozess", "name", *RELEASE, *RECORD,
                             isVersioned=True, parents=["processHouse"]),
        "subProcess": _type("processes", "Sub process", "Teilprozess", "name", "description", "scope", "cost", "count",
                            "images", "dueDate", "systems", *RELEASE, *RECORD, isVersioned=True, hasDiagram=True,
                            parents=["mainProcess", "subProcess"], insertables=["evStart", "task", "subProcess"]),
        "evStart": _type("processes", "Start", "Start", "name", *RECORD, livesInDiagrams=True,
                         parents=["subProcess"]),
        "task": _type("processes", "Task", "Aufgabe", "name", "systems", *RECORD, livesInDiagrams=True,
                      parents=["subProcess"]),
        "system": _type("it", "System", "System", "name", *RELEASE, *RECORD, isVersioned=True),
        "user": _type("users", "User", "Benutzer", "name", "firstName", "roleEditor", "userGroups", "hasCulture"),
        "userGroup": _type("users", "User group", "Benutzergruppe", "name"),
        "configCulture": _type("cultures", "Culture", "Kultur", "name", "lcid"),
        "authToken": _type("automation", "Token", "Token", "name", "roleEditor"),
    },
}  # fmt: skip

FACET_OF = {key: type["facet"] for key, type in TEMPLATE["types"].items()}
NO_END = {"127": "9999-12-31T00:00:00"}


def ref(type: str, name: str) -> Document:
    """Return a reference in a transfer line."""
    return {"facetName": FACET_OF[type], "id": ID[name], "type": type}


def _plain(type: str, name: str, english: str, german: str = "", creation: str = "", **more: Any) -> Document:
    names = {"1033": english} | ({"1031": german} if german else {})
    attributes = {"name": names, "createdOn": {"127": "2026-01-05T08:00:00"}, **more.pop("attributes", {})}
    return {**ref(type, name), "creationId": ID[creation or name], "attributes": attributes, **more}


def _version(type: str, name: str, number: int, version: str, state: str, english: str, **more: Any) -> Document:
    attributes = {
        "name": {"1033": english},
        "version": {"127": version},
        "createdOn": {"127": "2026-02-01T09:10:00"},
        "changedOn": {"127": "2026-03-02T09:15:20.25"},
        "validUntil": NO_END,
        **more.pop("attributes", {}),
    }
    identity = {**ref(type, name), "versionId": ID[f"{name}-{number}"], "state": state}
    return {**identity, "attributes": attributes, **more}


def _shape(shape: str, reference: Document, *before: str) -> Document:
    predecessors = [{"properties": {"shapeId": ID[each]}} for each in before]
    return {"properties": {"shapeId": ID[shape], "predecessors": predecessors}, **reference}


RELEASED = {"relOn": {"127": "2026-02-10T12:00:00"}, "validFrom": {"127": "2026-02-10T00:00:00"}}
IMAGE = {
    "title": "Board",
    "address": "a1",
    "mimeType": "image/png",
    "protocol": "https",
    "fullAddress": "https://x.example/a1",
}
BY_ANNA = {"createdBy": [ref("user", "anna")], "changedBy": [ref("user", "anna")]}

LINES: list[Document] = [
    _plain("user", "anna", "Anna Berg", attributes={"firstName": {"127": "Anna"}, "roleEditor": {"127": True}},
           related={"userGroups": [ref("userGroup", "crew")], "hasCulture": [ref("configCulture", "german")]}),
    _plain("user", "ben", "Ben Cole"),
    _plain("userGroup", "crew", "Crew", "Mannschaft"),
    _plain("configCulture", "german", "German", "Deutsch", attributes={"lcid": {"127": "1031"}}),
    _plain("configCulture", "english", "English", attributes={"lcid": {"127": "1033"}}),
    _plain("authToken", "token", "Nightly"),
    _version("system", "erp", 1, "1.0", "released", "ERP", attributes=RELEASED, stereotype="applicationSystem",
             related={"owner": [ref("user", "ben")]}),
    _version("system", "erp", 2, "1.1", "inProcess", "ERP next", related={"owner": [ref("user", "anna")]}),
    _version("system", "crm", 1, "0.1", "inProcess", "CRM"),
    _version("system", "old", 1, "1.0", "expired", "Old system", attributes=RELEASED),
    _plain("processHouse", "house", "House", "Haus", children=[ref("mainProcess", "sales")],
           related={"owner": [ref("user", "anna")]}, content=[_shape("shape-sales", ref("mainProcess", "sales"))]),
    _plain("view", "customer-view", "customer view"),
    _version("mainProcess", "sales", 1, "1.0", "released", "Sales", attributes=RELEASED,
             children=[ref("subProcess", "ship"), ref("subProcess", "invoice"), ref("subProcess", "order")]),
    _version("subProcess", "order", 1, "1.0", "expired", "Take order", attributes={**RELEASED, "validUntil": {"127": "2026-02-20T00:00:00"}}),
    _version(
        "subProcess", "order", 2, "2.0", "released", "Handle order",
        attributes={
            "name": {"1031": "Auftrag\nabwickeln", "1033": "Handle order"},
            "description": {"1033": f"{HTML}<p>From order to invoice.</p>"},
            "scope": {"1033": "Whole company"},
            "cost": {"127": 12345678901234567890.125},
            "count": {"127": 3},
            "dueDate": {"127": "2026-12-31"},
            "images": {"127": [IMAGE]},
            "relOn": {"127": "2026-02-20T10:00:00"},
            "validFrom": {"127": "2026-02-20T00:00:00"},
        },
        related={
            **BY_ANNA,
            "relBy": [ref("user", "ben")],
            "owner": [ref("user", "anna")],
            "systems": [ref("system", "crm"), ref("system", "erp"), ref("system", "old")],
        },
        content=[
            _shape("shape-start-2", ref("evStart", "start-2")),
            _shape("shape-check-2", ref("task", "check-2"), "shape-start-2", "shape-invoice-2"),
            _shape("shape-ship-2", ref("subProcess", "ship"), "shape-check-2"),
            _shape("shape-invoice-2", ref("subProcess", "invoice"), "shape-check-2"),
        ],
    ),
    _version(
        "subProcess", "order", 3, "2.1", "inProcess", "Handle every order",
        related={**BY_ANNA, "changedBy": [ref("authToken", "token")], "author": [ref("user", "anna")], "systems": [ref("system", "erp")]},
        content=[
            _shape("shape-start-3", ref("evStart", "start-3")),
            _shape("shape-check-3", ref("task", "check-3"), "shape-start-3"),
        ],
    ),
    _version("subProcess", "invoice", 1, "0.1", "inProcess", "Invoice"),
    _version("subProcess", "ship", 1, "1.0", "inEffect", "ship", attributes=RELEASED),
    _version("subProcess", "loose", 1, "1.0", "requestToExpire", "Loose end", attributes=RELEASED),
    _version("subProcess", "retired", 1, "1.0", "expired", "Retired", attributes=RELEASED),
    _plain("evStart", "start-2", "Start"),
    _plain("task", "check-2", "Check", "Prüfen", related={"systems": [ref("system", "crm"), ref("system", "erp")]}),
    _plain("evStart", "start-3", "Start", creation="start-2"),
    _plain("task", "check-3", "Check again", creation="check-2"),
]  # fmt: skip


def write_lines(path: Path, rename: str = "") -> Path:
    """Write the file to import. `rename` precedes each name, to distinguish the elements of another storage."""
    lines = [json.loads(json.dumps(line)) for line in LINES]
    for line in lines:
        names = line["attributes"]["name"]
        line["attributes"]["name"] = {lcid: f"{rename}{text}" for lcid, text in names.items()}
    # Written by hand, because a float would lose digits of the cost.
    text = "\n".join(json.dumps(line, ensure_ascii=False) for line in lines)
    path.write_text(text.replace("1.2345678901234567e+19", "12345678901234567890.125") + "\n", encoding="utf-8")
    return path


def wire(name: str, *, view: str = "detail", bare: bool = False) -> Document:
    """Return the reference of responses to an unversioned element, or to a version such as `order-2`."""
    line = next(each for each in LINES if ID[name] == each.get("versionId", each["id"]))
    keys = ("facetName", "id", "versionId", "creationId", "type", "state", "stereotype")
    found = {key: line[key] for key in keys if key in line}
    if line["facetName"] == "cultures" and view == "detail":
        view = "all"
    place = "reporting" if view == "reporting" else f"views/{view}/elements"
    return found if bare else {**found, "expandUri": f"{FACETS}/{line['facetName']}/{place}/{ID[name]}"}


def pages(name: str, facet: str = "processes") -> Document:
    """Return the gotoUrl of a version or of an unversioned element."""
    return {lcid: f"{BASE}/{lcid}/{facet}/{ID[name]}" for lcid in ("1031", "1033")}


TYPE_NAMES = {key: type["displayNames"] for key, type in TEMPLATE["types"].items()}
AUTHOR_NOTE = {
    "1031": "Nur der Autor, weitere Autoren und Architekten dürfen dieses Element ändern.",
    "1033": "Only the author, further authors and architects may change this element.",
}
