"""The run behind the examples of the OpenAPI document: a client reads the demo storage, and writes into it.

Whatever differs from run to run (ids of what is made, moments) is replaced, so that two runs are the same.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from repository_site.api_document.document import openapi_document
from repository_site.core.database.statements import engine
from repository_site.core.environment import PROJECT_DIR
from storage.access.tokens import issue_token
from storage.models import Storage
from storage.options import Role
from storage.tenancy.contexts import Context, ContextType
from storage.tenancy.nodes import COORDINATOR_POOL, SINGLE_POOL
from tests.api_client import ApiClient

GUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?")
SECRET = re.compile(r"whsec_[0-9A-Za-z+/=]+")
PERMALINK = re.compile(r'(?<=_l/)[0-9A-Za-z]{10}|(?<="id": ")[0-9A-Za-z]{10}(?=")')
SHOWN_PERMALINK = "k7RmXq2fTa"
SHOWN_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
# Examples show a name. Its addresses are not known while tests run.
RECEIVER, SHOWN_RECEIVER = "93.184.216.34", "example.org"
SHOWN_MOMENT = "2026-11-02T09:30:00"
BASE = "https://repository.example.org"
DEMO = (PROJECT_DIR / "elements/demo/showcase.ndjson").read_text(encoding="utf-8")
KNOWN = set(GUID.findall(DEMO))
MECHANIC = "93c5a6af-0d43-5a10-a869-0a495068cd1d"
ORDER, DIRECTION = "0d13bb15-a64b-55b7-b602-52b6906c2d70", "b950a7aa-f69f-5273-b17c-4a400978062a"
GROUP = "59c49bf6-8215-591d-8cd5-17fc279c4107"
QUALITY_MANAGER = "2c27973d-3243-5123-b8d5-42d8406e9748"
PREDECESSOR, SUCCESSOR = "e9bcf464-3019-5368-a062-17ca41c75a8f", "8a3c46cc-c466-5035-b8f3-a6814294be28"
NAMES_ONLY = {"$resources": "attributes", "$select": "name"}
PROCESS = {"facetId": "processes", "viewId": "detail"}
NODE = {
    "name": "db-1.example.org:5432", "pool": "default", "role": "primary", "host": "db-1.example.org", "port": 5432,
    "isAvailable": True, "storages": 12,
}  # fmt: skip
CURSOR = "HS-pTqBy5zEAAAAAAAAAsp2oVHvRAK1y"
BPMN = """<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" targetNamespace="http://example.org">
 <process id="TrackGoals">
  <startEvent id="Start" name="Quarter has ended"/>
  <task id="Compare" name="Compare figures"/>
  <sequenceFlow id="First" sourceRef="Start" targetRef="Compare"/>
 </process>
</definitions>"""


@dataclass
class ExampleRecorder:
    """Calls operations by their names and keeps requests and responses."""

    storage: Storage
    api: ApiClient
    examples: dict[str, Any] = field(default_factory=dict)
    shown: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        own = Context(ContextType.STORAGE, self.storage.collection, self.storage)
        above = Context(ContextType.COLLECTION, self.storage.collection)
        self.token = issue_token(own, "Example", [Role.ADMINISTRATOR]).value
        self.collection_token = issue_token(above, "Example", [Role.ADMINISTRATOR]).value
        self.site_token = issue_token(Context(ContextType.SITE), "Example", [Role.ADMINISTRATOR]).value
        self.user_token = issue_token(own, "Example", [Role.EDITOR], user_id=UUID(QUALITY_MANAGER)).value
        self.now = datetime.now(ZoneInfo(self.storage.time_zone)).replace(tzinfo=None)

    def call(
        self, operation_id: str, path: dict[str, str], query: dict[str, str] | None = None, body: Any = None
    ) -> Any:
        template, verb = addresses()[operation_id]
        token = self.token
        if operation_id.startswith("listNodes"):
            token = self.site_token
        elif "ubscribe" in operation_id:
            token = self.user_token
        elif "Administration" in operation_id or operation_id in ("listStorages", "provisionStorage"):
            token = self.collection_token
        names = {
            "collectionId": "demo",
            **({"storageId": "showcase"} if token in (self.token, self.user_token) else {}),
            **path,
        }
        address = template.format(**names)
        is_xml = isinstance(body, str)
        response = self.api.generic(
            verb.upper(), address, body if is_xml else json.dumps(body) if body is not None else "",
            "application/xml" if is_xml else "application/json",
            token=token, query_params=query or {},
            headers={"X-Request-ID": "example"},
        )  # fmt: skip
        assert response.status_code == 200, (operation_id, response.content)
        is_json = response["Content-Type"] == "application/json"
        answer = response.json() if is_json else response.content.decode()
        if operation_id not in self.examples:
            sent = {
                "path": names,
                **({"query": query} if query else {}),
                **({"body": body} if body is not None else {}),
            }
            self.examples[operation_id] = self.steady({**sent, "answer": answer})
        return answer

    def steady(self, value: Any) -> Any:
        text = json.dumps(value, ensure_ascii=False).replace("http://testserver", BASE)
        text = PERMALINK.sub(SHOWN_PERMALINK, text)
        text = SECRET.sub(SHOWN_SECRET, text.replace(RECEIVER, SHOWN_RECEIVER))
        return json.loads(MOMENT.sub(self._moment, GUID.sub(self._guid, text)))

    def _guid(self, found: re.Match[str]) -> str:
        if found[0] in KNOWN:
            return found[0]
        return self.shown.setdefault(found[0], f"00000000-0000-4000-8000-{len(self.shown) + 1:012x}")

    def _moment(self, found: re.Match[str]) -> str:
        is_now = abs(datetime.fromisoformat(found[0][:26]) - self.now) < timedelta(days=2)
        return SHOWN_MOMENT if is_now else found[0]


def addresses() -> dict[str, tuple[str, str]]:
    return {
        operation["operationId"]: (path, verb)
        for path, operations in openapi_document()["paths"].items()
        for verb, operation in operations.items()
    }


def play(storage: Storage, api: ApiClient) -> dict[str, Any]:
    run = ExampleRecorder(storage, api)
    _read(run)
    _administer(run)
    _write(run)
    run.call("listStorages", {})
    run.call("provisionStorage", {}, body={"name": "quality", "title": "Quality", "dataCultures": [1033, 1036]})
    return run.examples


def _read(run: ExampleRecorder) -> None:
    order = {**PROCESS, "elementId": ORDER}
    tags = {"facetId": "tags", "viewId": "detail"}
    run.call("getApiIndex", {})
    run.call("getStorageInfo", {})
    run.call("listFacets", {})
    run.call("listViews", {"facetId": "processes"}, {"api-version": "4.0"})
    run.call("getViewConfiguration", tags)
    run.call("getTypeConfiguration", {**tags, "type": "tag"})
    run.call("getTypeSchema", {"type": "tag"})
    systems = {"$filter": "Contains(name, 'ERP')", **NAMES_ONLY, "$page": "1", "$pageSize": "2"}
    run.call("listElements", {"facetId": "it", "viewId": "list"}, systems)
    two = {"ids": [ORDER, DIRECTION], "resources": ["attributes"], "select": ["name"]}
    run.call("queryElements", {"facetId": "processes", "viewId": "list"}, body=two)
    run.call("searchElements", {}, {"q": "order par", "culture": "1033", "$page": "1", "$pageSize": "2"})
    run.call("suggestElements", {}, {"q": "ord"})
    call = {"name": "search", "arguments": {"text": "order parts", "type": "subProcess"}}
    run.call("sendAgentMessage", {}, body={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})
    parts = {"$resources": "attributes,related,rootPath", "$select": "name,version,owner"}
    run.call("getElement", order, parts)
    run.call("listAttributes", order, {"$select": "name,version"})
    run.call("getAttribute", {**order, "attributeName": "name"})
    run.call("listRelated", order, {"$select": "owner,systems"})
    run.call("getRelated", {**order, "relatedId": "owner"})
    mechanic = {"facetId": "roles", "viewId": "detail", "elementId": MECHANIC}
    run.call("listReferrers", mechanic, {"context": "roles", "$page": "1", "$pageSize": "1"})
    run.call("listChildren", {"facetId": "processes", "viewId": "tree", "elementId": DIRECTION})
    run.call(
        "getContent", {"facetId": "processes", "viewId": "diagram", "elementId": "c2e41b6e-96c8-5730-b031-6480d83fee01"}
    )
    run.call("getElementInfo", order)
    run.call("listVersions", order, NAMES_ONLY)
    erp = {"facetId": "it", "viewId": "detail", "elementId": "c4fda35f-b1b8-57e2-9f61-4ab6032426db"}
    run.call("compareElement", erp, {"from": "1.0"})
    run.call("compareStorage", {}, {"from": run.now.isoformat(), "$page": "1", "$pageSize": "10"})
    run.call("listReporting", {"facetId": "it"}, {**NAMES_ONLY, "$pageSize": "1"})
    run.call("getReporting", {"facetId": "it", "elementId": "5aac2d44-e6f0-5343-9ffb-50e06f39b1e5"}, NAMES_ONLY)
    run.call("listReport", {}, {"facet": "tags", "page": "1", "pageSize": "1"})
    run.call("getReport", {"elementId": "558ea17e-58e0-5d86-8ed1-65fee9a5f6ca"})
    run.call("listDataElements", {}, {"Facet": "it", "View": "list", "Lcid": "1033", "PageSize": "1"})
    run.call("getDataElement", {"elementId": "4893bd28-bb86-594f-a2c6-4ebe5661cbba"}, {"View": "tree"})
    run.call("listDiagramLayouts", {"elementId": "75c4b665-5c4d-56d1-811d-5ca41668c268"})
    run.call(
        "renderDiagram",
        {"elementId": "75c4b665-5c4d-56d1-811d-5ca41668c268", "cultureId": "1033", "layoutKey": "horizontal"},
    )


def _administer(run: ExampleRecorder) -> None:
    view = {"facetId": "storages", "viewId": "list"}
    run.call("listAdministrationFacets", {})
    run.call("listAdministrationViews", {"facetId": "storages"}, {"api-version": "4.0"})
    found = run.call("listAdministrationElements", view)
    run.call("getAdministrationElement", {**view, "elementId": found["elements"][0]["id"]})
    pool = COORDINATOR_POOL if engine().is_distributed else SINGLE_POOL
    for operation, path in (("listNodes", {}), ("listNodesOfPool", {"pool": pool})):
        run.call(operation, {"collectionId": "_sysadmin", **path})
        # The server of the run, and the storages of other tests on it.
        run.examples[operation]["answer"]["values"] = [NODE]


def _write(run: ExampleRecorder) -> None:
    made = {"type": "subProcess", "attributes": {"name": {"1031": "Ziele nachhalten", "1033": "Track goals"}}}
    body = {"count": 1, "elements": [{**made, "rootPath": [{"id": DIRECTION}]}]}
    found = run.call("updateElements", {"facetId": "processes", "viewId": "list"}, body=body)["elements"][0]
    element = {"elementId": found["id"]}
    process = {**PROCESS, **element}
    run.call("importBpmn", element, {"lcid": "1033", "dryRun": "true"}, BPMN)
    shapes = run.call("createContent", process, body={"values": list(_drawing())})["values"]
    shapes = run.call("replaceContent", process, body=_replacement([each["id"] for each in shapes]))["values"]
    run.call("exportBpmn", element, {"lcid": "1033"})
    run.call("deleteShape", {**process, "shapeId": shapes[2]["id"]})
    run.call("deleteShapeByPost", {**process, "shapeId": shapes[1]["id"]})
    run.call("listTransitions", element)
    released = {**element, "transitionId": "InProcessToReleased"}
    run.call("applyTransition", released, {"ignoreWarnings": "true"}, {"comment": "Agreed in the meeting."})
    run.call("createVersion", element)
    run.call("deleteElement", process)
    run.call("createVersion", element)
    run.call("deleteElementByPost", process)
    _decide(run, element)
    run.call("listLifecycle", process, {"$pageSize": "2"})
    run.call("listChanges", process, {"$pageSize": "1"})
    order = {"elementId": ORDER}
    run.call("subscribe", order, body={"subtree": True})
    run.call("listSubscribers", order)
    run.call("unsubscribe", order)
    run.call("createPermalink", {}, body={"linkType": "ofElement", "elementId": ORDER, "culture": 1033})
    run.call("listPermalinks", {}, {"elementId": ORDER})
    run.call("followChanges", {}, {"type": "version.stateChanged", "$pageSize": "1"})
    # A cursor is different in every run.
    run.examples["followChanges"]["answer"]["next"] = CURSOR
    _send_events(run)
    file = run.call("uploadFile", {}, {"name": "goals.xml"}, "<goals/>")["values"][0]
    run.call("getFile", {"fileId": file["id"]})
    _change_many(run, body)
    _limit(run)


def _limit(run: ExampleRecorder) -> None:
    granted = {"userGroups": [{"id": GROUP, "permissions": ["show", "edit"]}]}
    run.call("setPermissionSet", {"elementId": ORDER}, body={"mode": "replace", **granted})
    run.call("getPermissionSet", {"elementId": ORDER})
    run.call("removePermissionSet", {"elementId": ORDER})
    run.call("setFacetPermissionSet", {"facetId": "risks"}, body=granted)
    run.call("getFacetPermissionSet", {"facetId": "risks"})


def _change_many(run: ExampleRecorder, body: dict[str, Any]) -> None:
    made = run.call("updateElements", {"facetId": "processes", "viewId": "list"}, body=body)["elements"][0]
    purpose = {"purp": {"1033": "All goals of a quarter are compared with its figures."}}
    change = {"ids": [made["id"], ORDER], "operations": [{"set": {"attributes": purpose}}]}
    found = run.call("changeInBulk", PROCESS, body=change)["values"][0]
    run.call("getBulkReport", {**PROCESS, "bulkId": found["id"]})
    run.call("stopBulkChange", {**PROCESS, "bulkId": found["id"]})
    given = {"from": PREDECESSOR, "to": SUCCESSOR}
    found = run.call("handOver", {}, body=given)["values"][0]
    run.call("getHandOverReport", {"bulkId": found["id"]})
    run.call("stopHandOver", {"bulkId": found["id"]})


def _send_events(run: ExampleRecorder) -> None:
    given = {"url": f"https://{RECEIVER}/hook", "events": ["version.released"], "facet": "processes"}
    made = run.call("createWebhook", {}, body=given)
    webhook = {"webhookId": made["values"][0]["id"]}
    run.call("listWebhooks", {})
    run.call("getWebhook", webhook)
    run.call("changeWebhook", webhook, body={"headers": {"X-Team": "docs"}, "payload": "element"})
    run.call("rotateWebhookSecret", webhook, body={"overlapHours": 12})
    run.call("testWebhook", webhook)
    run.call("listWebhookDeliveries", webhook, {"state": "waiting"})
    run.call("redeliverToWebhook", webhook)
    run.call("deleteWebhook", webhook)


def _drawing() -> Any:
    words = [("evStart", "Quarter has ended"), ("task", "Compare figures"), ("task", "Report")]
    for index, (type, name) in enumerate(words):
        before = {"predecessors": [index - 1]} if index else {}
        yield {
            "shapeInfo": {"index": index, **before},
            "element": {"type": type, "attributes": {"name": {"1033": name}}},
        }


def _replacement(shapes: list[str]) -> dict[str, Any]:
    """Return the diagram with a decision before the last task, and without its start."""
    _, compare, report = shapes
    decision = {"type": "ruleXor", "attributes": {"name": {"1033": "Are the goals met?"}}}
    named = {"element": {"attributes": {"name": {"1033": "Report deviations"}}}}
    bounds = {"x": 240, "y": 40, "width": 100, "height": 80}
    no = {"labels": {"2": {"1031": "nein", "1033": "no"}}}
    return {
        "values": [
            {"shapeInfo": {"index": 1, "id": compare, "lane": 0}},
            {"shapeInfo": {"index": 2, "predecessors": [1]}, "element": decision},
            {"shapeInfo": {"index": 3, "id": report, "predecessors": [2], "bounds": bounds, **no}, **named},
        ],
        "lanes": [{"index": 0, "name": {"1031": "Controlling", "1033": "Controlling"}}],
    }


def _decide(run: ExampleRecorder, element: dict[str, str]) -> None:
    def ask() -> dict[str, str]:
        run.call("applyTransition", {**element, "transitionId": "ReleasedToRequestToExpire"})
        found = run.call("listTasks", {}, {"assignee": "all", "element": element["elementId"]})
        return {"taskId": found["values"][0]["id"]}

    task = ask()
    run.call("getTask", task)
    run.call("summariseTasks", {})
    run.call("withdrawTask", task, body={"comment": "Too early."})
    task = ask()
    run.call("delegateTask", task, body={"assignee": QUALITY_MANAGER, "comment": "On leave until May."})
    run.call("rejectTask", task, body={"comment": "Still needed."})
    run.call("acceptTask", ask(), body={"comment": "Agreed."})
