"""One request for every operation of the API, for the permission matrix.

A request is about one element, which the address or the body names, or about the storage. The test rolls back writes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tests.elements.bpmn.documents import SMALL
from tests.release.house import ID

ELEMENTS = "rest/facets/{facet}/views/detail/elements"
ELEMENT = f"{ELEMENTS}/{{element}}"
# The user of the caller `author`.
ANNA = f"rest/facets/users/views/detail/elements/{ID['anna']}"
WEBHOOK = "rest/webhooks/{element}"
SET = "rest/permissions/permissionsets/{element}"
RECEIVER = "https://93.184.216.34/hook"
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
    document: str = ""
    """Body in XML."""

    @property
    def content_type(self) -> str:
        return "application/xml" if self.document else "application/json"

    def content(self, subject: Subject) -> bytes:
        if self.document:
            return self.document.encode()
        return b"" if self.body is None else json.dumps(self.body(subject)).encode()

    def path(self, subject: Subject) -> str:
        parts = {"element": subject.element, "facet": subject.facet, "part": subject.part, "step": subject.step}
        return self.address.format(**parts, now=f"{datetime.now(UTC).replace(tzinfo=None).isoformat()}Z")


def _renamed(subject: Subject) -> Any:
    return {"elements": [{"id": subject.element, "attributes": {"name": {"1033": "Renamed"}}}]}


def _below(subject: Subject) -> Any:
    """Return a body that creates an element below this one."""
    made = {"type": "subProcess", "attributes": {"name": {"1033": "New"}}, "rootPath": [{"id": subject.element}]}
    return {"elements": [made]}


def _drawn(subject: Subject) -> Any:
    item = {"shapeInfo": {"index": 1}, "element": {"type": "task", "attributes": {"name": {"1033": "Drawn"}}}}
    return {"values": [item]}


# Each element is refused on its own, in a successful response.
IN_BULK = {"ids": [ID["inProcess"]], "operations": [{"set": {"attributes": {"name": {"1033": "Renamed"}}}}]}
BY_ROLES = {"linkType": "ofSelection", "facetName": "users", "filter": "roleEditor -eq true"}


def _overview(facet: str) -> Callable[[Subject], Any]:
    return lambda _: {"linkType": "ofOverview", "facetName": facet}


def _linked(subject: Subject) -> Any:
    return {"linkType": "ofElement", "elementId": subject.element}


def _linked_version(subject: Subject) -> Any:
    return {"linkType": "ofVersion", "versionId": subject.element}


ABOUT_ELEMENTS: Mapping[str, Request] = {
    "getElement": Request("GET", ELEMENT),
    "listAttributes": Request("GET", f"{ELEMENT}/attributes"),
    "getAttribute": Request("GET", f"{ELEMENT}/attributes/name"),
    "listRelated": Request("GET", f"{ELEMENT}/related"),
    "getRelated": Request("GET", f"{ELEMENT}/related/changedBy"),
    "listReferrers": Request("GET", f"{ELEMENT}/referencedBy"),
    "compareElement": Request("GET", f"{ELEMENT}/compare?from={{element}}"),
    "listChildren": Request("GET", f"{ELEMENT}/children"),
    "getContent": Request("GET", f"{ELEMENT}/content"),
    "getElementInfo": Request("GET", f"{ELEMENT}/info"),
    "listVersions": Request("GET", f"{ELEMENT}/versions"),
    "getReporting": Request("GET", "rest/facets/{facet}/reporting/{element}"),
    "getReport": Request("GET", "v1/reporting/{element}"),
    "getDataElement": Request("GET", "v2/data/elements/{element}"),
    "listDiagramLayouts": Request("GET", "rest/diagram/{element}/render"),
    "renderDiagram": Request("GET", "rest/diagram/{element}/render/1033/vertical"),
    "exportBpmn": Request("GET", "v1/bpmn/{element}"),
    "listSubscribers": Request("GET", "v1/subscriptions/{element}"),
    "getPermissionSet": Request("GET", SET),
    "setPermissionSet": Request("PUT", SET, lambda _: {"mode": "stop"}),
    "removePermissionSet": Request("DELETE", SET),
    "subscribe": Request("POST", "v1/subscriptions/{element}"),
    "unsubscribe": Request("DELETE", "v1/subscriptions/{element}"),
    "createPermalink": Request("POST", "v1/permalinks", _linked),
    "createPermalink, of the version": Request("POST", "v1/permalinks", _linked_version),
    "listChanges": Request("GET", f"{ELEMENT}/history"),
    "listLifecycle": Request("GET", f"{ELEMENT}/lifecycle"),
    "listTransitions": Request("GET", "release/{element}/transitions"),
    "updateElements": Request("POST", ELEMENTS, _renamed),
    "updateElements, new below it": Request("POST", ELEMENTS, _below),
    "createContent": Request("POST", f"{ELEMENT}/content", _drawn),
    "replaceContent": Request("PUT", f"{ELEMENT}/content", _drawn),
    "importBpmn": Request("POST", "v1/bpmn/{element}", document=SMALL),
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
    "queryElements": Request("POST", "rest/facets/processes/views/detail/elements/query", lambda _: {"pageSize": 0}),
    "queryElements, by roles": Request(
        "POST", "rest/facets/users/views/list/elements/query", lambda _: {"filter": "roleEditor -eq true"}
    ),
    "getElement, own roles": Request("GET", f"{ANNA}?$select=roleEditor"),
    "getAttribute, own sign-ins": Request("GET", f"{ANNA}/attributes/userLoginCount"),
    "listChanges, own": Request("GET", f"{ANNA}/history"),
    "listElements, by roles": Request("GET", "rest/facets/users/views/list/elements?$filter=roleEditor -eq true"),
    "listElements, of tokens": Request("GET", "rest/facets/automation/views/list/elements"),
    "listElements, not for readers": Request("GET", "rest/facets/risks/views/list/elements"),
    "getTypeSchema, of tokens": Request("GET", "schema/types/authToken"),
    "getViewConfiguration, not for readers": Request("GET", "rest/facets/risks/views/list/config"),
    "followChanges, not for readers": Request("GET", "rest/changes?facet=risks"),
    "changeInBulk": Request("POST", "rest/facets/processes/views/detail/bulk", lambda _: IN_BULK),
    "getBulkReport": Request("GET", f"rest/facets/processes/views/detail/bulk/{ID['house']}"),
    "handOver": Request("POST", "rest/handover", lambda _: {"from": ID["ben"], "to": ID["dora"]}),
    "getHandOverReport": Request("GET", f"rest/handover/{ID['house']}"),
    "stopBulkChange": Request("POST", f"rest/facets/processes/views/detail/bulk/{ID['house']}/stop"),
    "stopHandOver": Request("POST", f"rest/handover/{ID['house']}/stop"),
    "listReporting": Request("GET", "rest/facets/processes/reporting"),
    "compareStorage": Request("GET", "rest/compare?from={now}"),
    "listReport": Request("GET", "v1/reporting?page=1"),
    "listDataElements": Request("GET", "v2/data/elements?Facet=processes"),
    "listDataElements, by roles": Request("GET", "v2/data/elements?Facet=users&Filter=roleEditor -eq true"),
    "listDataElements, not for readers": Request("GET", "v2/data/elements?Facet=risks"),
    "searchElements": Request("GET", "rest/search?q=process"),
    "suggestElements": Request("GET", "rest/search/suggestions?q=process"),
    "listPermalinks": Request("GET", "v1/permalinks"),
    "createPermalink, of a facet": Request("POST", "v1/permalinks", _overview("processes")),
    "createPermalink, not for readers": Request("POST", "v1/permalinks", _overview("risks")),
    "createPermalink, by roles": Request("POST", "v1/permalinks", lambda _: BY_ROLES),
    "uploadFile": Request("POST", "rest/files?name=note.xml", document="<note/>"),
    "getFile, unknown": Request("GET", "rest/files/{element}"),
    "getFacetPermissionSet": Request("GET", "rest/permissions/facets/processes"),
    "setFacetPermissionSet": Request("PUT", "rest/permissions/facets/processes", lambda _: {}),
    "sendAgentMessage": Request("POST", "mcp", lambda _: {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}),
    "listTasks": Request("GET", "rest/tasks"),
    "followChanges": Request("GET", "rest/changes"),
    "summariseTasks": Request("GET", "rest/tasks/summary"),
    "listWebhooks": Request("GET", "rest/webhooks"),
    "createWebhook": Request("POST", "rest/webhooks", lambda _: {"url": RECEIVER}),
}
# The only webhook of the storage.
ABOUT_A_WEBHOOK: Mapping[str, Request] = {
    "getWebhook": Request("GET", WEBHOOK),
    "changeWebhook": Request("PATCH", WEBHOOK, lambda _: {"events": ["version.released"]}),
    "testWebhook": Request("POST", f"{WEBHOOK}/test"),
    "rotateWebhookSecret": Request("POST", f"{WEBHOOK}/rotate"),
    "listWebhookDeliveries": Request("GET", f"{WEBHOOK}/deliveries"),
    "redeliverToWebhook": Request("POST", f"{WEBHOOK}/redeliver"),
    "deleteWebhook": Request("DELETE", WEBHOOK),
}
# The only open task of the storage: ben is to approve an expiry that anna requested.
ABOUT_A_TASK: Mapping[str, Request] = {
    "getTask": Request("GET", "rest/tasks/{element}"),
    "acceptTask": Request("POST", "rest/tasks/{element}/accept"),
    "rejectTask": Request("POST", "rest/tasks/{element}/reject"),
    "delegateTask": Request("POST", "rest/tasks/{element}/delegate", lambda _: {"assignee": ID["dora"]}),
    "withdrawTask": Request("POST", "rest/tasks/{element}/withdraw"),
}
