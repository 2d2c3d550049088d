"""Links of the OpenAPI document: which operations an answer's names and ids lead to, for tools that follow them."""

from __future__ import annotations

from typing import Any

# What most operations share: they stay in the storage, the facet and the view of the request.
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
# An answer of a release operation says itself which facet its element is in.
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
"""From an operation to those that its answer leads to, with their parameters."""


def add_links(document: dict[str, Any]) -> None:
    for path in document["paths"].values():
        for operation in path.values():
            links = LINKS.get(operation["operationId"], {})
            if links:
                operation["responses"]["200"]["links"] = {
                    name: {"operationId": name, "parameters": parameters} for name, parameters in links.items()
                }
