"""Versions that wait in a state of review, and their tasks."""

from __future__ import annotations

from storage.models import Storage
from tests.release.house import ID, HouseClient
from tests.release.task_calls import change_state


def submit(desk: HouseClient, transition: str = "InProcessToInReview", name: str = "inProcess") -> None:
    desk.applied(name, transition)


def tasks_of(desk: HouseClient, name: str = "inProcess", state: str = "open") -> dict[str, str]:
    """Return the ids of the tasks of an element by the name of the assignee."""
    names = {id: name for name, id in ID.items()}
    return {
        names[each["assignee"]["id"]] if "assignee" in each else "": each["id"]
        for each in desk.tasks(f"?assignee=all&state={state}&element={ID[name]}")
    }


def with_approvals(storage: Storage, approvals: int) -> None:
    change_state(storage, "inReview", approvals=approvals)
