"""Every way in which a task of a review opens, moves and ends has its event (D329)."""

from __future__ import annotations

from typing import Any

import pytest

from storage.models import Storage
from storage.options import Role
from tests.api_client import ApiClient
from tests.elements.feed import Feed
from tests.factories import token_for
from tests.release.house import ID, MakeClient
from tests.release.task_calls import act, appoint, done

pytestmark = pytest.mark.django_db


def events(feed: Feed, people: dict[str, str]) -> list[tuple[Any, ...]]:
    """Return the new events of tasks: type, person of the task, new assignee or decision, state."""
    names = {id: name for name, id in ID.items()}
    return [
        (
            each["type"].removeprefix("task."),
            people.get(each["data"]["taskId"], "?"),
            names.get(each["data"].get("assigneeId", ""), each["data"].get("decision", "")),
            each["data"]["state"],
        )
        for each in feed.read()
        if each["type"].startswith("task.")
    ]


def test_events_of_a_review(house: Storage, desk: MakeClient, api: ApiClient) -> None:
    feed, viewer = (Feed(api, "acme/house", token_for(house, role)) for role in (Role.ANALYZER, Role.VIEWER))
    feed.read()
    viewer.read()
    anna, ben, dora, cora = (desk(user=name) for name in ("anna", "ben", "dora", "cora"))
    appoint(house, "inProcess-1", reviewer=["ben", "dora"], owner=["ben"])
    people: dict[str, str] = {}

    def open_tasks() -> dict[str, str]:
        names = {id: name for name, id in ID.items()}
        found = anna.tasks(f"?assignee=all&element={ID['inProcess']}")
        people.update({each["id"]: names[each["assignee"]["id"]] for each in found})
        return {person: id for id, person in people.items()}

    def submit() -> dict[str, str]:
        anna.applied("inProcess", "InProcessToInReview")
        tasks = open_tasks()
        assert sorted(events(feed, people)) == [
            ("opened", "ben", "ben", "inReview"), ("opened", "dora", "dora", "inReview")
        ]  # fmt: skip
        return tasks

    tasks = submit()
    done(act(dora, tasks["dora"], "delegate", assignee=ID["cora"]))
    assert events(feed, people) == [("reassigned", "dora", "cora", "inReview")]
    done(act(ben, tasks["ben"], "reject", comment="No."))
    assert events(feed, people) == [
        ("decided", "ben", "rejected", "inProcess"), ("decided", "dora", "obsolete", "inProcess")
    ]  # fmt: skip
    tasks = submit()
    done(act(anna, tasks["dora"], "withdraw"))
    assert events(feed, people) == [
        ("decided", "dora", "withdrawn", "inProcess"), ("decided", "ben", "obsolete", "inProcess")
    ]  # fmt: skip
    tasks = submit()
    done(act(ben, tasks["ben"], "accept"))
    assert events(feed, people) == [("decided", "ben", "accepted", "inReview")]
    done(act(dora, tasks["dora"], "accept"))
    open_tasks()
    assert events(feed, people) == [
        ("decided", "dora", "accepted", "readyForRelease"), ("opened", "ben", "ben", "readyForRelease")
    ]  # fmt: skip
    cora.applied("inProcess", "ReadyForReleaseToReleased")
    assert events(feed, people) == [("decided", "ben", "obsolete", "released")]
    anna.applied("inProcess", "ReleasedToRequestToExpire")
    open_tasks()
    assert events(feed, people) == [("opened", "ben", "ben", "released")]
    # Readers learn of the release, but not of tasks.
    assert [each["type"] for each in viewer.read()] == ["version.stateChanged", "version.released"]
