"""The page of a signed-in person: the mail address with its confirmation, kinds of mails, and subscriptions."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from release.messages import mail_addresses
from release.messages.mail_addresses import DISTANCE, address_path, confirm_address, mail_address_link, tell_old_address
from storage.models import AnonymousAccess, IdentityProvider, Recipient, StaffAccount, Storage, Subscription
from storage.tenancy.scope import tenant_scope
from tests.jobs import waiting_jobs
from tests.mail_server import MailRoom, seen
from tests.release.house import ID
from tests.release.messages.conftest import PUBLIC
from tests.release.task_pages import text_of

pytestmark = pytest.mark.django_db
PAGE = "/acme/house/account/"
READER = f"/acme/house/1033/processes/{ID['released-1']}"
NEW = "vera.new@example.org"
USED = "The link is too old, has been used, or belongs to another account. Enter the address again."
SignIn = Callable[..., Client]


def vera() -> StaffAccount:
    return StaffAccount.objects.get(username="vera")


def mailed_link(house: Storage, room: MailRoom, settings: Settings) -> str:
    settings.PUBLIC_URL = PUBLIC
    mail_address_link(house, account=vera().pk)
    [(address, mail)] = room.empty()
    assert address == NEW
    text = seen(mail)["text"]
    [link] = re.findall(r"https://\S+", text)
    assert text.replace(link, "LINK") == (
        "Somebody has entered this address for the mails of the account vera of house.\n"
        "Open this page within 24 hours to confirm the address:\n"
        "LINK\n\n"
        "If this is not your account, ignore this mail; nothing changes.\n"
    )
    assert link in seen(mail)["html"]
    assert "vera.new" not in link
    # Not the name of this machine.
    assert seen(mail)["Message-ID"].endswith("@repository.example.org>")
    return str(link).removeprefix(PUBLIC)


def test_a_viewer_changes_the_address_by_a_mailed_link(
    room: MailRoom, house: Storage, staff: SignIn, settings: Settings
) -> None:
    reader, ben = staff("vera"), staff("ben")
    assert f'href="{PAGE}"' in reader.get(READER).content.decode()
    assert "Mails go to vera@example.org." in text_of(reader.get(PAGE))
    with tenant_scope(house):
        Recipient.objects.create(key=f"user:{ID['vera']}", refused_address=NEW)
    assert reader.post(PAGE, {"address": f" {NEW} "}).status_code == 302
    assert (vera().email, vera().new_email) == ("vera@example.org", NEW)
    assert f"A mail with a link is on its way to {NEW}." in text_of(reader.get(PAGE))
    link = mailed_link(house, room, settings)
    # Somebody else cannot use the link, and opening it changes nothing.
    assert Client().get(link)["Location"].startswith("/acme/house/admin/login/?next=/acme/house/account/confirm/")
    assert USED in text_of(ben.post(link, follow=True))
    assert f"Mails of your account will go to {NEW}." in text_of(reader.get(link))
    assert vera().email == "vera@example.org"
    assert f"Mails go to {NEW} from now on." in text_of(reader.post(link, follow=True))
    assert (vera().email, vera().new_email) == (NEW, "")
    with tenant_scope(house):
        assert Recipient.objects.get(key=f"user:{ID['vera']}").refused_address == ""
    assert USED in text_of(reader.post(link, follow=True))
    assert StaffAccount.objects.get(username="ben").email == "ben@example.org"


def test_a_link_is_valid_for_a_day_and_for_one_address(
    room: MailRoom, staff: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = staff("vera")
    reader.post(PAGE, {"address": NEW})
    first = f"/acme/house/{address_path(vera())}"
    reader.post(PAGE, {"address": "other@example.org"})
    assert USED in text_of(reader.post(first, follow=True))
    second = f"/acme/house/{address_path(vera())}"
    monkeypatch.setattr(mail_addresses, "VALID_HOURS", -1)
    assert USED in text_of(reader.post(second, follow=True))
    monkeypatch.undo()
    assert reader.post(f"{second}x")["Location"] == PAGE
    assert vera().email == "vera@example.org"


def test_an_address_can_be_removed_and_must_be_valid(room: MailRoom, staff: SignIn) -> None:
    reader = staff("vera")
    response = reader.post(PAGE, {"address": "no address"})
    assert response.status_code == 422
    assert 'value="no address"' in response.content.decode()
    assert "This is not a valid mail address. Enter one such as name@example.org." in text_of(response)
    assert (vera().email, vera().new_email) == ("vera@example.org", "")
    assert "Your account has no mail address any more" in text_of(reader.post(PAGE, {"address": ""}, follow=True))
    assert vera().email == ""


def test_an_open_browser_changes_no_address(room: MailRoom, staff: SignIn) -> None:
    """A mailed link sets a password, so the address is worth a recent sign-in (D551)."""
    reader = staff("vera")
    session = reader.session
    session["confirmed_on"] -= 3600
    session.save()
    for address in (NEW, ""):
        refused = reader.post(PAGE, {"address": address})
        assert (refused.status_code, "Your last sign-in is too long ago." in text_of(refused)) == (422, True)
    ben = staff("ben")
    ben.post(PAGE, {"address": "ben@elsewhere.example"})
    link = f"/acme/house/{address_path(StaffAccount.objects.get(username='ben'))}"
    IdentityProvider.objects.create(
        key="acme", name="Acme ID", mail_domains=["example.org"], refuses_passwords=True, client_id="x"
    )
    for refused in (ben.post(PAGE, {"address": NEW}), ben.get(link, follow=True), ben.post(link, follow=True)):
        assert "Acme ID manages the address of your account." in text_of(refused)
    assert StaffAccount.objects.get(username="ben").email == "ben@example.org"


def test_few_mails_go_to_addresses_that_are_not_confirmed(room: MailRoom, staff: SignIn) -> None:
    reader = staff("vera")
    answers = [reader.post(PAGE, {"address": f"v{number}@example.org"}) for number in range(6)]
    assert [each.status_code for each in answers] == [302] * 5 + [429]
    assert vera().new_email == "v4@example.org"
    assert "Too many mails were sent to confirm your address; try again in 15 minutes." in text_of(answers[5])
    assert 'value="v5@example.org"' in answers[5].content.decode()
    # All processes count together, and a quarter of an hour later there is one more.
    now = timezone.now()
    for used, expected in ((4.5, 429), (3.5, 302)):
        StaffAccount.objects.update(confirmations_until=now + used * DISTANCE)
        assert reader.post(PAGE, {"address": NEW}).status_code == expected


def notices(house: Storage, room: MailRoom) -> list[tuple[str, str, str]]:
    """Return the mails to former addresses: address, subject and text."""
    given = [args["arguments"] for name, args in waiting_jobs() if name == tell_old_address.name]
    assert "example.org" not in str(given)
    for arguments in given:
        tell_old_address(house, **arguments)
    found = [(address, seen(mail)) for address, mail in room.empty()]
    assert all(each["Message-ID"].endswith("@localhost>") for _, each in found)
    return [(address, each["Subject"], each["text"]) for address, each in found]


def test_the_former_address_is_told_of_a_change(room: MailRoom, house: Storage, staff: SignIn) -> None:
    reader = staff("vera")
    reader.post(PAGE, {"address": NEW})
    assert notices(house, room) == []
    reader.post(f"/acme/house/{address_path(vera())}")
    text = (
        "The account vera of house no longer gets its mails at this address.\n\n"
        "If you have not changed this, tell an administrator of house.\n"
    )
    assert notices(house, room) == [("vera@example.org", "Your mail address was changed", text)]


def test_the_former_address_is_told_of_its_removal(room: MailRoom, house: Storage, staff: SignIn) -> None:
    reader = staff("vera", language="de")
    for _ in range(2):
        reader.post(PAGE, {"address": ""})
    text = (
        "Das Konto vera von house erhält seine E-Mails nicht mehr an diese Adresse.\n\n"
        "Wenn Sie das nicht geändert haben, informieren Sie einen Administrator von house.\n"
    )
    assert notices(house, room) == [("vera@example.org", "Ihre E-Mail-Adresse wurde geändert", text)]


def test_a_repeated_request_reads_the_account_again(room: MailRoom, house: Storage, staff: SignIn) -> None:
    """The first attempt has changed the account of the request, and was rolled back."""
    staff("vera").post(PAGE, {"address": NEW})
    value, account = address_path(vera()).rpartition("/")[2], vera()
    account.email, account.new_email = NEW, ""
    with tenant_scope(house):
        assert confirm_address(house, account, value) == NEW
    assert (vera().email, vera().new_email) == (NEW, "")


def test_without_a_mail_server_nobody_confirms_an_address(staff: SignIn, settings: Settings) -> None:
    settings.MAIL_SERVER = None
    reader = staff("vera")
    page = reader.get(PAGE)
    assert "This installation sends no mails" in text_of(page)
    assert 'name="address"' not in page.content.decode()
    assert reader.post(PAGE, {"address": NEW}).status_code == 403
    assert vera().new_email == ""


def test_the_page_is_for_members_only(house: Storage, staff: SignIn) -> None:
    Storage.objects.filter(pk=house.pk).update(anonymous_access=AnonymousAccess.READ)
    visitor = Client()
    assert visitor.get(PAGE)["Location"] == f"/acme/house/admin/login/?next={PAGE}"
    assert f'href="{PAGE}"' not in visitor.get(READER).content.decode()
    assert Client(enforce_csrf_checks=True).post(PAGE, {"address": NEW}).status_code == 403
    assert f'href="{PAGE}"' in staff("ben").get("/acme/house/admin/messages/").content.decode()


def test_people_leave_subscriptions_to_elements_that_they_cannot_see(house: Storage, staff: SignIn) -> None:
    reader = staff("vera")
    with tenant_scope(house):
        own = Recipient.objects.create(key=f"user:{ID['vera']}")
        for name in ("released", "inProcess"):
            Subscription.objects.create(
                recipient=own, element_id=ID[name], is_subtree=name == "released", created_on="2026-07-01T00:00Z"
            )
    page = reader.get(PAGE)
    assert f'href="{READER}"' in page.content.decode()
    text = text_of(page)
    assert "released-1 with everything below Unsubscribe" in text
    assert "an element that you can no longer see Unsubscribe" in text
    assert "inProcess-1" not in text
    stop = f"/acme/house/subscriptions/{ID['inProcess']}"
    assert f'formaction="{stop}"' in page.content.decode()
    assert reader.post(stop, {"to": "nothing", "next": PAGE})["Location"] == PAGE
    with tenant_scope(house):
        assert [str(each.element_id) for each in Subscription.objects.all()] == [ID["released"]]


def test_the_page_is_in_the_language_of_the_account(staff: SignIn, room: MailRoom) -> None:
    assert "E-Mails auswählen" in text_of(staff("vera", language="de").get(PAGE))
