"""A small template with two facets, unusual but valid names, and every kind of property."""

from __future__ import annotations

import copy
from typing import Any

SMALL: dict[str, Any] = {
    "name": "small",
    "title": "Small",
    "cultures": {"data": [1033, 1031], "default": 1033, "mandatory": [1033]},
    "layouts": {"Wide & high": {"displayNames": {"1033": "Wide"}}, "flat": {"displayNames": {"1031": "Flach"}}},
    "properties": {
        "name": {
            "displayNames": {"1031": "Name", "1033": "Name"},
            "descriptions": {"1033": "What it is called."},
            "tooltips": {"1031": "Tipp"},
            "attribute": {"dataType": "MultiLineText"},
        },
        "größe": {
            "displayNames": {"1031": "Größe"},
            "editableInReleased": True,
            "attribute": {
                "dataType": "SelectionValue",
                "isInvariantCulture": True,
                "selectableValues": [
                    {"displayNames": {"1033": "Irrelevant"}},
                    {"key": "s", "displayNames": {"1033": "Small"}, "tooltips": {"1033": "below ten"}},
                ],
            },
        },
    },
    "propertySets": {"both": ["name", "größe"]},
    "viewSets": {
        "plain": {"all of it": {"displayNames": {"1033": "All"}, "key": "All", "properties": "all"}},
    },
    "facets": {
        "things, étc.": {
            "displayNames": {"1031": "Dinge", "1033": "Things"},
            "typeName": "Things",
            "views": {
                "all of it": {"displayNames": {"1033": "All"}, "key": "All", "properties": "all"},
                "Tree": {
                    "displayNames": {"1031": "Baum", "1033": "Tree"},
                    "key": "Tree",
                    "isHierarchical": True,
                    "types": ["box", "Thing"],
                    "rootTypes": ["box"],
                    "properties": ["größe", "name"],
                    "layouts": ["flat", "Wide & high"],
                    "typeOverrides": {"Thing": {"properties": ["holder"], "layouts": []}},
                },
            },
        },
        "people": {"displayNames": {"1033": "People"}, "typeName": "People", "views": "plain"},
    },
    "types": {
        "Thing": {
            "facet": "things, étc.",
            "displayNames": {"1031": "Ding", "1033": "Thing"},
            "descriptions": {"1031": "Ein Ding."},
            "color": "#007ACC",
            "isVersioned": True,
            "hasDiagram": True,
            "elementTypeName": "ThingDiagram",
            "entityTypeName": "Thing",
            "releaseCycle": "slow",
            "parents": ["box"],
            "insertables": ["dot"],
            "properties": [
                "@both",
                {
                    "key": "holder",
                    "displayNames": {"1033": "Holder"},
                    "related": {"facet": "people", "relatedTypes": ["person"], "canAddNew": True, "maxOccurrence": 2},
                },
            ],
        },
        "box": {
            "facet": "things, étc.",
            "displayNames": {"1033": "Box"},
            "color": "#AABBCC",
            "isArchitectural": True,
            "elementTypeName": "Box",
            "entityTypeName": "Box",
            "staticState": "show",
            "properties": ["name"],
        },
        "dot": {
            "facet": "things, étc.",
            "displayNames": {"1033": "Dot"},
            "color": "#000000",
            "livesInDiagrams": True,
            "elementTypeName": "Dot",
            "entityTypeName": "Dot",
            "properties": ["name"],
        },
        "person": {
            "facet": "people",
            "displayNames": {"1033": "Person"},
            "color": "#123456",
            "elementTypeName": "Person",
            "entityTypeName": "Person",
            "properties": [
                "name",
                {
                    "key": "age",
                    "displayNames": {"1033": "Age"},
                    "attribute": {"dataType": "Integer", "isInvariantCulture": True},
                },
                {
                    "key": "friends",
                    "displayNames": {"1033": "Friends"},
                    "related": {"facet": "people", "readOnly": True},
                },
            ],
        },
    },
    "releaseCycles": {
        "quick": {
            "displayNames": {"1033": "Quick"},
            "states": {
                "open": {"category": "draft", "displayNames": {"1033": "Open"}},
                "out": {"category": "published", "displayNames": {"1033": "Out"}},
                "gone": {"category": "retired", "displayNames": {"1033": "Gone"}},
            },
            "transitions": {"Go": {"displayNames": {"1033": "Go"}, "from": "open", "to": "out"}},
        },
        "slow": {
            "displayNames": {"1033": "Slow"},
            "states": {
                "draft": {"category": "draft", "displayNames": {"1033": "Draft"}},
                "checked": {"category": "review", "displayNames": {"1031": "Geprüft"}},
                "out": {"category": "published", "displayNames": {"1033": "Out"}},
                "valid": {"category": "published", "displayNames": {"1033": "Valid"}},
                "gone": {"category": "retired", "displayNames": {"1033": "Gone"}},
            },
            "transitions": {
                "Check": {"displayNames": {"1033": "Check"}, "from": "draft", "to": "checked"},
                "Publish": {"displayNames": {"1033": "Publish"}, "from": "checked", "to": "out"},
                "End": {
                    "displayNames": {"1033": "End"},
                    "from": "valid",
                    "to": "gone",
                    "task": "Approve end",
                    "endsVersion": True,
                },
            },
            "takesEffect": "valid",
        },
    },
    "validationRules": {
        "named": {
            "property": "name",
            "severity": "error",
            "messages": {"1033": "no name"},
            "states": ["checked", "out"],
            "perCulture": True,
        },
        "held": {
            "property": "holder",
            "severity": "warning",
            "messages": {"1031": "niemand", "1033": "nobody"},
            "transitions": ["Publish", "Go"],
        },
    },
}


def small_template(**changes: Any) -> dict[str, Any]:
    """Return a changed copy: `small_template(**{"types.box.color": "#FFFFFF"})`; None removes an entry."""
    document = copy.deepcopy(SMALL)
    for place, value in changes.items():
        *path, last = place.split("|") if "|" in place else place.split(".")
        target: Any = document
        for part in path:
            target = target[int(part)] if isinstance(target, list) else target[part]
        key: Any = int(last) if isinstance(target, list) else last
        if value is None:
            del target[key]
        else:
            target[key] = value
    return document
