"""Events of versions and tasks in the change feed (D329)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from elements.models import ElementVersion
from release.schedule.lifecycle_jobs import run_lifecycle
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.elements.feed import Document, Feed
from tests.factories import token_for
from tests.release.house import ID, HouseClient
from tests.release.settable_clock import SettableClock
from tests.release.task_calls import WAY, act, ask, done, open_task
from tests.release.task_pages import VERSIONS, boss, take

pytestmark = pytest.mark.django_db
MakeClient = Callable[..., HouseClient]


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> SettableClock:
    """A clock that stands still: the order of events must not depend on it."""
    return SettableClock.install(monkeypatch)


@pytest.fixture
def feed(api: ApiClient, house: Storage) -> Feed:
    found = Feed(api, "acme/house", token_for(house, Role.ANALYZER))
    found.read()
    return found


@pytest.fixture
def viewer(api: ApiClient, house: Storage, feed: Feed) -> Feed:
    found = Feed(api, "acme/house", token_for(house, Role.VIEWER))
    found.cursor = feed.cursor
    return found


def told(feed: Feed, element: str) -> list[tuple[str, str, Document]]:
    """Return type, state and own data of the events of an element."""
    common = {"elementId", "versionId", "elementType", "facet", "caller", "callerId", "requestId", "state"}
    return [
        (
            each["type"],
            each["data"]["state"],
            {name: value for name, value in each["data"].items() if name not in common},
        )
        for each in feed.read()
        if each["subject"] == ID[element]
    ]


def test_a_release_retires_the_version_before(caller: HouseClient, feed: Feed, viewer: Feed) -> None:
    made = caller.new_version("order")
    for transition in (
        "InProcessToInReview",
        "InReviewToReadyForQa",
        "ReadyForQaToReadyForRelease",
        "ReadyForReleaseToReleased",
    ):
        caller.applied("order", transition)
    found = told(feed, "order")
    assert found[0] == ("version.created", "inProcess", {"version": "2.1", "copiedFrom": ID["order-2"]})
    assert found[-4:] == [
        (
            "version.stateChanged",
            "released",
            {"from": "readyForRelease", "to": "released", "transition": "ReadyForReleaseToReleased"},
        ),
        ("version.released", "released", {"version": "3.0"}),
        ("version.stateChanged", "expired", {"from": "released", "to": "expired"}),
        ("version.expired", "expired", {"version": "2.0"}),
    ]
    assert [each[0] for each in found[1:-4]] == ["version.stateChanged"] * 3
    # Nothing of the draft, and nothing of the version that has expired.
    assert [(each["type"], each["data"]["versionId"]) for each in viewer.read() if each["subject"] == ID["order"]] == [
        ("version.stateChanged", made["versionId"]),
        ("version.released", made["versionId"]),
    ]


def test_a_task_from_request_to_expiry(desk: MakeClient, feed: Feed, viewer: Feed) -> None:
    anna, ben = desk(user="anna"), desk(user="ben")
    task = ask(anna)
    # The version is published, but its tasks are not for viewers.
    assert viewer.read() == []
    done(act(ben, task, "delegate", assignee=ID["dora"]))
    done(act(desk(user="dora"), task, "accept", comment="Yes."))
    assert told(feed, "released") == [
        ("task.opened", "released", {"taskId": task, "assigneeId": ID["ben"]}),
        ("task.reassigned", "released", {"taskId": task, "assigneeId": ID["dora"]}),
        ("task.decided", "requestToExpire", {"taskId": task, "decision": "accepted"}),
        (
            "version.stateChanged",
            "requestToExpire",
            {"from": "released", "to": "requestToExpire", "transition": WAY["released"]},
        ),
        ("version.stateChanged", "expired", {"from": "requestToExpire", "to": "expired"}),
        ("version.expired", "expired", {"version": "1.0"}),
    ]
    # The element is gone for viewers, with everything that it was.
    assert viewer.read() == []


@pytest.mark.parametrize(("verb", "decision"), [("reject", "rejected"), ("withdraw", "withdrawn")])
def test_other_decisions(desk: MakeClient, feed: Feed, verb: str, decision: str) -> None:
    anna, ben = desk(user="anna"), desk(user="ben")
    task = ask(anna)
    done(act(anna if verb == "withdraw" else ben, task, verb))
    assert told(feed, "released")[1:] == [("task.decided", "released", {"taskId": task, "decision": decision})]


def test_steps_on_several_tasks_are_in_the_feed(house: Storage, feed: Feed) -> None:
    tasks = [open_task(house, each) for each in VERSIONS[:2]]
    take(boss(house), "reject", *tasks, comment="All of them.")
    found = [each["data"] for each in feed.read() if each["type"] == "task.decided"]
    assert [(each["taskId"], each["decision"]) for each in found] == [(each, "rejected") for each in tasks]
    assert {each["caller"].partition(":")[0] for each in found} == {"staff"}


def test_a_task_that_is_overtaken_is_decided(
    house: Storage, desk: MakeClient, caller: HouseClient, feed: Feed, clock: SettableClock
) -> None:
    task = ask(desk(user="anna"), "order")
    caller.new_version("order")
    for transition in (
        "InProcessToInReview",
        "InReviewToReadyForQa",
        "ReadyForQaToReadyForRelease",
        "ReadyForReleaseToReleased",
    ):
        caller.applied("order", transition)
    found = [each for each in told(feed, "order") if each[0].startswith("task.")]
    assert found == [
        ("task.opened", "released", {"taskId": task, "assigneeId": ID["ben"]}),
        ("task.decided", "expired", {"taskId": task, "decision": "obsolete"}),
    ]


def test_scheduled_steps_are_in_the_feed(house: Storage, feed: Feed, clock: SettableClock) -> None:
    with tenant_scope(house):
        ElementVersion.objects.filter(id=ID["inEffect-1"]).update(valid_until="2026-06-01T00:00:00Z")
    run_lifecycle(house)
    found = [each for each in feed.read() if each["subject"] == ID["inEffect"]]
    assert [(each["type"], each["data"]["caller"]) for each in found] == [
        ("version.stateChanged", "run_lifecycle"),
        ("version.expired", "run_lifecycle"),
    ]
