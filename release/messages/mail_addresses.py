"""The mail address of an account, which its owner changes, and confirms with a mailed link (D353, D358)."""

from __future__ import annotations

import math
from datetime import timedelta
from uuid import uuid4

from django.core import signing
from django.core.mail import EmailMessage
from django.utils import timezone, translation
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from release.messages.mail_links import storage_link
from repository_site.core.problems import TooManyRequests
from repository_site.core.sealing import seal, unseal
from storage.jobs import job
from storage.jobs.enqueueing import MAIL
from storage.localisation.culture_names import interface_language
from storage.messages.mailing import RETRY, new_mail, send_mail
from storage.models import StaffAccount, Storage

SALT = PURPOSE = "release.messages.address"
VALID_HOURS = 24
# Mails to addresses that may not belong to the account: five at once, then one each quarter of an hour.
MOST_AT_ONCE = 5
DISTANCE = timedelta(minutes=15)


def ask_to_confirm(storage: Storage, account: StaffAccount, address: str) -> None:
    """Note the wanted address, and mail a link to it. The address of the account stays until the link is used."""
    found, now = _locked(account), timezone.now()
    # The mails are spread over this time; it is in the database, because an account can use several servers.
    until = max(found.confirmations_until or now, now) + DISTANCE
    if (wait := until - now - MOST_AT_ONCE * DISTANCE) > timedelta(0):
        raise TooManyRequests(_too_many(math.ceil(wait / timedelta(minutes=1))), math.ceil(wait.total_seconds()))
    found.new_email, found.confirmations_until = address, until
    found.save(update_fields=["new_email", "confirmations_until"])
    mail_address_link.enqueue(storage, account=found.pk)


def _too_many(minutes: int) -> str:
    text = ngettext(
        "Too many mails were sent to confirm your address; try again in %(minutes)d minute.",
        "Too many mails were sent to confirm your address; try again in %(minutes)d minutes.",
        minutes,
    )
    return text % {"minutes": minutes}


def is_address_link(account: StaffAccount, value: str) -> bool:
    """Return whether a link confirms the wanted address of this account. A link is valid for a day and works once."""
    try:
        found = signing.loads(value, salt=_salt(account), max_age=VALID_HOURS * 3600)
    except signing.BadSignature:
        return False
    return bool(account.new_email) and found == account.pk


def confirm_address(storage: Storage, account: StaffAccount, value: str) -> str | None:
    """Give an account the address that a link confirms, and return it; None if the link is not valid."""
    found = _locked(account)
    if not is_address_link(found, value):
        return None
    return _set_address(storage, found, found.new_email)


def remove_address(storage: Storage, account: StaffAccount) -> None:
    _set_address(storage, _locked(account), "")


def _locked(account: StaffAccount) -> StaffAccount:
    """Return the account as it is now. Requests change it one after the other, and a repeated one reads it again."""
    return StaffAccount.objects.select_for_update().get(pk=account.pk)


def _set_address(storage: Storage, account: StaffAccount, address: str) -> str:
    old = account.email
    account.email, account.new_email = address, ""
    account.save(update_fields=["email", "new_email"])
    if old and old.casefold() != address.casefold():
        tell_old_address.enqueue(storage, account=account.pk, sealed=seal(old, PURPOSE))
    return address


def address_path(account: StaffAccount) -> str:
    """Return the path of the link. It does not contain the address, because servers log paths."""
    return f"account/confirm/{signing.dumps(account.pk, salt=_salt(account))}"


def _salt(account: StaffAccount) -> str:
    """Return a salt with both addresses: a link of other addresses has another signature."""
    return f"{SALT} {account.email} {account.new_email}"


@job("messages.confirm", lock=("account",), once=True, retry=RETRY, own_scope=True, queue=MAIL)
def mail_address_link(storage: Storage, account: int) -> None:
    """Mail the link to the address that an account wants."""
    found = StaffAccount.objects.filter(pk=account, is_active=True).exclude(new_email="").first()
    if found is not None:
        with _language(storage, found):
            send_mail(_link_mail(storage, found), account=found.pk, storage=str(storage))


@job("messages.address_changed", retry=RETRY, own_scope=True, queue=MAIL)
def tell_old_address(storage: Storage, account: int, sealed: str) -> None:
    """Tell the former address of an account that it gets no mails any more: somebody else may have changed it.

    The address is encrypted in the queue, whose rows are outside the storages.
    """
    found = StaffAccount.objects.filter(pk=account).first()
    if found is not None:
        with _language(storage, found):
            context = {"subject": _("Your mail address was changed"), **_frame(storage, found)}
            message = new_mail("address_changed", unseal(sealed, PURPOSE), context, uuid4())
            send_mail(message, account=found.pk, storage=str(storage))


def _link_mail(storage: Storage, account: StaffAccount) -> EmailMessage:
    context = {
        "subject": _("Confirm your mail address"),
        "hours": VALID_HOURS,
        "link": storage_link(storage, address_path(account)),
        **_frame(storage, account),
    }
    return new_mail("address", account.new_email, context, uuid4())


def _frame(storage: Storage, account: StaffAccount) -> dict[str, object]:
    return {
        "language": translation.get_language(),
        "storage": storage.title or str(storage),
        "account": account.get_username(),
    }


def _language(storage: Storage, account: StaffAccount) -> translation.override:
    return translation.override(account.language or interface_language(storage.culture_set().default))
