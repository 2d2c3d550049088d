"""Mails: who gets one, when, and what happens if the mail server does not take it (D373, D374)."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import closing
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import structlog
from django.conf import settings
from django.core.mail import EmailMessage
from django.core.mail.backends.smtp import EmailBackend
from django.db import InterfaceError, OperationalError, transaction
from django.db.models import Exists, Min, OuterRef, Q, QuerySet
from django.utils import timezone

from elements.people.addressees import read_addressees
from release.messages.gathering import log_of_scope
from release.messages.mails import compose
from storage.jobs import job
from storage.jobs.enqueueing import MAIL
from storage.messages.answers import MailOutcome, Result, attempt
from storage.messages.mailing import is_mail_address
from storage.models import MailTime, Message, MessageLog, OutgoingMail, Recipient, Storage
from storage.tenancy.scope import tenant_scope

log = structlog.get_logger("mail")
# Immediate mails to one person in an hour. Further messages wait, and come together in one mail.
MOST_AN_HOUR = 10
HOUR = timedelta(hours=1)
# Mails of one run of the job.
BATCH = 100
# Minutes until the next attempt for a mail that the server has deferred; two days in all.
RETRY_MINUTES = (1, 5, 30, 120, 360, 720, 1440)
# The same for a server that does not answer at all. It has no end: no mail is given up because of it.
LONGEST_PAUSE = 60
# Rows that one transaction deletes.
DELETED = 5000
SERVER_STATE = ["failures", "resume_on", "problem"]
WAITING = Q(sent_on=None, failed_on=None)


def make_mails(storage: Storage, now: datetime, *, is_daily: bool) -> None:
    """Make one mail for each person, with all messages that the person wants by mail. Call this in the scope."""
    times = [MailTime.NOW, *([MailTime.DAILY] if is_daily else [])]
    waiting = Message.objects.filter(mail=None, mail_time__in=times, read_on=None)
    if not waiting.order_by().exists():
        return
    # Two jobs make mails. The second one waits here, and then finds that the messages have their mail.
    MessageLog.objects.select_for_update().get()
    ids = set(waiting.order_by().values_list("recipient_id", flat=True).distinct())
    for recipient, address in _addresses(storage, ids):
        own = waiting.filter(recipient=recipient)
        if not is_mail_address(address) or address == recipient.refused_address:
            own.update(mail_time=MailTime.NEVER)
        elif (
            is_daily or OutgoingMail.objects.filter(recipient=recipient, made_on__gt=now - HOUR).count() < MOST_AN_HOUR
        ):
            own.update(mail=OutgoingMail.objects.create(recipient=recipient, made_on=now, due_on=now))


def _addresses(storage: Storage, ids: Collection[UUID]) -> list[tuple[Recipient, str]]:
    recipients = list(Recipient.objects.filter(id__in=ids).order_by("id"))
    people = read_addressees(storage, [each.key for each in recipients])
    return [(each, people[each.key].address if each.key in people else "") for each in recipients]


def has_due_mails(now: datetime) -> bool:
    """Return whether there are mails to send, and the server is not given a pause. Call this in the scope."""
    resume_on = log_of_scope().resume_on
    return (resume_on is None or resume_on <= now) and _due(now).exists()


def _due(now: datetime) -> QuerySet[OutgoingMail]:
    return OutgoingMail.objects.filter(WAITING, due_on__lte=now).order_by("due_on", "id")


def _next_attempt() -> datetime | None:
    """Return the time of the next attempt in the storage of the scope; None if no mail waits."""
    due_on: datetime | None = OutgoingMail.objects.filter(WAITING).aggregate(first=Min("due_on"))["first"]
    resume_on = log_of_scope().resume_on
    return max(due_on, resume_on) if due_on and resume_on else due_on


@job("messages.send", lock=(), once=True, retry=(60.0, 600.0, 3600.0), own_scope=True, queue=MAIL)
def send_mails(storage: Storage) -> None:
    """Send what is due, one mail after the other through one connection. No transaction is open meanwhile.

    A worker that is killed after the server has taken a mail, and before that is recorded, sends the mail again with
    the same Message-ID.
    """
    server = settings.MAIL_SERVER
    if server is None:
        return
    with tenant_scope(storage):
        now = timezone.now()
        due = list(_due(now).values_list("id", flat=True)[:BATCH]) if has_due_mails(now) else []
    with closing(server.connect()) as connection:
        for mail in due:
            if _send(storage, connection, mail) is Result.NO_SERVER:
                break
    with tenant_scope(storage):
        if (again := _next_attempt()) is not None:
            send_mails.enqueue_all(storage, [{}], not_before=again)


def _send(storage: Storage, connection: EmailBackend, mail_id: UUID) -> Result:
    with tenant_scope(storage):
        mail = OutgoingMail.objects.select_related("recipient").filter(id=mail_id).first()
        message = _compose(storage, mail) if mail else None
    if mail is None or message is None:
        return Result.REFUSED
    mail.address = message.to[0]
    outcome = attempt(connection, message)
    with tenant_scope(storage):
        _record(mail, outcome, timezone.now())
    if outcome.error:
        log.warning("mail not sent", mail=str(mail_id), storage=str(storage), reason=outcome.reason)
    return outcome.result


def _compose(storage: Storage, mail: OutgoingMail) -> EmailMessage | None:
    """Return a mail to send, or record why there is none. A mail that fails does not stop others (D350)."""
    try:
        with transaction.atomic():
            message = compose(storage, mail)
    except (OperationalError, InterfaceError):
        # The database fails, not the mail.
        raise
    except Exception as problem:
        log.warning("mail not composed", mail=str(mail.id), storage=str(storage), exc_info=problem)
        _settle(mail, MailOutcome(Result.LATER, f"Not composed: {type(problem).__name__}"), timezone.now())
        return None
    if message is None:
        error = "There is no address, or nothing to read."
        OutgoingMail.objects.filter(id=mail.id).update(failed_on=timezone.now(), error=error)
    return message


def _record(mail: OutgoingMail, outcome: MailOutcome, now: datetime) -> None:
    state = MessageLog.objects.select_for_update().get()
    if outcome.result is Result.NO_SERVER:
        state.failures = min(state.failures + 1, 1000)
        pause = min(2 ** min(state.failures - 1, 10), LONGEST_PAUSE)
        state.resume_on, state.problem = now + timedelta(minutes=pause), outcome.error
        state.save(update_fields=SERVER_STATE)
        return
    if state.failures:
        state.failures, state.resume_on, state.problem = 0, None, ""
        state.save(update_fields=SERVER_STATE)
    _settle(mail, outcome, now)
    if outcome.result is Result.UNKNOWN_ADDRESS:
        Recipient.objects.filter(id=mail.recipient_id).update(refused_address=mail.address)


def _settle(mail: OutgoingMail, outcome: MailOutcome, now: datetime) -> None:
    """Write what an attempt has changed, unless the mail has been deleted meanwhile."""
    attempts = mail.attempts + 1
    changed: dict[str, Any] = {"attempts": attempts, "address": mail.address, "error": outcome.error}
    if outcome.result is Result.SENT:
        changed["sent_on"] = now
    elif outcome.result is Result.LATER and attempts <= len(RETRY_MINUTES):
        changed["due_on"] = now + timedelta(minutes=RETRY_MINUTES[mail.attempts])
    else:
        changed["failed_on"] = now
    OutgoingMail.objects.filter(id=mail.id).update(**changed)


def forget_old_messages(storage: Storage, before: datetime) -> None:
    """Delete messages and mails that are older, in several transactions."""
    kept = Message.objects.filter(mail=OuterRef("pk"))
    mails = OutgoingMail.objects.filter(~Exists(kept), made_on__lt=before)
    for old in (Message.objects.filter(made_on__lt=before), mails):
        while _delete_some(storage, old):
            pass


def _delete_some(storage: Storage, old: QuerySet[Any]) -> int:
    with tenant_scope(storage):
        ids = list(old.order_by().values_list("pk", flat=True)[:DELETED])
        return int(old.model._default_manager.filter(pk__in=ids).delete()[0])


def send_again(storage: Storage, mail_id: UUID) -> bool:
    """Send a mail that has failed, because somebody has solved the problem. Call this in the scope."""
    now = timezone.now()
    mail = OutgoingMail.objects.filter(id=mail_id, failed_on__isnull=False).first()
    if mail is None:
        return False
    Recipient.objects.filter(id=mail.recipient_id).update(refused_address="")
    OutgoingMail.objects.filter(id=mail_id).update(failed_on=None, error="", attempts=0, due_on=now)
    send_mails.enqueue(storage)
    return True
