"""Mails about messages, as a real SMTP server gets them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings
from structlog.testing import capture_logs

from release.messages.mail_links import unsubscribe_path
from release.models import Task
from storage.models import MailTime, Message, MessageKind, MessageLog, OutgoingMail, Recipient, Storage
from storage.tenancy.scope import tenant_scope
from tests.mail_server import MailRoom, seen, stop_link
from tests.release.house import ID, MakeClient
from tests.release.messages.conftest import PUBLIC
from tests.release.settable_clock import SettableClock
from tests.server_process import free_port

EARLY = "2026-07-01T04:00:00+00:00"
"""Six o'clock in Berlin, before the daily mails."""
MORNING = "2026-07-01T05:01:00+00:00"
ASK = "ReleasedToRequestToExpire"
Deliver = Callable[[], None]
SignIn = Callable[..., Client]


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> SettableClock:
    return SettableClock.install(monkeypatch, EARLY)


@pytest.fixture
def task(house: Storage, desk: MakeClient, staff: SignIn, deliver: Deliver) -> Callable[[], str]:
    """Anna asks ben, the owner, to let a version expire. Return the id of the task."""
    staff("ben")
    staff("anna")
    deliver()

    def ask() -> str:
        desk(user="anna").applied("released", ASK, body={"comment": "No longer\nneeded."})
        return open_task(house)

    return ask


def open_task(house: Storage) -> str:
    with tenant_scope(house):
        return str(Task.objects.get(state=Task.State.OPEN).id)


def statuses(house: Storage) -> list[tuple[str, int, bool, bool]]:
    with tenant_scope(house):
        rows = OutgoingMail.objects.order_by("made_on", "id")
        return [(each.error, each.attempts, bool(each.sent_on), bool(each.failed_on)) for each in rows]


def test_a_task_is_a_mail_at_once(room: MailRoom, task: Callable[[], str], deliver: Deliver) -> None:
    number = task()
    deliver()
    deliver()
    [(address, mail)] = room.empty()
    address_of_task = f"{PUBLIC}/acme/house/admin/release/task/{number}/change/"
    stop = f"{PUBLIC}/acme/house/unsubscribe/SIGNED"
    found = seen(mail)
    markup = found.pop("html")
    assert address == "ben@example.org"
    assert found.pop("Message-ID").endswith("@repository.example.org>")
    assert found == {
        "MIME-Version": "1.0",
        "Subject": "Please decide: Approve expiry, released-1",
        "From": "repository@localhost",
        "To": "ben@example.org",
        "Auto-Submitted": "auto-generated",
        "List-Unsubscribe": f"<{stop}>",
        "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
        "Content-Language": "en",
        "text": (
            "Please decide: Approve expiry, released-1\n"
            "Requested by Anna on 1 July 2026.\n"
            "Reason: No longer\nneeded.\n"
            f"{address_of_task}\n"
            "\n"
            "-- \n"
            "This mail is from house.\n"
            f"Choose your mails: {PUBLIC}/acme/house/account/\n"
            f"Stop mails of this kind: {stop}\n"
        ),
    }
    assert markup == (
        '<!doctype html>\n<html lang="en">\n<head>\n  <meta charset="utf-8">\n'
        '  <meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '  <meta name="color-scheme" content="light dark">\n'
        "  <title>Please decide: Approve expiry, released-1</title>\n</head>\n"
        '<body style="font-family: sans-serif; line-height: 1.5; max-width: 40em; margin: 0 auto; padding: 1em;">\n'
        '  <div style="margin: 0 0 1.5em;">\n'
        f'    <p style="margin: 0;"><a href="{address_of_task}" style="font-weight: bold;">Please decide: Approve expiry,'
        " released-1</a></p>\n"
        '    <p style="margin: 0;">Requested by Anna on 1 July 2026.</p>\n'
        '    <p style="margin: 0;">Reason: No longer<br>needed.</p>\n'
        "    </div>\n"
        '  <hr>\n  <p style="font-size: 0.875em;">This mail is from house.\n'
        f'    <a href="{PUBLIC}/acme/house/account/">Choose your mails</a> ·'
        f' <a href="{stop}">Stop mails of this kind</a></p>\n'
        "</body>\n</html>\n"
    )


def test_a_mail_is_in_the_language_of_its_reader(
    room: MailRoom, house: Storage, desk: MakeClient, staff: SignIn, deliver: Deliver
) -> None:
    staff("ben", language="de")
    deliver()
    desk(user="anna").applied("released", ASK)
    deliver()
    [(_, mail)] = room.empty()
    found = seen(mail)
    assert found["Subject"] == "Bitte entscheiden: Ablauf genehmigen, released-1 deutsch"
    assert found["Content-Language"] == "de"
    assert "Beantragt von Anna am 1. Juli 2026." in found["text"]
    assert '<html lang="de">' in found["html"]
    assert "Mails dieser Art abbestellen" in found["html"]


def test_a_reminder_and_a_decision(
    room: MailRoom, task: Callable[[], str], desk: MakeClient, staff: SignIn, deliver: Deliver
) -> None:
    number = task()
    deliver()
    room.empty()
    cora = staff("cora")
    cora.post("/acme/house/admin/release/task/step/remind/", {"task": number, "comment": "Hurry"})
    deliver()
    [(reminded, reminder)] = room.empty()
    assert (reminded, reminder["Subject"]) == ("ben@example.org", "Reminder: Approve expiry, released-1")
    assert desk(user="ben").post(f"rest/tasks/{number}/reject", {"comment": "Still used."}).status_code == 200
    deliver()
    [(told, decision)] = room.empty()
    assert (told, decision["Subject"]) == ("anna@example.org", "Rejected: Approve expiry, released-1")
    assert "By Ben.\nReason: Still used.\n" in seen(decision)["text"]


def test_owners_and_subscribers_hear_of_a_release_in_one_daily_mail(
    room: MailRoom, house: Storage, desk: MakeClient, staff: SignIn, deliver: Deliver, clock: SettableClock
) -> None:
    staff("ben")
    staff("vera")
    deliver()
    vera = desk(user="vera")
    assert vera.post(f"v1/subscriptions/{ID['house']}", {"subtree": True}).status_code == 200
    cora = desk(user="cora")
    for name in ("inProcess", "readyForRelease"):
        cora.applied(name, {"inProcess": "InProcessToReleased"}.get(name, "ReadyForReleaseToReleased"))
    deliver()
    assert room.empty() == []
    clock.set(MORNING)
    deliver()
    deliver()
    mails = {address: seen(mail) for address, mail in room.empty()}
    assert {address: mail["Subject"] for address, mail in mails.items()} == {
        "ben@example.org": "2 messages from house",
        "vera@example.org": "2 messages from house",
    }
    # A viewer does not learn who it was, and gets the address of the reader page.
    text = mails["vera@example.org"]["text"]
    assert text.startswith(
        "Released: inProcess-1, version 1.0\nhttps://repository.example.org/acme/house/1033/processes/"
    )
    assert f"Choose your mails: {PUBLIC}/acme/house/account/\n" in text
    assert "Cora" not in text
    assert mails["ben@example.org"]["text"].startswith("Released: inProcess-1, version 1.0\nBy Cora.\nhttps://")


def test_the_end_of_a_version_is_told_once(
    room: MailRoom, house: Storage, desk: MakeClient, staff: SignIn, deliver: Deliver, clock: SettableClock
) -> None:
    staff("ben")
    desk(user="anna").applied("released", ASK, body={"validUntil": "2026-07-20T00:00:00"})
    assert desk(user="ben").post(f"rest/tasks/{open_task(house)}/accept").status_code == 200
    for day in range(1, 5):
        clock.set(f"2026-07-0{day}T06:00:00+00:00")
        deliver()
    [(address, mail)] = [each for each in room.empty() if "Ends" in each[1]["Subject"]]
    assert (address, mail["Subject"]) == ("ben@example.org", "Ends on 20 July 2026: released-1")


@pytest.mark.long
@pytest.mark.on_cluster
def test_an_import_of_many_versions_is_one_mail(
    room: MailRoom, house: Storage, staff: SignIn, deliver: Deliver, clock: SettableClock
) -> None:
    staff("ben")
    deliver()
    with tenant_scope(house):
        ben = Recipient.objects.create(key=f"user:{ID['ben']}", preferences={"released": "now"})
        rows = [
            Message(
                recipient=ben, kind=MessageKind.RELEASED, cause=f"00000000-0000-4000-9000-{number:012x}",
                made_on=clock.moment, element_id=ID["order"], version_id=ID["order-2"],
                data={"version": "2.0", "person": "", "label": "import"}, mail_time=MailTime.NOW,
            )
            for number in range(10_000)
        ]  # fmt: skip
        Message.objects.bulk_create(rows, batch_size=1000)
    deliver()
    [(_, mail)] = room.empty()
    assert mail["Subject"] == "10000 messages from house"
    text = seen(mail)["text"]
    assert text.count("Released: order-2, version 2.0") == 50
    assert f"and 9950 more: {PUBLIC}/acme/house/admin/messages/" in text


@pytest.mark.long
def test_a_person_gets_ten_mails_an_hour(
    room: MailRoom, house: Storage, staff: SignIn, deliver: Deliver, clock: SettableClock
) -> None:
    staff("ben")
    deliver()
    for number in range(15):
        with tenant_scope(house):
            ben, _ = Recipient.objects.get_or_create(key=f"user:{ID['ben']}")
            Message.objects.create(
                recipient=ben, kind=MessageKind.INVITED, cause=f"00000000-0000-4000-9000-{number:012x}",
                made_on=clock.moment, data={"roles": ["editor"]}, mail_time=MailTime.NOW,
            )  # fmt: skip
        deliver()
    assert len(room.empty()) == 10
    clock.set("2026-07-01T05:00:00+00:00")
    with tenant_scope(house):
        MessageLog.objects.update(daily_on="2026-07-01")
    deliver()
    [(_, mail)] = room.empty()
    assert mail["Subject"] == "5 messages from house"


def test_a_deferred_mail_is_sent_later(
    room: MailRoom, house: Storage, task: Callable[[], str], deliver: Deliver, clock: SettableClock
) -> None:
    room.answers["ben@example.org"] = "451 4.2.1 Mailbox busy"
    task()
    deliver()
    deliver()
    assert statuses(house) == [("451 4.2.1 Mailbox busy", 1, False, False)]
    clock.set("2026-07-01T04:02:00+00:00")
    deliver()
    assert statuses(house) == [("451 4.2.1 Mailbox busy", 2, False, False)]
    room.answers.clear()
    clock.set("2026-07-01T04:04:00+00:00")
    deliver()
    assert room.empty() == []
    clock.set("2026-07-01T04:08:00+00:00")
    deliver()
    assert [address for address, _ in room.empty()] == ["ben@example.org"]
    assert statuses(house) == [("", 3, True, False)]


def test_an_unknown_address_gets_no_further_mail_until_it_changes(
    room: MailRoom, house: Storage, task: Callable[[], str], staff: SignIn, desk: MakeClient, deliver: Deliver
) -> None:
    room.answers["ben@example.org"] = "550 5.1.1 No such user"
    task()
    deliver()
    refused = [("550 5.1.1 No such user", 1, False, True)]
    assert statuses(house) == refused
    room.answers.clear()
    desk(user="anna").applied("inEffect", "InEffectToRequestToExpire")
    deliver()
    assert (room.empty(), statuses(house)) == ([], refused)
    page = staff("cora").get("/acme/house/admin/messages/").content.decode()
    assert "ben@example.org" in page
    assert "550 5.1.1 No such user" in page


def test_a_mail_that_the_server_refuses_says_nothing_about_the_address(
    room: MailRoom, house: Storage, task: Callable[[], str], desk: MakeClient, deliver: Deliver
) -> None:
    room.data_answer = "554 5.7.1 Looks like spam"
    task()
    deliver()
    assert statuses(house) == [("554 5.7.1 Looks like spam", 1, False, True)]
    room.data_answer = "250 OK"
    desk(user="anna").applied("inEffect", "InEffectToRequestToExpire")
    deliver()
    assert len(room.empty()) == 1


def test_a_mail_that_is_too_large_does_not_stop_others(
    room: MailRoom, house: Storage, task: Callable[[], str], desk: MakeClient, deliver: Deliver
) -> None:
    room.sender_answer = "552 5.3.4 Message too big for system"
    task()
    with capture_logs() as logs:
        deliver()
    assert statuses(house) == [("552 5.3.4 Message too big for system", 1, False, True)]
    assert [(each["event"], each["reason"]) for each in logs if each["event"].startswith("mail")] == [
        ("mail not sent", "552")
    ]
    room.sender_answer = "250 OK"
    desk(user="anna").applied("inEffect", "InEffectToRequestToExpire")
    deliver()
    assert len(room.empty()) == 1


def test_logs_have_no_addresses(room: MailRoom, task: Callable[[], str], deliver: Deliver) -> None:
    room.answers["ben@example.org"] = "550 5.1.1 <ben@example.org>: no such user"
    task()
    with capture_logs() as logs:
        deliver()
    assert [each["reason"] for each in logs if each["event"] == "mail not sent"] == ["550"]
    assert "ben@" not in str(logs)


@pytest.mark.long
@pytest.mark.parametrize("is_hanging", [True, False])
def test_a_server_that_does_not_answer_gets_a_growing_pause(
    is_hanging: bool,
    room: MailRoom,
    house: Storage,
    task: Callable[[], str],
    deliver: Deliver,
    clock: SettableClock,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from repository_site.core.environment import mail_server

    working = settings.MAIL_SERVER
    monkeypatch.setattr(mail_server.MailServer.connect, "__defaults__", (0.2,))
    room.hangs = is_hanging
    if not is_hanging:
        settings.MAIL_SERVER = mail_server.MailServer("127.0.0.1", free_port(), "", "", False, False)
    task()
    for minute in (0, 1, 2, 3):
        clock.set(f"2026-07-01T04:0{minute}:00+00:00")
        deliver()
    with tenant_scope(house):
        log = MessageLog.objects.get()
    # Attempts at 04:00, 04:01 and 04:03; the next one is four minutes later.
    assert (log.failures, str(log.resume_on)) == (3, "2026-07-01 04:07:00+00:00")
    assert log.problem.startswith(("SMTPServerDisconnected: ", "ConnectionRefusedError: ", "TimeoutError: "))
    assert statuses(house) == [("", 0, False, False)]
    room.hangs, settings.MAIL_SERVER = False, working
    monkeypatch.setattr(mail_server.MailServer.connect, "__defaults__", (mail_server.TIMEOUT,))
    clock.set("2026-07-01T04:07:00+00:00")
    deliver()
    assert len(room.empty()) == 1
    with tenant_scope(house):
        log = MessageLog.objects.get()
    assert (log.failures, log.resume_on, log.problem) == (0, None, "")


def test_a_worker_that_dies_after_sending_repeats_the_same_mail(
    room: MailRoom, house: Storage, task: Callable[[], str], deliver: Deliver, monkeypatch: pytest.MonkeyPatch
) -> None:
    from release.messages import sending

    def die(*given: Any) -> None:
        raise SystemExit

    task()
    with monkeypatch.context() as patch, pytest.raises(SystemExit):
        patch.setattr(sending, "_record", die)
        deliver()
    sending.send_mails(house)
    first, second = (mail["Message-ID"] for _, mail in room.empty())
    assert first == second
    sending.send_mails(house)
    assert room.empty() == []


def test_one_click_stops_the_kind_of_a_mail(
    room: MailRoom, house: Storage, task: Callable[[], str], desk: MakeClient, deliver: Deliver
) -> None:
    task()
    deliver()
    [(_, mail)] = room.empty()
    path = stop_link(mail).removeprefix(PUBLIC)
    visitor = Client(enforce_csrf_checks=True)
    page = visitor.get(path)
    assert page.status_code == 200
    assert "A task for me" in page.content.decode()
    with tenant_scope(house):
        assert Recipient.objects.get(key=f"user:{ID['ben']}").preferences == {}
    assert visitor.post(path, {"List-Unsubscribe": "One-Click"}).status_code == 200
    with tenant_scope(house):
        assert Recipient.objects.get(key=f"user:{ID['ben']}").preferences == {"task": "never"}
    desk(user="anna").applied("inEffect", "InEffectToRequestToExpire")
    deliver()
    assert room.empty() == []


def test_links_are_signed_and_belong_to_one_storage(room: MailRoom, house: Storage, rival: Storage) -> None:
    with tenant_scope(house):
        ben = Recipient.objects.create(key=f"user:{ID['ben']}")
    path = unsubscribe_path(house, ben.id, [MessageKind.TASK])
    visitor = Client()
    assert visitor.get(f"/acme/house/{path}").status_code == 200
    assert visitor.post(f"/acme/house/{path}x").status_code == 404
    assert visitor.post(f"/rival/house/{path}").status_code == 404
    assert visitor.delete(f"/acme/house/{path}").status_code == 405


def test_a_name_with_line_breaks_adds_no_header(
    room: MailRoom, house: Storage, task: Callable[[], str], desk: MakeClient, deliver: Deliver
) -> None:
    with tenant_scope(house):
        from elements.models import ElementVersion

        version = ElementVersion.objects.get(id=ID["released-1"])
        version.attributes = {**version.attributes, "name": {"1033": "Hello\r\nBcc: eve@example.org\n\nText"}}
        ElementVersion.objects.filter(id=version.id).update(attributes=version.attributes)
    task()
    deliver()
    [(_, mail)] = room.empty()
    assert mail["Subject"] == "Please decide: Approve expiry, Hello Bcc: eve@example.org Text"
    assert mail["Bcc"] is None


@pytest.mark.parametrize("address", ["", "nobody", "ben@example.org\nBcc: eve@example.org", "bén@example.org"])
def test_an_address_that_is_not_one_gets_no_mail(
    address: str, room: MailRoom, house: Storage, staff: SignIn, desk: MakeClient, deliver: Deliver
) -> None:
    staff("ben", email=address)
    deliver()
    desk(user="anna").applied("released", ASK)
    deliver()
    assert (room.empty(), statuses(house)) == ([], [])
    with tenant_scope(house):
        assert [each.mail_time for each in Message.objects.filter(kind="task")] == [
            MailTime.NEVER
        ] * Message.objects.filter(kind="task").count()


def test_without_a_server_messages_are_only_shown(
    house: Storage, task: Callable[[], str], deliver: Deliver, running_server: Any, settings: Settings
) -> None:
    task()
    deliver()
    settings.MAIL_SERVER, room = running_server
    deliver()
    assert (room.empty(), statuses(house)) == ([], [])
    with tenant_scope(house):
        assert Message.objects.filter(kind=MessageKind.TASK, recipient__key=f"user:{ID['ben']}").count() == 1
