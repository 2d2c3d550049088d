"""A storage with a type that has every kind of attribute, for tests of forms in the back office."""

from __future__ import annotations

import json
from typing import Any

from tests.cycles import STANDARD_CYCLES

Wire = dict[str, Any]
NAMES = ("anna", "ben", "thing", "thing-1", "other", "other-1", "box", "part", "part-2", "shelf", "gone", "gone-1")
ID = {name: f"00000000-0000-4000-8000-{number:012x}" for number, name in enumerate(NAMES, 1)}


def _property(type: str, english: str, **more: Any) -> Wire:
    return {"displayNames": {"1033": english}, "attribute": {"dataType": type, **more}}


def _context(facet: str, english: str, **more: Any) -> Wire:
    return {"displayNames": {"1033": english}, "related": {"facet": facet, **more}}


COLORS = [{"key": key, "displayNames": {"1033": key.title()}} for key in ("red", "green", "blue")]
PROPERTIES: Wire = {
    "name": _property("SingleLineText", "Name"),
    "text": _property("MultiLineText", "Text"),
    "markup": _property("Html", "Markup"),
    "color": _property("SelectionValue", "Colour", isInvariantCulture=True, selectableValues=COLORS),
    "colors": _property("MultiSelectionValue", "Colours", isInvariantCulture=True, selectableValues=COLORS),
    "flag": _property("Boolean", "Flag", isInvariantCulture=True),
    "count": _property("Integer", "Count", isInvariantCulture=True),
    "cost": _property("Decimal", "Cost", isInvariantCulture=True),
    "day": _property("Date", "Day", isInvariantCulture=True),
    "moment": _property("DateTime", "Moment", isInvariantCulture=True),
    "home": _property("Url", "Home", isInvariantCulture=True),
    "files": _property("Files", "Files", isInvariantCulture=True),
    "note": {**_property("SingleLineText", "Note", isInvariantCulture=True), "editableInReleased": True},
    "version": _property("SingleLineText", "Version", isInvariantCulture=True),
    **{key: _property("DateTime", key, isInvariantCulture=True) for key in ("validFrom", "validUntil", "changedOn")},
    "parts": _context("things", "Parts", relatedTypes=["part"], maxOccurrence=2),
    "author": _context("users", "Author", relatedTypes=["user"], maxOccurrence=1),
    "fixed": _context("users", "Fixed", readOnly=True),
    "changedBy": _context("users", "Changed by", readOnly=True),
    "roleEditor": _property("Boolean", "Editor", isInvariantCulture=True),
}


def _type(facet: str, english: str, properties: list[str], **more: Any) -> Wire:
    return {
        "facet": facet, "displayNames": {"1033": english}, "color": "#336699", "elementTypeName": english,
        "entityTypeName": english, "properties": properties, **more,
    }  # fmt: skip


VALUES = [
    "name",
    "text",
    "markup",
    "color",
    "colors",
    "flag",
    "count",
    "cost",
    "day",
    "moment",
    "home",
    "files",
    "note",
]
TEMPLATE: Wire = {
    "name": "workshop",
    "title": "Workshop",
    "releaseCycles": STANDARD_CYCLES,
    "cultures": {"data": [1031, 1033], "default": 1033, "mandatory": [1031, 1033]},
    "properties": PROPERTIES,
    "facets": {
        "things": {
            "displayNames": {"1033": "Things"}, "typeName": "Things",
            "views": {
                "detail": {"displayNames": {"1033": "Detail"}, "key": "Detail", "properties": "all"},
                "tree": {
                    "displayNames": {"1033": "Tree"}, "key": "Tree", "properties": ["name"], "isHierarchical": True,
                    "rootTypes": ["box"],
                },
            },
        },
        "users": {
            "displayNames": {"1033": "Users"}, "typeName": "Users",
            "views": {"detail": {"displayNames": {"1033": "Detail"}, "key": "Detail", "properties": "all"}},
        },
    },
    "types": {
        "box": _type("things", "Box", ["name"], isArchitectural=True),
        "thing": _type(
            "things", "Thing",
            [*VALUES, "version", "validFrom", "validUntil", "changedOn", "parts", "author", "fixed", "changedBy"],
            isVersioned=True, parents=["box", "thing"],
        ),
        "part": _type("things", "Part", ["name"], parents=["thing"]),
        "user": _type("users", "User", ["name", "roleEditor"]),
    },
}  # fmt: skip


def _line(type: str, name: str, text: str, **more: Any) -> Wire:
    facet = TEMPLATE["types"][type]["facet"]
    identity = {"facetName": facet, "id": ID[name], "type": type}
    attributes = {"name": {"1031": f"{text} deutsch", "1033": text}, **more.pop("attributes", {})}
    if TEMPLATE["types"][type].get("isVersioned"):
        identity |= {"versionId": ID[f"{name}-1"], "state": more.pop("state", "inProcess")}
        attributes |= {"version": {"127": "0.1"}, "validUntil": {"127": "9999-12-31T00:00:00"}}
    else:
        identity["creationId"] = ID[name]
    return {**identity, "attributes": attributes, **more}


def reference(type: str, name: str) -> Wire:
    return {"facetName": TEMPLATE["types"][type]["facet"], "id": ID[name], "type": type}


def lines(prefix: str) -> str:
    made = [
        _line("user", "anna", f"{prefix}Anna", attributes={"roleEditor": {"127": True}}),
        _line("user", "ben", f"{prefix}Ben", attributes={"roleEditor": {"127": True}}),
        _line("box", "box", f"{prefix}Box", children=[reference("thing", "thing"), reference("thing", "other")]),
        _line("box", "shelf", f"{prefix}Shelf"),
        _line("thing", "thing", f"{prefix}Thing"),
        _line("thing", "other", f"{prefix}Other", related={"parts": [reference("part", "part")]}),
        _line("thing", "gone", f"{prefix}Gone", state="released"),
        _line("part", "part", f"{prefix}Part"),
        _line("part", "part-2", f"{prefix}Second part"),
    ]
    return "\n".join(json.dumps(line) for line in made)
