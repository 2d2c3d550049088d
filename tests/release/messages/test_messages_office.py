"""Messages, preferences and subscriptions on the pages of the back office and of readers."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from storage.access.memberships import MembershipTerms, admit
from storage.models import MailTime, Message, MessageKind, OutgoingMail, Recipient, Storage, Subscription
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.factories import StaffAccountFactory
from tests.jobs import waiting_jobs
from tests.mail_server import MailRoom
from tests.release.house import ID, MakeClient
from tests.release.settable_clock import SettableClock
from tests.release.task_pages import signed_in, text_of

OFFICE = "/acme/house/admin/"
MESSAGES = f"{OFFICE}messages/"
PREFERENCES = "/acme/house/account/"
READER = f"/acme/house/1033/processes/{ID['released-1']}"
BUTTON = f"/acme/house/subscriptions/{ID['released']}"
Deliver = Callable[[], None]
SignIn = Callable[..., Client]


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> SettableClock:
    return SettableClock.install(monkeypatch, "2026-07-01T04:00:00+00:00")


def new_badge(page: Any) -> bool:
    """Return whether the navigation shows a number beside the messages."""
    return bool(re.search(r"(?s)My messages\s*</span>\s*<span[^>]*>\s*\d+", page.content.decode()))


def test_a_message_is_shown_until_it_is_read(
    house: Storage, desk: MakeClient, staff: SignIn, deliver: Deliver, rival: Storage
) -> None:
    ben = staff("ben")
    desk(user="anna").applied("released", "ReleasedToRequestToExpire")
    deliver()
    page = ben.get(MESSAGES)
    assert "Please decide: Approve expiry, released-1 (not read)" in text_of(page)
    assert new_badge(page)
    with tenant_scope(house):
        message = Message.objects.get(recipient__key=f"user:{ID['ben']}")
    shown = ben.get(f"{MESSAGES}{message.id}/")
    assert shown["Location"] == f"{OFFICE}release/task/{message.data['task']}/change/"
    assert ben.get(shown["Location"]).status_code == 200
    page = ben.get(MESSAGES)
    assert "(not read)" not in text_of(page)
    assert not new_badge(page)
    assert staff("dora").get(f"{MESSAGES}{message.id}/").status_code == 404


def test_all_messages_can_be_marked_as_read(house: Storage, desk: MakeClient, staff: SignIn, deliver: Deliver) -> None:
    ben, dora = staff("ben"), staff("dora")
    for name, step in (("released", "ReleasedToRequestToExpire"), ("inEffect", "InEffectToRequestToExpire")):
        desk(user="anna").applied(name, step)
    with tenant_scope(house):
        need = Recipient.objects.create(key=f"user:{ID['dora']}")
        Message.objects.create(
            recipient=need, kind=MessageKind.INVITED, cause=ID["dora"], made_on="2026-07-01T00:00Z",
            data={"roles": []}, mail_time=MailTime.NEVER,
        )  # fmt: skip
    deliver()
    assert ben.post(MESSAGES).status_code == 302
    with tenant_scope(house):
        new = Message.objects.filter(read_on=None).values_list("recipient__key", flat=True)
        assert list(new) == [f"user:{ID['dora']}"]
    assert "You are now a member of house" in text_of(dora.get(MESSAGES))


def test_preferences_apply_to_messages_that_wait(
    room: MailRoom, house: Storage, desk: MakeClient, staff: SignIn, deliver: Deliver
) -> None:
    ben = staff("ben")
    page = ben.get(PREFERENCES)
    assert "Mails go to ben@example.org." in text_of(page)
    chosen = dict(re.findall(r'(?s)<select id="kind-(\w+)".*?value="(\w+)" selected', page.content.decode()))
    usual = {
        "task": "now", "reminder": "now", "decided": "now", "released": "daily", "expiring": "daily", "invited": "now",
        "token": "now",
    }  # fmt: skip
    assert chosen == usual
    assert ben.post(PREFERENCES, {**usual, "task": "daily", "reminder": "nonsense"}).status_code == 302
    desk(user="anna").applied("released", "ReleasedToRequestToExpire")
    deliver()
    with tenant_scope(house):
        assert Message.objects.get(recipient__key=f"user:{ID['ben']}").mail_time == MailTime.DAILY
    ben.post(PREFERENCES, {"task": "never"})
    with tenant_scope(house):
        assert Message.objects.get(recipient__key=f"user:{ID['ben']}").mail_time == MailTime.NEVER
    assert room.empty() == []


def test_an_administrator_sends_a_refused_mail_again(
    room: MailRoom, house: Storage, desk: MakeClient, staff: SignIn, deliver: Deliver
) -> None:
    ben, cora = staff("ben"), staff("cora")
    room.answers["ben@example.org"] = "550 5.1.1 No such user"
    desk(user="anna").applied("released", "ReleasedToRequestToExpire")
    deliver()
    assert "The mail server refuses ben@example.org" in text_of(ben.get(PREFERENCES))
    assert "ben@example.org 550 5.1.1 No such user" in text_of(cora.get(MESSAGES))
    assert "No such user" not in text_of(ben.get(MESSAGES))
    with tenant_scope(house):
        address = f"{MESSAGES}mails/{OutgoingMail.objects.get().id}/again/"
    assert ben.post(address).status_code == 403
    room.answers.clear()
    assert cora.post(address).status_code == 302
    assert [name for name, _ in waiting_jobs()] == ["messages.send"]
    deliver()
    assert [address for address, _ in room.empty()] == ["ben@example.org"]


def test_a_new_member_is_told(room: MailRoom, house: Storage, deliver: Deliver) -> None:
    boss = StaffAccountFactory.create(is_superuser=True)
    StaffAccountFactory.create(username="new", email="new@example.org", language="de")
    admit(house, "new", "", MembershipTerms([Role.EDITOR, Role.VIEWER]), boss)
    deliver()
    [(address, mail)] = room.empty()
    assert (address, mail["Subject"]) == ("new@example.org", "Sie sind jetzt Mitglied von house")
    assert "Rollen: Leser, Bearbeiter\nhttps://repository.example.org/acme/house/\n" in str(
        mail.get_body(("plain",)).get_content()  # type: ignore[union-attr]
    ).replace("\r\n", "\n")


def test_a_member_added_by_the_site_is_told(house: Storage, db: None) -> None:
    boss = StaffAccountFactory.create(is_superuser=True)
    account = StaffAccountFactory.create(username="new")
    given = {
        "username": "new", "first_name": "", "last_name": "", "email": "", "language": "", "is_active": "on",
        "memberships-TOTAL_FORMS": 1, "memberships-INITIAL_FORMS": 0,
        "memberships-0-storage": str(house.pk), "memberships-0-roles": ["editor"], "memberships-0-user_id": "",
    }  # fmt: skip
    response = signed_in(boss).post(f"/admin/storage/staffaccount/{account.pk}/change/", given)
    assert response.status_code == 302, text_of(response)
    with tenant_scope(house):
        assert [(each.recipient.key, each.data) for each in Message.objects.select_related("recipient")] == [
            (f"staff:{account.pk}", {"roles": ["editor"]})
        ]


def test_a_reader_subscribes_with_a_button(house: Storage, staff: SignIn) -> None:
    vera = staff("vera")
    page = vera.get(READER).content.decode()
    assert f'action="{BUTTON}"' in page
    assert re.findall(r'name="to" value="(\w+)"', page) == ["element", "subtree"]
    response = vera.post(BUTTON, {"to": "subtree", "next": READER})
    assert response["Location"] == READER
    assert "You subscribe to this element and everything below it." in text_of(vera.get(READER))
    assert vera.post(BUTTON, {"to": "nothing", "next": "https://elsewhere.example/"})["Location"] == "/acme/house/"
    with tenant_scope(house):
        assert not Subscription.objects.exists()
    # A viewer sees no draft.
    assert vera.post(f"/acme/house/subscriptions/{ID['inProcess']}", {"to": "element"}).status_code == 404
    assert Client().post(BUTTON, {"to": "element"})["Location"].startswith("/acme/house/admin/login/")
    assert Client(enforce_csrf_checks=True).post(BUTTON).status_code == 403


def test_the_back_office_has_the_button_and_shows_what_changed(
    house: Storage, desk: MakeClient, staff: SignIn, deliver: Deliver, clock: SettableClock
) -> None:
    # The import of the house was long ago.
    clock.set("2040-07-01T10:00:00+00:00")
    dora = staff("dora")
    page = f"{OFFICE}elements/element/{ID['house']}/change/"
    assert 'value="subtree"' in dora.get(page).content.decode()
    dora.post(f"/acme/house/subscriptions/{ID['house']}", {"to": "subtree", "next": page})
    dora.post(f"/acme/house/subscriptions/{ID['erp']}", {"to": "element", "next": page})
    desk(user="cora").applied("inProcess", "InProcessToReleased")
    deliver()
    text = text_of(dora.get(f"{OFFICE}my-work/"))
    assert re.search(r"Changes in what I subscribe to Element Change By When inProcess-1 \S.* Released Cora", text), (
        text
    )
