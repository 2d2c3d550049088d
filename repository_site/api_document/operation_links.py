"""Adds links to the OpenAPI document: the operations that take names and ids of a response as parameters."""

from __future__ import annotations

from typing import Any

# Parameters that most linked operations take from the request.
CONTEXT = ("collectionId", "storageId")
VIEW = (*CONTEXT, "facetId", "viewId")
ELEMENT = "$response.body#/elements/0/id"
FIRST = "$response.body#/values/0/id"
NAME = "$response.body#/values/0/name"
ON_ELEMENT = (
    "getElement", "listAttributes", "listRelated", "listChildren", "getContent", "getElementInfo", "listVersions",
    "listLifecycle", "listChanges", "createContent", "deleteElement", "deleteElementByPost",
)  # fmt: skip
ON_RELEASE = ("listTransitions", "createVersion")
ON_TASK = ("getTask", "acceptTask", "rejectTask", "withdrawTask", "delegateTask")
ADMINISTRATION = ("collectionId", "facetId", "viewId")


def _same(names: tuple[str, ...]) -> dict[str, str]:
    return {name: f"$request.path.{name}" for name in names}


def _each(operations: tuple[str, ...], parameters: dict[str, str]) -> dict[str, dict[str, str]]:
    return dict.fromkeys(operations, parameters)


_TO_ELEMENT = {
    **_each(ON_ELEMENT, {**_same(VIEW), "elementId": ELEMENT}),
    **_each(ON_RELEASE, {**_same(CONTEXT), "elementId": ELEMENT}),
}
# The response of a release operation names the facet of its element.
_FROM_RELEASE = {
    "getElement": {
        **_same(CONTEXT),
        "facetId": "$response.body#/elements/0/facetName",
        "viewId": "detail",
        "elementId": ELEMENT,
    },
    **_each(ON_RELEASE, {**_same(CONTEXT), "elementId": ELEMENT}),
}
_TO_TASK = _each(ON_TASK, {**_same(CONTEXT), "taskId": FIRST})

LINKS: dict[str, dict[str, dict[str, str]]] = {
    "listFacets": {
        "listViews": {**_same(CONTEXT), "facetId": NAME},
        "listReporting": {**_same(CONTEXT), "facetId": NAME},
    },
    "listViews": {
        name: {**_same(CONTEXT), "facetId": "$request.path.facetId", "viewId": NAME}
        for name in ("listElements", "updateElements", "getViewConfiguration")
    },
    "getViewConfiguration": {
        "getTypeConfiguration": {**_same(VIEW), "type": "$response.body#/values/0/key"},
        "getTypeSchema": {**_same(CONTEXT), "type": "$response.body#/values/0/key"},
    },
    "listElements": _TO_ELEMENT,
    "updateElements": _TO_ELEMENT,
    "getElement": {
        **_each(("listAttributes", "listRelated", "getContent", "deleteElement"), _same((*VIEW, "elementId"))),
        **_each(ON_RELEASE, _same((*CONTEXT, "elementId"))),
    },
    "listVersions": {"getElement": {**_same(VIEW), "elementId": "$response.body#/elements/0/versionId"}},
    "listReporting": {"getReporting": {**_same((*CONTEXT, "facetId")), "elementId": FIRST}},
    "listReport": {"getReport": {**_same(CONTEXT), "elementId": FIRST}},
    "listDataElements": {"getDataElement": {**_same(CONTEXT), "elementId": "$response.body#/data/values/0/id"}},
    "getContent": {
        "deleteShape": {**_same((*VIEW, "elementId")), "shapeId": "$response.body#/elements/0/properties/shapeId"}
    },
    "createContent": _each(("deleteShape", "deleteShapeByPost"), {**_same((*VIEW, "elementId")), "shapeId": FIRST}),
    "listTransitions": {
        "applyTransition": {
            **_same((*CONTEXT, "elementId")),
            "transitionId": "$response.body#/values/0/transitionId",
        }
    },
    "applyTransition": _FROM_RELEASE,
    "createVersion": _FROM_RELEASE,
    "listTasks": _TO_TASK,
    "listAdministrationFacets": {"listAdministrationViews": {**_same(("collectionId",)), "facetId": NAME}},
    "listAdministrationViews": {"listAdministrationElements": {**_same(("collectionId", "facetId")), "viewId": NAME}},
    "listAdministrationElements": {"getAdministrationElement": {**_same(ADMINISTRATION), "elementId": ELEMENT}},
}
"""By operation: the linked operations with their parameters."""


def add_links(document: dict[str, Any]) -> None:
    for path in document["paths"].values():
        for operation in path.values():
            links = LINKS.get(operation["operationId"], {})
            if links:
                operation["responses"]["200"]["links"] = {
                    name: {"operationId": name, "parameters": parameters} for name, parameters in links.items()
                }
