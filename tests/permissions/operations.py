"""One request for every operation of the API, for the permission matrix.

A request is about one element, which the address or the body names, or about the storage. The test rolls back writes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.release.house import ID

ELEMENTS = "rest/facets/{facet}/views/detail/elements"
ELEMENT = f"{ELEMENTS}/{{element}}"
# A transition that is possible from each state; the other states have none.
STEPS = {
    "inProcess": "InProcessToInReview",
    "inReview": "InReviewToInProcess",
    "readyForQa": "ReadyForQAToInProcess",
    "readyForRelease": "ReadyForReleaseToReleased",
    "released": "ReleasedToRequestToExpire",
    "inEffect": "InEffectToRequestToExpire",
}


@dataclass(frozen=True, slots=True)
class Subject:
    """The element that a request is about. `part` is its first shape."""

    name: str
    facet: str
    type: str
    element: str
    part: str = ID["house"]

    @property
    def step(self) -> str:
        return STEPS.get(self.name, "InProcessToReleased")


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    address: str
    """Path below `_api`, with fields of the subject in braces."""
    body: Callable[[Subject], Any] | None = None

    def content(self, subject: Subject) -> bytes:
        return b"" if self.body is None else json.dumps(self.body(subject)).encode()

    def path(self, subject: Subject) -> str:
        parts = {"element": subject.element, "facet": subject.facet, "part": subject.part, "step": subject.step}
        return self.address.format(**parts)


def _renamed(subject: Subject) -> Any:
    return {"elements": [{"id": subject.element, "attributes": {"name": {"1033": "Renamed"}}}]}


def _below(subject: Subject) -> Any:
    """Return a body that creates an element below this one."""
    made = {"type": "subProcess", "attributes": {"name": {"1033": "New"}}, "rootPath": [{"id": subject.element}]}
    return {"elements": [made]}


def _drawn(subject: Subject) -> Any:
    item = {"shapeInfo": {"index": 1}, "element": {"type": "task", "attributes": {"name": {"1033": "Drawn"}}}}
    return {"values": [item]}


ABOUT_ELEMENTS: Mapping[str, Request] = {
    "getElement": Request("GET", ELEMENT),
    "listAttributes": Request("GET", f"{ELEMENT}/attributes"),
    "getAttribute": Request("GET", f"{ELEMENT}/attributes/name"),
    "listRelated": Request("GET", f"{ELEMENT}/related"),
    "getRelated": Request("GET", f"{ELEMENT}/related/changedBy"),
    "listChildren": Request("GET", f"{ELEMENT}/children"),
    "getContent": Request("GET", f"{ELEMENT}/content"),
    "getElementInfo": Request("GET", f"{ELEMENT}/info"),
    "listVersions": Request("GET", f"{ELEMENT}/versions"),
    "getReporting": Request("GET", "rest/facets/{facet}/reporting/{element}"),
    "renderDiagram": Request("GET", "rest/diagram/{element}/render/1033/vertical"),
    "listChanges": Request("GET", f"{ELEMENT}/history"),
    "listLifecycle": Request("GET", f"{ELEMENT}/lifecycle"),
    "listTransitions": Request("GET", "release/{element}/transitions"),
    "updateElements": Request("POST", ELEMENTS, _renamed),
    "updateElements, new below it": Request("POST", ELEMENTS, _below),
    "createContent": Request("POST", f"{ELEMENT}/content", _drawn),
    "deleteShape": Request("DELETE", f"{ELEMENT}/content/{{part}}"),
    "deleteElement": Request("DELETE", ELEMENT),
    "applyTransition": Request("POST", "release/{element}/transitions/{step}?ignoreWarnings=true"),
    "createVersion": Request("POST", "release/{element}/createversion"),
}
ABOUT_THE_STORAGE: Mapping[str, Request] = {
    "getStorageInfo": Request("GET", "rest/info"),
    "getApiIndex": Request("GET", ""),
    "getOpenApiDocument": Request("GET", "schema"),
    "browseDocument": Request("GET", "docs"),
    "listTypeSchemas": Request("GET", "schema/types"),
    "getTypeSchema": Request("GET", "schema/types/subProcess"),
    "listFacets": Request("GET", "rest/facets"),
    "listViews": Request("GET", "rest/facets/processes/views"),
    "getViewConfiguration": Request("GET", "rest/facets/processes/views/detail/config"),
    "getTypeConfiguration": Request("GET", "rest/facets/processes/views/detail/config/subProcess"),
    "listElements": Request("GET", "rest/facets/processes/views/detail/elements"),
    "listReporting": Request("GET", "rest/facets/processes/reporting"),
    "listTasks": Request("GET", "rest/tasks"),
    "summariseTasks": Request("GET", "rest/tasks/summary"),
}
# The only open task of the storage: ben is to approve an expiry that anna requested.
ABOUT_A_TASK: Mapping[str, Request] = {
    "getTask": Request("GET", "rest/tasks/{element}"),
    "acceptTask": Request("POST", "rest/tasks/{element}/accept"),
    "rejectTask": Request("POST", "rest/tasks/{element}/reject"),
    "delegateTask": Request("POST", "rest/tasks/{element}/delegate", lambda _: {"assignee": ID["dora"]}),
    "withdrawTask": Request("POST", "rest/tasks/{element}/withdraw"),
}
