"""Messages about tokens: before they end (D486), and after a use from a new address (D487)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from uuid import UUID

import pytest
from django.test import Client
from django.utils import timezone

from storage.access.token_addresses import note_address, write_addresses
from storage.access.tokens import issue_token, revoke_token
from storage.messages.recipients import STAFF
from storage.models import ApiToken, Message, Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.factories import StaffAccountFactory, storage_context
from tests.mail_server import MailRoom
from tests.release.house import ID
from tests.release.settable_clock import SettableClock

SignIn = Callable[..., Client]
Deliver = Callable[[], None]


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> SettableClock:
    return SettableClock.install(monkeypatch, "2026-07-01T06:00:00+00:00")


@pytest.fixture
def token(house: Storage, clock: SettableClock) -> ApiToken:
    issued = issue_token(storage_context(house), "Nightly", [Role.VIEWER], user_id=UUID(ID["anna"]))
    assert issued.token.valid_until == timezone.now() + timedelta(days=90)
    return issued.token


def recipients(house: Storage) -> list[str]:
    with tenant_scope(house):
        found = Message.objects.filter(kind="token").select_related("recipient")
        return sorted(each.recipient.key for each in found)


def test_people_are_told_of_the_end_and_of_new_addresses(
    room: MailRoom, house: Storage, staff: SignIn, deliver: Deliver, token: ApiToken, clock: SettableClock
) -> None:
    anna = staff("anna")
    administrator = staff("admin", Role.ADMINISTRATOR, language="de")
    staff("ben")
    for address in ("10.0.0.1", "10.0.0.2"):
        note_address(token.id, address)
        write_addresses()
    deliver()
    deliver()
    mails = {address: mail["Subject"] for address, mail in room.empty()}
    assert mails == {
        "anna@example.org": "New address: the token Nightly was used from 10.0.0.2",
        "admin@example.org": "Neue Adresse: Das Token Nightly wurde von 10.0.0.2 aus verwendet",
    }
    page = anna.get("/acme/house/account/").content.decode()
    assert "Nightly" in page
    assert "10.0.0.2" in page
    assert "10.0.0.2" not in administrator.get("/acme/house/account/").content.decode()
    # The morning of the reminder, and the one after it.
    for day in ("2026-09-16T06:00:00+00:00", "2026-09-17T06:00:00+00:00"):
        clock.set(day)
        deliver()
        deliver()
    mails = {address: mail["Subject"] for address, mail in room.empty()}
    assert mails == {
        "anna@example.org": "The token Nightly ends on 29 September 2026",
        "admin@example.org": "Das Token Nightly läuft am 29. September 2026 ab",
    }
    assert len(recipients(house)) == 4


def test_site_administrators_are_told_if_the_storage_has_none(
    house: Storage, deliver: Deliver, token: ApiToken, clock: SettableClock
) -> None:
    site = StaffAccountFactory.create(is_superuser=True)
    clock.set("2026-09-16T06:00:00+00:00")
    deliver()
    deliver()
    assert recipients(house) == [f"{STAFF}{site.pk}", f"user:{ID['anna']}"]


def test_nobody_is_told_of_a_revoked_token(
    house: Storage, staff: SignIn, deliver: Deliver, token: ApiToken, clock: SettableClock
) -> None:
    staff("admin", Role.ADMINISTRATOR)
    clock.set("2026-09-16T06:00:00+00:00")
    revoke_token(token)
    deliver()
    deliver()
    assert recipients(house) == []
