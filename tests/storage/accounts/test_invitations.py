"""Invitations (D550): by mail and by a copied link, for new people and for those with an account."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone

from storage.accounts import invitations
from storage.accounts.invitations import forget_old_invitations, invite, link_path, withdraw
from storage.models import IdentityProvider, Invitation, StaffAccount, Storage, StorageMembership
from storage.options import Role
from tests.factories import StaffAccountFactory, StorageFactory
from tests.identity_provider import TestedProvider, configured, sign_in
from tests.jobs import run_jobs, waiting_jobs
from tests.mail_server import MailRoom
from tests.storage.accounts.conftest import PASSWORD, mailed, roles_of
from tests.storage.office import errors, member, signed_in, site_administrator

pytestmark = pytest.mark.django_db
PAGES = "/acme/handbook/admin/storage/invitation/"
KIM = "kim@example.net"
GIVEN = {"address": "Kim@Example.net", "roles": ["editor", "approver"]}
NEW = {"first_name": "Kim", "last_name": "Lee", "password": PASSWORD, "repeated": PASSWORD}
OLD = "The link is too old, has been used, or was withdrawn. Ask for a new one."


def text_of(response: Any) -> str:
    return str(response.content.decode())


def test_an_invited_person_chooses_a_password_and_has_the_roles(
    room: MailRoom, office: Client, storage: Storage, caplog: pytest.LogCaptureFixture
) -> None:
    sent = office.post(f"{PAGES}add/", GIVEN, follow=True)
    assert "A mail with a link is on its way to kim@example.net." in text_of(sent)
    assert KIM not in repr(waiting_jobs())
    address, text, path = mailed(room)
    end = timezone.localtime(Invitation.objects.get().valid_until, ZoneInfo(settings.DEFAULT_TIME_ZONE))
    assert (address, text) == (
        KIM,
        f"Alex Doe invites you to Handbook.\nOpen this page until {end:%-d %B %Y} to accept the invitation:\nLINK\n\n"
        "If you do not know the sender, ignore this mail; nothing happens.\n",
    )
    assert "kim" not in path
    kim = Client()
    page = text_of(kim.get(path))
    assert ("/admin/invitation/..." in caplog.text, path in caplog.text) == (True, False)
    assert ("Invitation to Handbook" in page, "New account" in page) == (True, True)
    assert Invitation.objects.exists()
    wrong = kim.post(path, {**NEW, "password": "kim", "repeated": "lee"})
    assert (wrong.status_code, "The two passwords are different." in text_of(wrong)) == (422, True)
    short = kim.post(path, {**NEW, "password": "short", "repeated": "short"})
    assert (short.status_code, "This password is too short." in text_of(short)) == (422, True)
    done = text_of(kim.post(path, NEW))
    assert ("Your account is ready" in done, f"<strong>{KIM}</strong>" in done) == (True, True)
    account = StaffAccount.objects.get(username=KIM)
    assert (account.email, account.get_full_name(), account.is_superuser) == (KIM, "Kim Lee", False)
    assert account.check_password(PASSWORD)
    assert roles_of(KIM) == {"acme/handbook": ["editor", "approver"]}
    assert kim.post("/admin/login/", {"username": KIM, "password": PASSWORD}).status_code == 302
    # The link works once.
    for again in (kim.get(path), Client().post(path, NEW)):
        assert (again.status_code, OLD in text_of(again)) == (410, True)


def test_an_account_signs_in_and_accepts(room: MailRoom, office: Client, storage: Storage) -> None:
    """The inviter sees the same as for a stranger, until the owner of the account accepts."""
    jo = StaffAccountFactory.create(username="jo", email=KIM)
    StorageMembership.objects.create(account=jo, storage=storage, roles=["viewer"])
    office.post(f"{PAGES}add/", GIVEN)
    path = mailed(room)[2]
    assert roles_of("jo") == {"acme/handbook": ["viewer"]}
    page = text_of(Client().get(path))
    assert (f"You have an account with the address {KIM}." in page, "New account" in page) == (True, False)
    assert Client().post(path, NEW).status_code == 200
    assert StaffAccount.objects.filter(email=KIM).count() == 1
    browser = signed_in(jo)
    assert "You are signed in as jo." in text_of(browser.get(path))
    done = browser.post(path)
    assert (done.status_code, done["Location"]) == (302, "/acme/handbook/")
    assert roles_of("jo") == {"acme/handbook": ["viewer", "editor", "approver"]}
    # A deactivated person gets no second account.
    jo.is_active = False
    jo.save()
    office.post(f"{PAGES}add/", GIVEN)
    path = mailed(room)[2]
    assert "New account" not in text_of(Client().get(path))
    Client().post(path, NEW)
    assert StaffAccount.objects.filter(email=KIM).count() == 1


def test_links_end(room: MailRoom, office: Client, alex: StaffAccount, storage: Storage) -> None:
    """By sending again, by withdrawing, with time, and with the administration of the inviter."""
    office.post(f"{PAGES}add/", GIVEN)
    first = mailed(room)[2]
    made = Invitation.objects.get()
    twice = office.post(f"{PAGES}add/", GIVEN)
    assert errors(text_of(twice)) == [
        "This address is invited already; the list of invitations can send the link again."
    ]
    office.post(f"{PAGES}{made.pk}/change/", {"roles": ["viewer"]})
    second = mailed(room)[2]
    assert [Client().get(path).status_code for path in (first, second, second[:-4] + "xxx/")] == [410, 200, 410]
    assert Invitation.objects.get().roles == ["viewer"]
    StorageMembership.objects.filter(account=alex).update(roles=["editor"])
    assert Client().get(second).status_code == 410
    StorageMembership.objects.filter(account=alex).update(roles=["administrator"])
    assert Client().get(second).status_code == 200
    listed = text_of(office.get(PAGES))
    assert ("kim@example.net" in listed, "Open" in listed) == (True, True)
    assert "no longer valid" in text_of(office.get(f"{PAGES}{made.pk}/withdraw/"))
    office.post(f"{PAGES}{made.pk}/withdraw/", follow=True)
    assert Client().get(second).status_code == 410
    assert KIM not in text_of(office.get(PAGES))
    office.post(f"{PAGES}add/", GIVEN)
    third = mailed(room)[2]
    Invitation.objects.update(valid_until=timezone.now())
    assert Client().get(third).status_code == 410
    assert "Expired" in text_of(office.get(PAGES))
    Invitation.objects.update(valid_until=timezone.now() - timedelta(days=31))
    forget_old_invitations()
    assert not Invitation.objects.exists()
    # Somebody has accepted it in the meantime.
    withdraw(made, alex)
    assert not Invitation.objects.exists()


@pytest.mark.long
def test_limits(room: MailRoom, office: Client, alex: StaffAccount, storage: Storage, monkeypatch: Any) -> None:
    office.post(f"{PAGES}add/", GIVEN)
    made = Invitation.objects.get()
    for _sending in range(4):
        assert office.post(f"{PAGES}{made.pk}/change/", {"roles": ["viewer"]}).status_code == 302
    too_many = office.post(f"{PAGES}{made.pk}/change/", {"roles": ["viewer"]})
    assert "This address has received too many mails; try again in 6 hours." in text_of(too_many)
    # Only the last of the jobs finds its sending.
    run_jobs()
    assert len(room.empty()) == 1
    office.post(f"{PAGES}{made.pk}/withdraw/")
    again = office.post(f"{PAGES}add/", GIVEN)
    assert "This address has received too many mails" in text_of(again)
    monkeypatch.setattr(invitations, "MOST_NEW", 1)
    assert "within a day" in text_of(office.post(f"{PAGES}add/", {**GIVEN, "address": "lee@example.net"}))
    monkeypatch.setattr(invitations, "MOST_OPEN", 0)
    assert "Withdraw some" in text_of(office.post(f"{PAGES}add/", {**GIVEN, "address": "lee@example.net"}))
    wrong = office.post(f"{PAGES}add/", {"address": "kim", "roles": []})
    assert errors(text_of(wrong)) == ["Choose at least one role."]
    wrong = office.post(f"{PAGES}add/", {"address": "kim", "roles": ["viewer"]})
    assert errors(text_of(wrong)) == ["Expected an address such as name@example.org."]
    assert member(storage, Role.ARCHITECT).get(f"{PAGES}add/").status_code == 403


def test_a_copied_link_proves_no_address(office: Client, storage: Storage) -> None:
    """Without a mail server. The page does not tell whether the address has an account or the name is taken."""
    StaffAccountFactory.create(username=KIM, email=KIM)
    assert "This installation sends no mails." in text_of(office.get(f"{PAGES}add/"))
    shown = office.post(f"{PAGES}add/", GIVEN)
    [path] = re.findall(r"http://testserver(/admin/invitation/[^<]+/)", text_of(shown))
    assert (waiting_jobs(), "no-store" in shown["Cache-Control"]) == ([], True)
    assert "New account" in text_of(Client().get(path))
    assert "Your account is ready" in text_of(Client().post(path, NEW))
    made = StaffAccount.objects.get(last_name="Lee")
    assert (made.email, made.username.startswith("kim-"), made.username == KIM) == ("", True, False)
    assert list(roles_of(made.username)) == ["acme/handbook"]


def test_site_administrators_invite_to_a_collection(room: MailRoom, storage: Storage) -> None:
    StorageFactory.create(key="notes")
    browser, pages = site_administrator(), "/admin/storage/invitation/"
    assert browser.get(f"{pages}add/").status_code == 200
    for wrong in ({}, {"storage": storage.pk, "collection": storage.collection_id}):
        refused = browser.post(f"{pages}add/", {**GIVEN, **wrong})
        assert "Choose a storage or a collection, not both." in text_of(refused)
    assert len(errors(text_of(browser.post(f"{pages}add/", {**GIVEN, "storage": "x"})))) == 1
    wanted = {"app_label": "storage", "model_name": "invitation", "field_name": "storage", "term": "note"}
    offered = browser.get("/admin/autocomplete/", wanted).json()["results"]
    assert [each["text"] for each in offered] == ["acme/notes"]
    given = {**GIVEN, "collection": storage.collection_id}
    assert "all storages of acme" in text_of(browser.post(f"{pages}add/", given, follow=True))
    Client().post(mailed(room)[2], NEW)
    assert roles_of(KIM) == {"acme/handbook": ["editor", "approver"], "acme/notes": ["editor", "approver"]}
    given = {**GIVEN, "address": "lee@example.net", "storage": storage.pk}
    assert browser.post(f"{pages}add/", given).status_code == 302
    assert signed_in(StaffAccount.objects.get(username=KIM)).get(pages).status_code == 403


def test_the_provider_of_the_domain_signs_in_the_invited_person(
    there: TestedProvider, alex: StaffAccount, storage: Storage
) -> None:
    """No rule of the provider gives access. Passwords are switched off."""
    provider = configured(there.issuer, collection=storage.collection, refuses_passwords=True)
    made = invite(storage, "jo@example.org", [Role.EDITOR], alex)
    path = link_path(made, is_mailed=True)
    browser = Client()
    page = text_of(browser.get(path))
    assert (f"/admin/sso/{provider.key}/?next=" in page, "New account" in page) == (True, False)
    assert (browser.post(path, NEW).status_code, StaffAccount.objects.filter(last_name="Lee").exists()) == (200, False)
    back = sign_in(browser, there, next_address=path)
    assert (back.status_code, back["Location"]) == (302, path)
    assert browser.post(path).status_code == 302
    assert roles_of("jo@example.org") == {"acme/handbook": ["editor"]}
    # An invitation to another collection creates no account.
    StaffAccount.objects.filter(username="jo@example.org").delete()
    other = Storage.objects.get(collection__key="rival")
    StorageMembership.objects.create(account=alex, storage=other, roles=["administrator"])
    made = invite(other, "jo@example.org", [Role.EDITOR], alex)
    # Its page does not offer the provider, and passwords are off. The inviter is told.
    page = text_of(Client().get(link_path(made, is_mailed=True)))
    assert ("Sign in where you usually do, then open this link again." in page, "<form" in page) == (True, False)
    again = signed_in(alex).post(
        f"/rival/{other.key}/admin/storage/invitation/{made.pk}/change/", {"roles": ["editor"]}, follow=True
    )
    assert "People of example.org sign in with the provider of another collection" in text_of(again)
    IdentityProvider.objects.update(refuses_passwords=False)
    assert sign_in(Client(), there).status_code == 403
