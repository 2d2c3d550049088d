"""A plain model of versions, tasks and storages, with which `test_release_model.py` compares the service."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from typing import Any, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

from django.db import connection

from release.schedule.lifecycle_jobs import run_lifecycle
from repository_site.core.rest.datetimes import wire_datetime
from storage.access.tokens import issue_token
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.cycles import STANDARD_CYCLES, category
from tests.factories import storage_context
from tests.release.house import ID, PEOPLE, PUBLISHED

Body = dict[str, Any]
ZONE = ZoneInfo("Europe/Berlin")
NO_END = datetime(9999, 12, 31, tzinfo=ZONE)
BEGIN = datetime(2026, 6, 1, 10, tzinfo=UTC)
LIMIT = timedelta(days=14)
TABLES = ("elements_element", "elements_elementversion", "elements_reference", "elements_shape", "elements_shapeflow",
          "elements_elementchange", "release_lifecycleentry", "release_task")  # fmt: skip
ELEMENTS = "rest/facets/processes/views/detail/elements"
MISSING, FORBIDDEN, CONFLICT, INVALID = 404, 403, 409, 422
# Problems are reported in this order.
BASIC_FIRST = (MISSING, FORBIDDEN, CONFLICT, INVALID)
TRANSITIONS: dict[str, dict[str, str]] = STANDARD_CYCLES["standard"]["transitions"]
OPEN = ("draft", "review")
ROLES = {**{name: PEOPLE[name] for name in ("anna", "ben", "cora", "dora", "vera")},
         "architect": (Role.ARCHITECT,), "analyzer": (Role.ANALYZER,)}  # fmt: skip
EDITORS, APPROVERS = {"anna", "cora", "architect"}, {"ben", "cora", "dora", "architect"}
# They can edit elements of other authors.
ARCHITECTS = {"cora", "architect"}
# Elements in both storages, besides `order`, which has two versions.
COMMON = ("inProcess", "inReview", "readyForRelease", "inEffect")


class ModelClock:
    """The time of the service during the test."""

    now = BEGIN


@dataclass
class ModelDiagramElement:
    """An element that lives in a diagram."""

    id: str
    creation: str
    name: str


@dataclass
class ModelVersion:
    """A version as the model expects it."""

    id: str
    state: str
    number: tuple[int, int]
    author: str
    name: str | None = "New"
    reason: str | None = None
    owner: str | None = None
    maturity: str | None = None
    valid_from: datetime | None = None
    valid_until: datetime = NO_END
    diagram: list[ModelDiagramElement] = field(default_factory=list)
    changes: int = 0

    @property
    def category(self) -> str:
        return category(self.state)


@dataclass
class ModelTask:
    id: str
    element: str
    version: str
    requester: str
    """Name of the requester."""
    assignee: str | None
    transition: str
    valid_until: datetime | None
    changes: int
    """Changes of the version when the task was created."""
    requested: datetime
    state: str = "open"
    is_stuck: bool = False


class VersionKey(NamedTuple):
    """A version and the storage that created it; optionally an element of its diagram or a task about it."""

    home: str
    element: str
    version: str
    id: str = ""


def start_of_day(moment: datetime) -> datetime:
    return datetime.combine(moment.astimezone(ZONE).date(), time(), ZONE)


class ModelStorage:
    """The model of a storage, and its API."""

    def __init__(self, storage: Storage) -> None:
        self.storage, self.api, self.name = storage, ApiClient(), str(storage.collection.key)
        self.tokens: dict[str, str] = {}
        self.people: dict[str, str] = {}
        for name, roles in ROLES.items():
            user = UUID(ID[name]) if name in PEOPLE else None
            issued = issue_token(storage_context(storage), name, roles, user_id=user)
            self.tokens[name], self.people[name] = issued.value, str(user or issued.token.id)
        self.names = {id: name for name, id in self.people.items()}
        self.known = {
            ID[state]: [self.initial(f"{state}-1", state, state, (1, 0) if state in PUBLISHED else (0, 1))]
            for state in COMMON
        }
        self.known[ID["order"]] = [
            self.initial("order-1", "order-1", "expired", (1, 0)),
            self.initial("order-2", "order-2", "released", (2, 0)),
        ]
        self.tasks: dict[str, ModelTask] = {}

    def initial(self, version: str, parts: str, state: str, number: tuple[int, int]) -> ModelVersion:
        drawn = [ModelDiagramElement(id, id, "") for id in (ID[f"{parts}-{part}"] for part in ("start", "task", "end"))]
        found = ModelVersion(ID[version], state, number, ID["anna"], "Old", "Because.", ID["ben"], diagram=drawn)
        if state == "expired":
            found.valid_until = datetime(2026, 2, 1, tzinfo=ZONE)
        if state in (*PUBLISHED, "expired"):
            found.valid_from = datetime(2026, 1, 5, tzinfo=ZONE)
        return found

    def call(self, method: str, address: str, body: Any = None, by: str = "architect") -> tuple[int, Any]:
        content = b"" if body is None else json.dumps(body).encode()
        path = f"/{self.name}/{self.storage.key}/_api/{address}"
        response = self.api.generic(method, path, content, "application/json", token=self.tokens[by])
        return response.status_code, response.json()

    def fingerprint(self) -> str:
        tables = (f"(SELECT coalesce(string_agg(t::text, ',' ORDER BY t.id), '') FROM {name} t)" for name in TABLES)
        with tenant_scope(self.storage), connection.cursor() as cursor:
            cursor.execute(f"SELECT md5(concat_ws('|', {', '.join(tables)}))")
            return str(cursor.fetchone()[0])

    def find(self, element: str, version: str) -> ModelVersion | None:
        return next((each for each in self.known.get(element, ()) if each.id == version), None)

    def published(self, element: str) -> ModelVersion | None:
        return next((each for each in self.known.get(element, ()) if each.category == "published"), None)

    def addressed(self, key: VersionKey, by_element: bool, by: str) -> ModelVersion | None:
        """Return the version that an id means for a caller (D6)."""
        shown = self.published(key.element)
        if by_element:
            newest = self.known.get(key.element, [None])[-1]
            return shown if by == "vera" else newest
        version = self.find(key.element, key.version)
        return version if by != "vera" or version is shown else None

    def may_edit(self, version: ModelVersion, by: str) -> bool:
        return by in ARCHITECTS or (by in EDITORS and version.author == self.people[by])

    def may_apply(self, version: ModelVersion, transition: str, by: str) -> bool:
        target = category(TRANSITIONS[transition]["to"])
        if "task" in TRANSITIONS[transition] or target == "review":
            return self.may_edit(version, by)
        return by in APPROVERS or (target == "draft" and self.may_edit(version, by))

    def state_of(self, key: VersionKey) -> str:
        found = self.find(key.element, key.version)
        return found.state if found else ""

    def open_task(self, version: str) -> ModelTask | None:
        return next((each for each in self.open_tasks() if each.version == version), None)

    def open_tasks(self) -> Iterator[ModelTask]:
        return (each for each in self.tasks.values() if each.state == "open")

    def offered(self, version: ModelVersion, by: str) -> list[str]:
        found = [key for key, each in TRANSITIONS.items() if each["from"] == version.state]
        waits = self.open_task(version.id) is not None
        return [key for key in found if self.may_apply(version, key, by) and not (waits and "task" in TRANSITIONS[key])]

    def waits_for(self, task: ModelTask, by: str) -> bool:
        is_for = by in APPROVERS if task.assignee is None else task.assignee == self.people[by]
        return is_for and (by != task.requester or by == "cora")

    def retire(self, version: ModelVersion, end: datetime | None = None) -> None:
        version.state, version.changes = "expired", version.changes + 1
        version.valid_until = end or version.valid_until
        if (task := self.open_task(version.id)) is not None:
            task.state, task.is_stuck = "obsolete", False

    def publish(self, element: str, version: ModelVersion, state: str) -> None:
        earlier, today = self.published(element), start_of_day(ModelClock.now)
        if earlier is not None:
            self.retire(earlier, min(earlier.valid_until, today))
        version.state, version.changes = state, version.changes + 1
        version.number = max(each.number[0] for each in self.known[element]) + 1, 0
        version.valid_from = version.valid_from or today

    def ends(self) -> list[datetime]:
        """Return the future ends of published versions."""
        shown = [each.valid_until for element in self.known if (each := self.published(element))]
        return [each for each in shown if ModelClock.now < each < NO_END]

    def run_clock(self) -> None:
        run_lifecycle(self.storage)
        for versions in self.known.values():
            for each in versions:
                if each.category == "published" and each.valid_until <= ModelClock.now:
                    self.retire(each)
        for task in self.open_tasks():
            is_approver = task.assignee is None or self.names[task.assignee] in APPROVERS
            task.is_stuck = not is_approver or ModelClock.now - task.requested > LIMIT


def view_of(element: Body) -> tuple[str, str, str, Any, str, list[str]]:
    values = {name: each["127"] for name, each in element["attributes"].items() if "127" in each}
    content = [each["id"] for each in element.get("content", ())]
    return (
        element["versionId"],
        element["state"],
        values["version"],
        values.get("validFrom"),
        values["validUntil"],
        content,
    )


def expected_view(version: ModelVersion) -> tuple[str, str, str, Any, str, list[str]]:
    begin = wire_datetime(version.valid_from, ZONE) if version.valid_from else None
    content = [each.id for each in version.diagram]
    number = f"{version.number[0]}.{version.number[1]}"
    return version.id, version.state, number, begin, wire_datetime(version.valid_until, ZONE), content


def body_of(what: str, value: Any) -> Body:
    if what == "owner":
        return {"related": {"owner": [{"id": value}] if value else []}}
    if what.startswith("valid"):
        name = {"valid_from": "validFrom", "valid_until": "validUntil"}[what]
        return {"attributes": {name: {"127": wire_datetime(value, ZONE) if value else None}}}
    if what == "maturity":
        return {"attributes": {"processMaturity": {"127": value}}}
    return {"attributes": {{"name": "name", "reason": "reasonForRevision"}[what]: {"1033": value}}}
