"""Messages of a storage that was restored from a backup (D378)."""

from __future__ import annotations

from collections.abc import Mapping

from django.utils import timezone

from storage.messages.recipients import STAFF
from storage.models import MailTime, Message, OutgoingMail, Recipient, Subscription

RESTORED = "Not sent: the storage was restored from a backup."


def settle_messages(accounts: Mapping[int, int]) -> None:
    """Send nothing that the storage had to send when it was backed up: it has been sent since, or is out of date.

    `accounts` has the numbers of staff accounts here by those in the backup. What belongs to other accounts is deleted.
    Call this in the scope.
    """
    now = timezone.now()
    Message.objects.filter(mail=None).exclude(mail_time=MailTime.NEVER).update(mail_time=MailTime.NEVER)
    OutgoingMail.objects.filter(sent_on=None, failed_on=None).update(failed_on=now, error=RESTORED)
    moved = {}
    for recipient in Recipient.objects.filter(key__startswith=STAFF):
        number = accounts.get(int(recipient.key.removeprefix(STAFF)))
        if number is None:
            for model in (Subscription, Message, OutgoingMail):
                model.objects.filter(recipient=recipient).delete()
            recipient.delete()
        else:
            moved[recipient.pk] = f"{STAFF}{number}"
    # In two steps: two accounts may have each other's number.
    for prefix in ("new ", ""):
        for pk, key in moved.items():
            Recipient.objects.filter(pk=pk).update(key=f"{prefix}{key}")
