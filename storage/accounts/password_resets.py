"""Password reset by mail (D551). A request does the same work for every address; the job finds the accounts."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import structlog
from django.conf import settings
from django.contrib.auth.tokens import default_token_generator
from django.db import transaction
from django.utils import timezone, translation
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from repository_site.core.sealing import seal, unseal
from storage.access.sign_ins import begin_attempt
from storage.jobs import site_job
from storage.jobs.enqueueing import MAIL
from storage.messages.mailing import RETRY, is_mail_address, new_mail, send_mail
from storage.models import IdentityProvider, StaffAccount
from storage.single_sign_on.providers import refuses_password

PURPOSE = "password resets"
# Mails to one account: five at once, then one each quarter of an hour.
MOST_AT_ONCE = 5
DISTANCE = timedelta(minutes=15)
# Accounts with one address that get a mail.
MOST_ACCOUNTS = 5
log = structlog.get_logger("password-reset")


def ask_for_reset(address: str, network: str) -> None:
    """Count the request as a failed sign-in of this network, and let a job do the rest; raise SignInBlocked."""
    begin_attempt(f"reset {address}", network)
    ask_accounts.enqueue(sealed=seal(address, PURPOSE), language=get_language() or settings.LANGUAGE_CODE)


def can_reset(account: StaffAccount) -> bool:
    """Tell whether a mailed link may set the password. Accounts without one sign in at a provider."""
    is_usable = account.is_active and account.is_staff and account.has_usable_password()
    return is_usable and _forbidding_provider(account) is None


def _forbidding_provider(account: StaffAccount) -> IdentityProvider | None:
    return None if account.is_superuser else refuses_password(account.email)


@site_job("accounts.reset_password", queue=MAIL)
def ask_accounts(sealed: str, language: str) -> None:
    """Add a mail for each account that has the address. The address is encrypted: the queue is outside the storages."""
    address = unseal(sealed, PURPOSE)
    if not is_mail_address(address):
        return
    with transaction.atomic():
        found = StaffAccount.objects.select_for_update().filter(email__iexact=address, is_active=True, is_staff=True)
        for account in found.order_by("pk")[:MOST_ACCOUNTS]:
            if _may_mail(account):
                mail_reset.enqueue(account=account.pk, language=account.language or language)


def _may_mail(account: StaffAccount) -> bool:
    now = timezone.now()
    until = max(account.resets_until or now, now) + DISTANCE
    if until - now > MOST_AT_ONCE * DISTANCE:
        log.warning("too many resets of a password", account=account.pk)
        return False
    account.resets_until = until
    account.save(update_fields=["resets_until"])
    return True


@site_job("accounts.mail_reset", retry=RETRY, queue=MAIL)
def mail_reset(account: int, language: str) -> None:
    """Mail the link, or the reason why there is none."""
    found = StaffAccount.objects.filter(pk=account, is_active=True).first()
    if found is None or not found.email:
        return
    with translation.override(language):
        provider = _forbidding_provider(found)
        context = {
            "subject": _("Reset your password"),
            "language": language,
            "account": found.get_username(),
            "host": settings.PUBLIC_URL.partition("://")[2],
            "minutes": settings.PASSWORD_RESET_TIMEOUT // 60,
            "provider": provider.name if provider else "",
            "link": f"{settings.PUBLIC_URL}{reset_path(found)}" if can_reset(found) else "",
            "sign_in": f"{settings.PUBLIC_URL}/admin/login/",
        }
        send_mail(new_mail("password_reset", found.email, context, uuid4()), account=account)


def reset_path(account: StaffAccount) -> str:
    user = urlsafe_base64_encode(force_bytes(account.pk))
    return f"/admin/password/{user}/{default_token_generator.make_token(account)}/"
