"""Jobs of messages: only storages with something to tell are visited, and mails that wait have a job."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from datetime import UTC, date, datetime
from uuid import UUID

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import DjangoCaptureOnCommitCallbacks
from structlog.testing import capture_logs

from elements.models import ElementVersion
from release.messages import gathering, sending
from release.messages.deciders import Deciders
from release.messages.mail_addresses import mail_address_link
from release.messages.periodic import tell_everybody, tell_of_events
from release.messages.sending import make_mails, send_mails
from release.models import Task
from storage.access.memberships import MembershipTerms, admit, change_membership
from storage.events import recording
from storage.jobs.enqueueing import MAIL, NETWORK, QUEUE, TEXTS
from storage.jobs.worker import places_of
from storage.messages.writing import NewMessage, add_messages
from storage.models import (
    MailTime,
    Message,
    MessageKind,
    MessageLog,
    OutgoingMail,
    QueuedJob,
    Recipient,
    StaffAccount,
    Storage,
    StorageMembership,
    Subscription,
)
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.factories import StaffAccountFactory
from tests.mail_server import MailRoom
from tests.release.house import ID, MakeClient
from tests.release.settable_clock import SettableClock
from tests.release.task_calls import act, appoint, done
from tests.release.task_pages import text_of
from tests.scale import scaled

Deliver = Callable[[], None]
SignIn = Callable[..., Client]


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> SettableClock:
    return SettableClock.install(monkeypatch, "2026-07-01T04:00:00+00:00")


def minutes_until_sending() -> list[int]:
    """Return the minutes until the jobs that send mails. Their times are those of the database (D377)."""
    times = [each.scheduled_at for each in QueuedJob.objects.filter(name="messages.send")]
    return [round((each - datetime.now(UTC)).total_seconds() / 60) for each in times if each]


def test_events_start_the_job_that_makes_messages(
    house: Storage, desk: MakeClient, staff: SignIn, deliver: Deliver
) -> None:
    assert (tell_of_events.after_events, tell_everybody.cron) == (20.0, "0,30 * * * *")
    staff("ben")
    desk(user="anna").applied("released", "ReleasedToRequestToExpire")
    tell_of_events(house)
    tell_of_events(house)
    with tenant_scope(house):
        assert [each.kind for each in Message.objects.filter(recipient__key=f"user:{ID['ben']}")] == ["task"]


def test_mails_that_wait_have_a_job_for_their_next_attempt(
    room: MailRoom, house: Storage, staff: SignIn, deliver: Deliver, clock: SettableClock
) -> None:
    staff("ben")
    with tenant_scope(house):
        ben = Recipient.objects.create(key=f"user:{ID['ben']}")
        mail = OutgoingMail.objects.create(recipient=ben, made_on=clock.moment, due_on=clock.moment)
        Message.objects.create(
            recipient=ben, kind=MessageKind.INVITED, cause=ID["ben"], made_on=clock.moment, data={"roles": []},
            mail_time=MailTime.NOW, mail=mail,
        )  # fmt: skip
    room.answers["ben@example.org"] = "451 4.2.1 Mailbox busy"
    deliver()
    assert minutes_until_sending() == [1]
    with tenant_scope(house):
        MessageLog.objects.update(failures=5, resume_on="2026-07-01T04:16:00Z")
    QueuedJob.objects.all().delete()
    # The server has a pause: nothing is tried, and the job is not lost.
    clock.set("2026-07-01T04:02:00+00:00")
    send_mails(house)
    with tenant_scope(house):
        assert OutgoingMail.objects.get().attempts == 1
    assert minutes_until_sending() == [14]
    QueuedJob.objects.all().delete()
    room.answers.clear()
    clock.set("2026-07-01T04:16:00+00:00")
    deliver()
    assert (len(room.empty()), minutes_until_sending()) == (1, [])


def test_a_stopped_kind_is_not_mailed_later(
    room: MailRoom, house: Storage, desk: MakeClient, staff: SignIn, deliver: Deliver, clock: SettableClock
) -> None:
    ben = staff("ben")
    room.answers["ben@example.org"] = "451 4.2.1 Mailbox busy"
    desk(user="anna").applied("released", "ReleasedToRequestToExpire")
    deliver()
    assert ben.post("/acme/house/account/", {"task": "never"}).status_code == 302
    room.answers.clear()
    clock.set("2026-07-01T04:02:00+00:00")
    deliver()
    assert room.empty() == []


def test_deputies_are_told_of_tasks_that_the_assignee_cannot_decide(
    house: Storage, desk: MakeClient, deliver: Deliver
) -> None:
    deputies = {"eve": ["dora"], "ben": ["cora"]}
    for name, version in (("eve", "released-1"), ("ben", "inEffect-1")):
        appoint(house, version, owner=[name])
        appoint(house, name, deputies=deputies[name])
    anna = desk(user="anna")
    anna.applied("released", "ReleasedToRequestToExpire")
    anna.applied("inEffect", "InEffectToRequestToExpire")
    deliver()
    with tenant_scope(house):
        told = {(str(each.version_id), each.recipient.key) for each in Message.objects.select_related("recipient")}
    # Eve is inactive; ben can decide himself.
    assert told == {(ID["released-1"], f"user:{ID['dora']}"), (ID["inEffect-1"], f"user:{ID['ben']}")}


def test_many_versions_that_end_are_told_in_batches(
    house: Storage, deliver: Deliver, clock: SettableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []

    def count(storage: Storage, versions: dict[str, str]) -> dict[str, list[str]]:
        sizes.append(len(versions))
        return {each: [f"user:{ID['ben']}"] for each in versions}

    monkeypatch.setattr(gathering, "BATCH", 2)
    monkeypatch.setattr(gathering, "concerned_by", count)
    with tenant_scope(house):
        ElementVersion.objects.filter(category="published").update(valid_until="2026-07-20T00:00:00Z")
        number = ElementVersion.objects.filter(category="published").count()
        gathering.tell_of_endings(house, clock.moment)
        assert Message.objects.filter(kind=MessageKind.EXPIRING).count() == number
    assert (len(sizes) > 1, max(sizes), sum(sizes)) == (True, 2, number)


def test_many_events_are_read_by_several_jobs(
    room: MailRoom, house: Storage, desk: MakeClient, staff: SignIn, deliver: Deliver, monkeypatch: pytest.MonkeyPatch
) -> None:
    staff("ben")
    anna = desk(user="anna")
    anna.applied("released", "ReleasedToRequestToExpire")
    anna.applied("inEffect", "InEffectToRequestToExpire")
    monkeypatch.setattr(gathering, "BATCH", 1)
    monkeypatch.setattr(gathering, "BATCHES", 1)
    deliver()
    with tenant_scope(house):
        assert Message.objects.exists()
    assert QueuedJob.objects.filter(name="messages.gather").count() == 1
    assert room.empty() == []
    while QueuedJob.objects.filter(name="messages.gather").exists():
        deliver()
    deliver()
    [(_, mail)] = room.empty()
    assert mail["Subject"] == "2 messages from house"


def test_a_decided_task_is_not_mailed_in_the_morning(
    room: MailRoom, house: Storage, desk: MakeClient, staff: SignIn, deliver: Deliver, clock: SettableClock
) -> None:
    ben = staff("ben")
    ben.post("/acme/house/account/", {"task": "daily"})
    anna = desk(user="anna")
    anna.applied("released", "ReleasedToRequestToExpire")
    anna.applied("inEffect", "InEffectToRequestToExpire")
    deliver()
    [task] = [each["id"] for each in desk(user="ben").tasks(f"?element={ID['released']}")]
    assert desk(user="ben").post(f"rest/tasks/{task}/reject", {"comment": "No."}).status_code == 200
    clock.set("2026-07-01T06:00:00+00:00")
    deliver()
    assert [mail["Subject"] for _, mail in room.empty()] == ["Please decide: Approve expiry, inEffect-1"]


def test_only_one_job_at_a_time_makes_mails(
    room: MailRoom, house: Storage, desk: MakeClient, staff: SignIn, deliver: Deliver, clock: SettableClock
) -> None:
    staff("ben")
    desk(user="anna").applied("released", "ReleasedToRequestToExpire")
    gathering.gather_messages(house)
    with tenant_scope(house):
        with CaptureQueriesContext(connection) as statements:
            make_mails(house, clock.moment, is_daily=False)
        make_mails(house, clock.moment, is_daily=False)
        assert OutgoingMail.objects.count() == 1
    tables = [each["sql"] for each in statements]
    locked = next(place for place, sql in enumerate(tables) if "storage_messagelog" in sql and "FOR UPDATE" in sql)
    read = next(place for place, sql in enumerate(tables) if "DISTINCT" in sql and "storage_message" in sql)
    assert locked < read


def test_a_user_keeps_what_the_account_had(house: Storage, staff: SignIn) -> None:
    staff("cora")
    staff("ben", username="new")
    boss = StaffAccount.objects.get(username="cora")
    made = StorageMembership.objects.get(account__username="new")
    own, ben = f"staff:{made.account_id}", f"user:{ID['ben']}"
    StorageMembership.objects.filter(pk=made.pk).update(user_id=None)
    made.refresh_from_db()
    with tenant_scope(house):
        kept = Recipient.objects.create(key=own, preferences={"task": "never"})
    change_membership(made, MembershipTerms([Role.EDITOR], UUID(ID["ben"])), boss)
    with tenant_scope(house):
        assert list(Recipient.objects.values_list("id", "key")) == [(kept.id, ben)]
        other = Recipient.objects.create(key=own)
    change_membership(made, MembershipTerms([Role.EDITOR], UUID(ID["ben"])), boss)
    with tenant_scope(house):
        assert dict(Recipient.objects.values_list("id", "key")) == {kept.id: ben, other.id: own}


def test_an_account_that_has_got_a_user_hears_of_its_request(
    house: Storage, desk: MakeClient, staff: SignIn, deliver: Deliver
) -> None:
    client = staff("new", Role.ARCHITECT)
    with tenant_scope(house):
        revision = ElementVersion.objects.get(id=ID["released-1"]).revision
    address = f"/acme/house/admin/elements/element/{ID['released']}/transition/"
    client.post(address, {"transition": "ReleasedToRequestToExpire", "revision": str(revision)})
    StorageMembership.objects.filter(account__username="new").update(user_id=ID["dora"])
    ben = desk(user="ben")
    (task,) = ben.tasks(f"?element={ID['released']}")
    done(act(ben, task["id"], "reject", comment="No."))
    deliver()
    with tenant_scope(house):
        told = Message.objects.filter(kind=MessageKind.DECIDED).values_list("recipient__key", flat=True)
        assert list(told) == [f"user:{ID['dora']}"]


def test_a_mail_that_cannot_be_written_does_not_stop_others(
    room: MailRoom, house: Storage, desk: MakeClient, staff: SignIn, deliver: Deliver
) -> None:
    staff("ben", email=f"ben@{'ü' * 60}.example")
    staff("dora")
    appoint(house, "inEffect-1", owner=["dora"])
    anna = desk(user="anna")
    anna.applied("released", "ReleasedToRequestToExpire")
    deliver()
    anna.applied("inEffect", "InEffectToRequestToExpire")
    deliver()
    assert [address for address, _ in room.empty()] == ["dora@example.org"]
    with tenant_scope(house):
        assert [each.failed_on is None for each in OutgoingMail.objects.order_by("sent_on")] == [True, False]


def test_a_mail_that_cannot_be_composed_does_not_stop_others(
    room: MailRoom, house: Storage, desk: MakeClient, staff: SignIn, deliver: Deliver, clock: SettableClock
) -> None:
    staff("ben")
    cora = staff("cora")
    appoint(house, "inEffect-1", owner=["dora"])
    staff("dora")
    anna = desk(user="anna")
    anna.applied("released", "ReleasedToRequestToExpire")
    anna.applied("inEffect", "InEffectToRequestToExpire")
    gathering.gather_messages(house)
    of_ben = Message.objects.filter(recipient__key=f"user:{ID['ben']}")
    with tenant_scope(house):
        message = of_ben.get()
        of_ben.update(data={"task": message.data["task"]})
    with capture_logs() as logs:
        deliver()
    assert [each["event"] for each in logs if each["event"].startswith("mail")] == ["mail not composed"]
    assert [address for address, _ in room.empty()] == ["dora@example.org"]
    with tenant_scope(house):
        mail = OutgoingMail.objects.get(sent_on=None)
        assert (mail.error, mail.attempts, mail.failed_on) == ("Not composed: KeyError", 1, None)
        OutgoingMail.objects.filter(sent_on=None).update(attempts=7)
    clock.set("2026-07-01T04:02:00+00:00")
    deliver()
    with tenant_scope(house):
        assert OutgoingMail.objects.get(sent_on=None).failed_on == clock.moment
        of_ben.update(data=message.data)
    # Administrators see it, and send it again after the fault is mended.
    assert "Not composed: KeyError" in text_of(cora.get("/acme/house/admin/messages/"))
    assert cora.post(f"/acme/house/admin/messages/mails/{mail.id}/again/").status_code == 302
    deliver()
    assert [address for address, _ in room.empty()] == ["ben@example.org"]


def test_mails_share_few_connections() -> None:
    assert (send_mails.queue, mail_address_link.queue) == (MAIL, MAIL)
    assert places_of(2) == {QUEUE: 2, NETWORK: 128, MAIL: 3, TEXTS: 2}


def test_only_ends_that_came_closer_are_read(
    house: Storage, deliver: Deliver, clock: SettableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[list[str]] = []
    monkeypatch.setattr(gathering, "_tell_of_ends", lambda storage, rows: read.append(sorted(row[0] for row in rows)))
    with tenant_scope(house):
        for name, end in (("released-1", "2026-07-10"), ("inEffect-1", "2026-07-30T12:00")):
            ElementVersion.objects.filter(id=ID[name]).update(valid_until=f"{end}Z" if "T" in end else f"{end}T00:00Z")
        gathering.tell_of_endings(house, clock.moment, None)
        gathering.tell_of_endings(house, clock.moment, date(2026, 6, 30))
        # The worker has not run for some weeks.
        gathering.tell_of_endings(house, clock.moment, date(2026, 5, 1))
        recipient = Recipient.objects.create(key=f"user:{ID['ben']}")
        Subscription.objects.create(
            recipient=recipient, element_id=ID["released"], is_subtree=False, created_on="2026-06-30T20:00Z"
        )
        gathering.tell_of_endings(house, clock.moment, date(2026, 6, 30))
    both = sorted([ID["released-1"], ID["inEffect-1"]])
    assert read == [both, [ID["inEffect-1"]], both, both]


def test_approvers_are_reminded_before_a_task_is_due(
    house: Storage, desk: MakeClient, deliver: Deliver, clock: SettableClock
) -> None:
    desk(user="anna").applied("released", "ReleasedToRequestToExpire")
    with tenant_scope(house):
        Task.objects.filter(state=Task.State.OPEN).update(due_on="2026-07-03T12:00Z")
    told: list[list[str]] = []
    for day in (1, 2, 3, 4):
        clock.set(f"2026-07-0{day}T06:00:00+00:00")
        deliver()
        with tenant_scope(house):
            reminders = Message.objects.filter(kind=MessageKind.REMINDER).select_related("recipient")
            told.append([each.recipient.key for each in reminders])
    ben = f"user:{ID['ben']}"
    assert told == [[], [], [ben], [ben]]


@pytest.mark.long
@pytest.mark.django_db
def test_many_messages_need_little_memory(house: Storage) -> None:
    """An import below an element with many subscribers."""
    count = scaled(10_000)
    new = [NewMessage(f"staff:{each % 50}", MessageKind.RELEASED, UUID(int=each)) for each in range(count)]
    tracemalloc.start()
    try:
        with tenant_scope(house):
            add_messages(new)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()
    with tenant_scope(house):
        assert Message.objects.count() == count


def test_old_messages_are_deleted_in_batches(
    house: Storage, deliver: Deliver, clock: SettableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "DELETED", 2)
    with tenant_scope(house):
        ben = Recipient.objects.create(key=f"user:{ID['ben']}")
        for number, day in enumerate(("01", "01", "01", "01", "02"), 1):
            mail = OutgoingMail.objects.create(recipient=ben, made_on=f"2026-03-{day}T00:00Z", due_on=clock.moment)
            Message.objects.create(
                recipient=ben, kind=MessageKind.INVITED, cause=f"00000000-0000-4000-9000-{number:012x}", mail=mail,
                made_on=f"2026-03-{day}T00:00Z", data={"roles": []}, mail_time=MailTime.NOW,
            )  # fmt: skip
    with CaptureQueriesContext(connection) as statements:
        sending.forget_old_messages(house, datetime(2026, 3, 2, tzinfo=UTC))
    deleted = [each["sql"] for each in statements if each["sql"].startswith("DELETE")]
    assert len(deleted) == 4
    with tenant_scope(house):
        assert (Message.objects.count(), OutgoingMail.objects.count()) == (1, 1)


def test_only_accounts_that_can_sign_in_are_asked(house: Storage, staff: SignIn) -> None:
    for name, fields in (("nina", {}), ("otto", {"is_staff": False}), ("paul", {"is_active": False})):
        staff(name, Role.APPROVER, **fields)
    staff("vic", Role.VIEWER)
    nina = StaffAccount.objects.get(username="nina")
    with tenant_scope(house):
        assert Deciders(house, []).staff == [f"staff:{nina.pk}"]


def test_a_new_membership_is_announced(
    house: Storage,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
    db: None,
) -> None:
    announced: list[list[str]] = []
    monkeypatch.setattr(recording, "announce", announced.append)
    StaffAccountFactory.create(username="new")
    with django_capture_on_commit_callbacks(execute=True):
        boss = StaffAccountFactory.create(is_superuser=True)
        admit(house, "new", "", MembershipTerms([Role.EDITOR]), boss)
    assert announced == [[str(house.pk)]]
