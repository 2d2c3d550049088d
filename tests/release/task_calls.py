"""Calls and checks for tests of tasks: request the expiry of an element, decide a task, read what is stored."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

from elements.models import Element, ElementVersion, Reference
from facets.blueprint.cycles import Transition
from facets.changing.changes import change_configuration
from facets.rows.reading import read_blueprint
from release.models import Task
from storage.access.callers import Caller
from storage.access.tokens import recognise_token
from storage.models import Storage
from storage.tenancy.scope import tenant_scope
from tests.factories import storage_context
from tests.release.house import BASE, ID, PEOPLE, HouseClient, Wire
from tests.release.settable_clock import SettableClock

TYPE = "Approve expiry"
WAY = {
    "released": "ReleasedToRequestToExpire",
    "inEffect": "InEffectToRequestToExpire",
    "order": "ReleasedToRequestToExpire",
    "house": "ReleasedToRequestToExpire",
}
NOW, TODAY = "2026-07-01T12:00:00", "2026-07-01T00:00:00"
LATER, LATER_INSTANT = "2026-07-20T08:30:00", "2026-07-20T06:30:00+00:00"
VERBS = ("accept", "reject", "withdraw", "delegate")
UNKNOWN = "ffffffff-0000-4000-8000-000000000000"
ANOTHERS = "The task is assigned to another approver; only that approver or an administrator can decide it."
NOT_YOURS = "Only the requester or an administrator can withdraw this."
LIFECYCLE = "Lifecycle and tasks require the role Analyzer or a higher one."
KINDS = {
    401: ("unauthorized", "volatile"),
    403: ("unauthorized", "volatile"),
    404: ("error", "volatile"),
    405: ("error", "volatile"),
    409: ("error", "dialog"),
}
KINDS |= {400: ("error", "inline"), 422: ("error", "inline")}


def ask(desk: HouseClient, name: str = "released", **body: Any) -> str:
    """Request the expiry of an element and return the id of the task."""
    response = desk.apply(name, WAY[name], "", body)
    assert response.status_code == 200, response.content
    with tenant_scope(desk.storage):
        return str(Task.objects.get(element_id=ID[name], state="open").id)


def act(desk: HouseClient, task: str, verb: str, /, **body: Any) -> Any:
    return desk.post(f"rest/tasks/{task}/{verb}", body)


def done(response: Any) -> Wire:
    """Return the only task of a response."""
    assert response.status_code == 200, response.content
    body = response.json()
    assert list(body) == ["count", "values"]
    (found,) = body["values"]
    assert body["count"] == 1
    task: Wire = found
    return task


def refused(response: Any, status: int, *errors: str) -> None:
    """Check the whole body of an error response."""
    type, output = KINDS[status]
    message = errors[0] if len(errors) == 1 else f"The body has {len(errors)} problems."
    data = [{"error": each} for each in errors]
    assert response.json() == {"message": message, "output": output, "type": type, "data": data}
    assert response.status_code == status


def recognised(desk: HouseClient) -> Caller:
    return recognise_token(desk.token, storage_context(desk.storage))


def label(desk: HouseClient) -> str:
    """Return the name of the caller in the log."""
    return recognised(desk).label


def wire(name: str, state: str = "", version: str = "") -> Wire:
    """Return a reference as responses show it."""
    if state:
        identity = {"versionId": ID[version or f"{name}-1"], "type": "subProcess", "state": state}
        return {
            "facetName": "processes", "id": ID[name], **identity,
            "expandUri": f"{BASE}/rest/facets/processes/views/detail/elements/{ID[version or f'{name}-1']}",
        }  # fmt: skip
    facet, type = ("usergroups", "userGroup") if name == "crew" else ("users", "user")
    return {
        "facetName": facet, "id": ID[name], "creationId": ID[name], "type": type,
        "expandUri": f"{BASE}/rest/facets/{facet}/views/detail/elements/{ID[name]}",
    }  # fmt: skip


def appoint(storage: Storage, version: str, **people: list[str]) -> None:
    """Set references of a version in any state, without a change of its revision."""
    with tenant_scope(storage):
        for context, names in people.items():
            Reference.objects.filter(version_id=UUID(ID[version]), context=context).delete()
            for place, name in enumerate(names):
                Reference.objects.create(
                    version_id=ID[version], context=context, position=place, target_id=ID.get(name, name)
                )


def set_task(storage: Storage, task: str, **fields: Any) -> None:
    with tenant_scope(storage):
        Task.objects.filter(id=task).update(**fields)


def open_task(storage: Storage, version: str = "released-1", assignee: str | None = "ben") -> str:
    """Create a task that anna requested at noon of 1 July, and return its id."""
    with tenant_scope(storage):
        revision = ElementVersion.objects.values_list("revision", flat=True).get(id=ID[version])
        task = Task.objects.create(
            type=TYPE, element_id=ID[version.rpartition("-")[0]], version_id=ID[version], revision=revision,
            transition=WAY["released"], source_state="released", target_state="requestToExpire", requested_on=SettableClock().moment,
            requester_id=ID["anna"], requester_label="x", assignee_id=assignee and ID.get(assignee, assignee),
        )  # fmt: skip
    return str(task.id)


def grant(storage: Storage, name: str, **roles: bool) -> None:
    """Change the role attributes of a user."""
    with tenant_scope(storage):
        row = ElementVersion.objects.get(id=ID[name])
        row.attributes |= {f"role{role.capitalize()}": {"127": value} for role, value in roles.items()}
        row.save()


def logged(desk: HouseClient, name: str) -> list[tuple[str, ...]]:
    """Return the steps of an element in short: step, states, caller and comment."""
    return [
        (each["step"], each.get("fromState", ""), each["toState"], each["caller"], each.get("comment", ""))
        for each in desk.steps(name)
    ]


def entry(
    desk: HouseClient, response: Any, task: str, number: int, step: str, states: tuple[str, str], **more: Any
) -> Wire:
    """Return a log entry of `released` in full, for this caller and response."""
    (person,) = [name for name in PEOPLE if ID[name] == str(recognised(desk).element_id)]
    return {
        "number": number, "step": step, "versionId": ID["released-1"], "version": "1.0",
        "fromState": states[0], "toState": states[1], "caller": label(desk), "changedBy": wire(person),
        "requestId": response["X-Request-ID"], "changedOn": NOW, "taskId": task, **more,
    }  # fmt: skip


def pointers(storage: Storage, *names: str) -> list[tuple[str, str | None]]:
    """Return the newest and the published version of elements."""
    with tenant_scope(storage):
        rows = {str(each.id): each for each in Element.objects.filter(id__in=[ID[name] for name in names])}
    found = [rows[ID[name]] for name in names]
    return [(str(each.newest_id), str(each.published_id) if each.published_id else None) for each in found]


def change_state(storage: Storage, key: str, **fields: Any) -> None:
    with tenant_scope(storage):
        old = read_blueprint()
        cycle = old.cycles[0]
        states = tuple(replace(each, **fields) if each.key == key else each for each in cycle.states)
        change_configuration(storage, replace(old, cycles=(replace(cycle, states=states),)))


def change_cycle(storage: Storage, *ways: Transition, without: str = "", **more: Any) -> None:
    """Change the standard cycle: add or replace transitions, or remove a transition or a state."""
    with tenant_scope(storage):
        blueprint = read_blueprint()
    (cycle,) = blueprint.cycles
    gone = {without, *(each.key for each in ways)}
    states = tuple(each for each in cycle.states if each.key != without)
    kept = tuple(each for each in cycle.transitions if gone.isdisjoint((each.key, each.source, each.target)))
    changed = replace(cycle, states=states, transitions=(*ways, *kept), **more)
    change_configuration(storage, replace(blueprint, cycles=(changed,)))
