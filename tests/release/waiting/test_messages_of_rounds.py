"""Several approvers: a round of tasks is one message to each of them, and one answer to the requester (D322)."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import pytest
from pytest_django import Settings

from release.messages.gathering import gather_messages, tell_of_due_tasks
from release.messages.mails import compose
from release.messages.sending import make_mails
from release.models import Task
from storage.events.numbering import number_events
from storage.models import Message, MessageKind, MessageLog, OutgoingMail, Storage
from storage.tenancy.scope import tenant_scope
from tests.release.house import ID, PEOPLE, MakeClient
from tests.release.settable_clock import SettableClock
from tests.release.task_calls import act, appoint, done
from tests.release.task_pages import member
from tests.release.waiting.waiting_tasks import submit, tasks_of, with_approvals

pytestmark = pytest.mark.django_db
NAMES = {f"user:{id}": name for name, id in ID.items()}


@pytest.fixture(autouse=True)
def position(house: Storage, settings: Settings) -> None:
    """Begin with the events of the test, and mail messages."""
    settings.MAIL_SERVER = object()
    last = number_events(house)
    with tenant_scope(house):
        MessageLog.objects.create(position=last)


def told(house: Storage, kind: MessageKind) -> dict[str, int]:
    """Return the number of messages of a kind, by person."""
    gather_messages(house)
    with tenant_scope(house):
        return Counter(
            NAMES[each] for each in Message.objects.filter(kind=kind).values_list("recipient__key", flat=True)
        )


def decisions(house: Storage) -> list[str]:
    """Return the decisions of which anna has got messages."""
    gather_messages(house)
    with tenant_scope(house):
        found = Message.objects.filter(kind=MessageKind.DECIDED, recipient__key=f"user:{ID['anna']}")
        return [each["decision"] for each in found.values_list("data", flat=True)]


def open_tasks(house: Storage) -> set[str]:
    with tenant_scope(house):
        return {str(each) for each in Task.objects.filter(state="open").values_list("id", flat=True)}


def mailed_tasks(house: Storage, clock: SettableClock) -> dict[str, list[str]]:
    """Return the open tasks that the mails of the approvers link to, by person."""
    with tenant_scope(house):
        make_mails(house, clock.moment, is_daily=False)
        mails = {NAMES[each.recipient.key]: compose(house, each) for each in OutgoingMail.objects.all()}
    ids = open_tasks(house)
    return {name: [id for id in ids if mail and id in str(mail.body)] for name, mail in mails.items()}


@pytest.mark.long
def test_every_approver_gets_one_message_for_all_approvals(
    house: Storage, desk: MakeClient, clock: SettableClock
) -> None:
    for name in ("ben", "dora", "cora"):
        member(house, *PEOPLE[name], user=name, username=name, email=f"{name}@example.org")
    with_approvals(house, 2)
    submit(desk(user="anna"))
    assert len(open_tasks(house)) == 2
    each_once = {"ben": 1, "dora": 1, "cora": 1}
    assert told(house, MessageKind.TASK) == each_once
    with tenant_scope(house):
        Task.objects.filter(state="open").update(due_on=clock.moment + timedelta(hours=2))
        tell_of_due_tasks(house, clock.moment, None)
        [shown] = {
            each["task"] for each in Message.objects.filter(kind=MessageKind.TASK).values_list("data", flat=True)
        }
    assert told(house, MessageKind.REMINDER) == each_once
    # The messages of the others name the task that ben accepts. Their mails lead to the one that is left.
    done(act(desk(user="ben"), shown, "accept"))
    [left] = open_tasks(house)
    assert mailed_tasks(house, clock) == {"ben": [], "dora": [left], "cora": [left]}
    assert decisions(house) == []
    done(act(desk(user="dora"), left, "accept"))
    assert mailed_tasks(house, clock) == {"ben": [], "dora": [], "cora": []}
    assert decisions(house) == ["accepted"]


def test_a_mail_leaves_out_a_task_that_somebody_else_got(
    house: Storage, desk: MakeClient, clock: SettableClock
) -> None:
    for name in ("ben", "dora"):
        member(house, *PEOPLE[name], user=name, username=name, email=f"{name}@example.org")
    appoint(house, "inProcess-1", reviewer=["ben"])
    anna = desk(user="anna")
    submit(anna)
    assert told(house, MessageKind.TASK) == {"ben": 1}
    task = tasks_of(anna)["ben"]
    done(act(desk(user="ben"), task, "delegate", assignee=ID["dora"]))
    assert told(house, MessageKind.TASK) == {"ben": 1, "dora": 1}
    assert mailed_tasks(house, clock) == {"ben": [], "dora": [task]}


def test_a_task_that_comes_back_is_one_message(house: Storage, desk: MakeClient) -> None:
    appoint(house, "inProcess-1", reviewer=["ben"])
    anna = desk(user="anna")
    submit(anna)
    task = tasks_of(anna)["ben"]
    for name, other in (("ben", "dora"), ("dora", "ben")):
        done(act(desk(user=name), task, "delegate", assignee=ID[other]))
    assert told(house, MessageKind.TASK) == {"ben": 1}


@pytest.mark.parametrize("verb", ["reject", "accept"])
def test_the_requester_gets_one_answer(house: Storage, desk: MakeClient, verb: str) -> None:
    appoint(house, "inProcess-1", reviewer=["ben", "dora"])
    anna = desk(user="anna")
    submit(anna)
    tasks = tasks_of(anna)
    assert told(house, MessageKind.TASK) == {"ben": 1, "dora": 1}
    done(act(desk(user="ben"), tasks["ben"], "accept"))
    assert decisions(house) == []
    done(act(desk(user="dora"), tasks["dora"], verb, comment="So be it."))
    assert decisions(house) == [f"{verb}ed"]


def test_an_approval_is_no_answer_if_the_version_moves_without_the_others(house: Storage, desk: MakeClient) -> None:
    appoint(house, "inProcess-1", reviewer=["ben", "dora"])
    anna = desk(user="anna")
    submit(anna)
    done(act(desk(user="ben"), tasks_of(anna)["ben"], "accept"))
    desk(user="cora").applied("inProcess", "InReviewToInProcess")
    assert decisions(house) == ["obsolete"]
