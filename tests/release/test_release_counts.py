"""Each step of a lifecycle takes the same number of statements, whatever the size of diagram, log or list.

The numbers are in `release_counts.json`, so that a change shows in review. To write them again after an intended
change: `WRITE_QUERY_COUNTS=1 make test ARGS="-n 0 -m long tests/release/test_release_counts.py"`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from elements.models import ElementVersion
from release.api.urls import urlpatterns
from release.models import LifecycleEntry, Task
from release.schedule.lifecycle_jobs import run_lifecycle
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.conftest import StorageMaker
from tests.factories import token_for
from tests.release.house import PUBLISHED
from tests.release.scheduled_runs import let_versions_take_effect
from tests.release.stored_contents import fresh

pytestmark = [pytest.mark.django_db, pytest.mark.long]
BASELINE = Path(__file__).with_name("release_counts.json")
ROOT = "/acme/counted/_api"
SYSTEMS = 1000
SHAPES = (3, 300)
APPROVER = "00000009-0000-4000-8000-000000000001"
OTHER = "00000009-0000-4000-8000-000000000002"


def system(number: int, *, version: bool = False) -> str:
    return f"0000000{2 if version else 1}-0000-4000-8000-{number:012x}"


def process(shapes: int, *, version: bool = False) -> str:
    return f"0000000{4 if version else 3}-0000-4000-8000-{shapes:012x}"


def lines() -> Iterator[dict[str, Any]]:
    """Return two approvers, many published systems, and published processes with diagrams of several sizes."""
    for person in (APPROVER, OTHER):
        identity = {"facetName": "users", "id": person, "creationId": person, "type": "user"}
        yield {**identity, "attributes": {"name": {"1033": "Somebody"}, "roleApprover": {"127": True}}}
    owner = {"owner": [{"facetName": "users", "id": APPROVER, "type": "user"}]}
    for number in range(SYSTEMS):
        named = {"name": {"1031": "System", "1033": f"System {number}"}, "version": {"127": "1.0"}}
        identity = {"facetName": "it", "id": system(number), "versionId": system(number, version=True)}
        state = PUBLISHED[0] if number < 300 else PUBLISHED[number % 3]
        yield {**identity, "type": "system", "state": state, "attributes": named}
    for count in SHAPES:
        drawn = [f"00000005-{count:04}-4000-8000-{number:012x}" for number in range(count)]
        for each in drawn:
            yield {
                "facetName": "processes", "id": each, "creationId": each, "type": "task",
                "attributes": {"name": {"1033": "Task"}},
            }  # fmt: skip
        shapes = [f"00000006{each[8:]}" for each in drawn]
        content = [
            {
                "facetName": "processes", "id": each, "type": "task",
                "properties": {
                    "shapeId": shape, "predecessors": [{"properties": {"shapeId": before}}] if before else [],
                },
            }
            for each, shape, before in zip(drawn, shapes, ["", *shapes], strict=False)
        ]  # fmt: skip
        yield {
            "facetName": "processes", "id": process(count), "versionId": process(count, version=True),
            "type": "subProcess", "state": "released", "related": owner, "content": content,
            "attributes": {"name": {"1031": "Prozess", "1033": "Process"}, "version": {"127": "1.0"}},
        }  # fmt: skip


@pytest.fixture(scope="module")
def counted(filled_storage: StorageMaker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Storage]:
    file = tmp_path_factory.mktemp("counted") / "lines.ndjson"
    file.write_text("".join(json.dumps(each) + "\n" for each in lines()), encoding="utf-8")
    with filled_storage(file, collection="acme", key="counted", template="standard") as storage:
        yield storage


class CountedStorage:
    """Calls of an administrator, with the statements of the last call."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        # Django's own client: validating responses of this size takes too long.
        self.client = Client(headers={"Authorization": f"Bearer {token_for(storage, Role.ADMINISTRATOR)}"})
        self.statements: list[str] = []
        self.used = 0
        self.get("rest/facets")

    def get(self, path: str) -> Any:
        return self.call(lambda: self.client.get(f"{ROOT}/{path}"))

    def post(self, path: str, body: Any = None) -> Any:
        content = json.dumps(body) if body is not None else b""
        return self.call(lambda: self.client.post(f"{ROOT}/{path}", content, content_type="application/json"))

    def call(self, send: Callable[[], Any]) -> Any:
        with CaptureQueriesContext(connection) as captured:
            response = send()
        self.statements = [each["sql"] for each in captured.captured_queries]
        assert response.status_code == 200, response.content
        return response.json()

    def next_systems(self, count: int = 1) -> list[int]:
        """Return systems that no test has used yet."""
        self.used += count
        return list(range(self.used - count, self.used))

    def apply(self, element: str, transition: str) -> Any:
        return self.post(f"release/{element}/transitions/{transition}?ignoreWarnings=true")

    def draft(self, element: str) -> str:
        """Create a new version and return its id."""
        return str(self.post(f"release/{element}/createversion")["elements"][0]["versionId"])

    def ask(self) -> str:
        """Create a task and return its id."""
        element = system(self.next_systems()[0])
        self.apply(element, "ReleasedToRequestToExpire")
        with tenant_scope(self.storage):
            return str(Task.objects.get(element_id=element, state="open").id)

    def add_tasks(self, count: int) -> None:
        """Create open tasks, each about another version, up to this number."""
        with tenant_scope(self.storage):
            Task.objects.filter(state="open").delete()
            Task.objects.bulk_create(
                Task(
                    type="Approve expiry", element_id=system(number), version_id=system(number, version=True),
                    revision=0, transition="T", source_state="released", target_state="requestToExpire",
                    requested_on=timezone.now(), requester_id=OTHER, requester_label="x", assignee_id=APPROVER,
                )
                for number in self.next_systems(count)
            )  # fmt: skip

    def add_steps(self, element: str, count: int) -> None:
        with tenant_scope(self.storage):
            LifecycleEntry.objects.bulk_create(
                LifecycleEntry(
                    element_id=element, number=number, version_id=uuid4(), version="1.0", step="transition",
                    from_state="inProcess", to_state="inReview", transition="T", changed_on=timezone.now(),
                    caller_id=APPROVER, caller_label="x", request_id="x",
                )
                for number in range(1, count + 1)
            )  # fmt: skip


def list_transitions(world: CountedStorage, _: int) -> None:
    world.get(f"release/{system(world.next_systems()[0])}/transitions")


def list_transitions_of_a_draft(world: CountedStorage, _: int) -> None:
    world.get(f"release/{world.draft(system(world.next_systems()[0]))}/transitions")


def hand_in(world: CountedStorage, _: int) -> None:
    world.apply(world.draft(system(world.next_systems()[0])), "InProcessToInReview")


def release(world: CountedStorage, shapes: int) -> None:
    """Release a version with a diagram of this size, which retires the version before."""
    world.apply(world.draft(process(shapes)), "InProcessToReleased")


def create_version(world: CountedStorage, shapes: int) -> None:
    # Twice: the content of the earlier diagram is copied.
    world.draft(process(shapes))


def ask(world: CountedStorage, _: int) -> None:
    world.apply(system(world.next_systems()[0]), "ReleasedToRequestToExpire")


def decide(verb: str, **body: str) -> Callable[[CountedStorage, int], None]:
    def run(world: CountedStorage, _: int) -> None:
        world.post(f"rest/tasks/{world.ask()}/{verb}", body)

    return run


def get_task(world: CountedStorage, _: int) -> None:
    world.get(f"rest/tasks/{world.ask()}")


def list_tasks(world: CountedStorage, count: int) -> None:
    world.add_tasks(count)
    assert world.get("rest/tasks?assignee=all")["count"] == count


def list_own_tasks(world: CountedStorage, count: int) -> None:
    world.add_tasks(count)
    with tenant_scope(world.storage):
        Task.objects.filter(state="open").update(assignee_id=None)
    assert world.get("rest/tasks")["count"] == count


def summarise(world: CountedStorage, count: int) -> None:
    world.add_tasks(count)
    found = world.get("rest/tasks/summary")["values"]
    assert sum(each["count"] for each in found if each["state"] == "open") == count


def list_steps(world: CountedStorage, count: int) -> None:
    element = system(world.next_systems()[0])
    world.add_steps(element, count)
    assert world.get(f"rest/facets/it/views/detail/elements/{element}/lifecycle")["count"] == count


def expire(world: CountedStorage, count: int) -> None:
    with tenant_scope(world.storage):
        Task.objects.filter(state="open").delete()
        due = [system(number, version=True) for number in world.next_systems(count)]
        ElementVersion.objects.filter(id__in=due).update(valid_until=timezone.now() - timedelta(days=1))
    with CaptureQueriesContext(connection) as captured:
        assert len(run_lifecycle(fresh(world.storage)).expired) == count
    world.statements = [each["sql"] for each in captured.captured_queries]


OPERATIONS: dict[str, tuple[Callable[[CountedStorage, int], None], tuple[int, ...]]] = {
    "listTransitions": (list_transitions, (1,)),
    "listTransitions, of a draft": (list_transitions_of_a_draft, (1,)),
    "applyTransition, into review": (hand_in, (1,)),
    "applyTransition, a release after another": (release, SHAPES),
    "applyTransition, by task": (ask, (1,)),
    "createVersion": (create_version, SHAPES),
    "getTask": (get_task, (1,)),
    "acceptTask": (decide("accept"), (1,)),
    "rejectTask": (decide("reject"), (1,)),
    "withdrawTask": (decide("withdraw"), (1,)),
    "delegateTask": (decide("delegate", assignee=OTHER), (1,)),
    "listTasks": (list_tasks, (1, 100)),
    "listTasks, of the caller": (list_own_tasks, (1, 100)),
    "summariseTasks": (summarise, (1, 100)),
    "listLifecycle": (list_steps, (1, 50)),
    "run_lifecycle": (expire, (1, 100)),
}


def test_statements_do_not_grow_with_the_content(counted: Storage) -> None:
    world = CountedStorage(counted)
    counts: dict[str, dict[str, int]] = {}
    for name, (operation, sizes) in OPERATIONS.items():
        counts[name] = {}
        for size in sizes:
            operation(world, size)
            counts[name][str(size)] = len(world.statements)
        assert len(set(counts[name].values())) == 1, (name, counts[name])
    if os.environ.get("WRITE_QUERY_COUNTS"):
        BASELINE.write_text(json.dumps(counts, indent=2) + "\n", encoding="utf-8")
    assert counts == json.loads(BASELINE.read_text(encoding="utf-8"))


@pytest.mark.one_node("reads the plans of one server")
def test_every_statement_uses_an_index(counted: Storage) -> None:
    """Under row-level security a condition that is not leakproof cannot use an index and would read the rows of all
    tenants.

    The planner prefers sequential scans of small tables, so the test disables them.
    """
    let_versions_take_effect(counted)
    world = CountedStorage(counted)
    world.add_tasks(SYSTEMS)
    world.used = 0
    with tenant_scope(counted):
        Task.objects.update(state="rejected")
        ElementVersion.objects.filter(id=system(999, version=True)).update(valid_from=timezone.now(), state="released")
        world.add_steps(system(998), 1000)
    looked_at = dict.fromkeys(("elements_elementversion", "release_task", "release_lifecycleentry"), 0)
    for name, (operation, sizes) in OPERATIONS.items():
        operation(world, sizes[0])
        statements = [
            each for each in world.statements if "elements_" in each or '"release_' in each or " release_" in each
        ]
        with tenant_scope(counted), connection.cursor() as cursor:
            cursor.execute("SET LOCAL enable_seqscan = off")
            for sql in statements:
                cursor.execute(f"EXPLAIN {sql}")
                plan = "\n".join(row[0] for row in cursor.fetchall())
                assert "Seq Scan on elements_" not in plan, (name, sql, plan)
                assert "Seq Scan on release_" not in plan, (name, sql, plan)
                for table in looked_at:
                    looked_at[table] += table in sql
            cursor.execute("SET LOCAL enable_seqscan = on")
    assert looked_at["elements_elementversion"] > 50, looked_at
    assert looked_at["release_task"] > 20, looked_at
    assert looked_at["release_lifecycleentry"] > 9, looked_at


def test_every_operation_is_counted() -> None:
    """A new operation of this app must join the list."""
    # The second address of applyTransition runs the same code. tests/release/bulk counts bulk changes and their reports,
    # and tests/release/agents the messages of agents.
    known = {name.partition(",")[0] for name in OPERATIONS} | {"applyTransitionIgnoringWarnings"}
    known |= {"handOver", "getHandOverReport", "stopHandOver", "sendAgentMessage"}
    views: list[Any] = [pattern.callback for pattern in urlpatterns]
    actions = [getattr(view.cls, action) for view in views for action in view.actions.values()]
    assert {action.operation.id.removesuffix("IgnoringWarnings") for action in actions} <= known
