"""Add messages. A person is told of each cause only once, however often a job runs (D371)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from django.conf import settings
from django.utils import timezone

from storage.events.recording import announce_after_commit
from storage.messages.recipients import STAFF, mail_time, need_recipients, user_key
from storage.models import MailTime, Message, MessageKind, Recipient, Storage, StorageMembership
from storage.tenancy.scope import tenant_scope

BATCH = 1000


@dataclass(frozen=True, slots=True)
class NewMessage:
    key: str
    kind: MessageKind
    cause: UUID
    element: UUID | None = None
    version: UUID | None = None
    data: dict[str, Any] = field(default_factory=dict)
    time: datetime | None = None
    """Time of the cause, if it is not now."""


def add_messages(new: Sequence[NewMessage]) -> None:
    """Add messages in the storage of the scope. Without a mail server they are only shown, and never mailed later."""
    if not new:
        return
    recipients = need_recipients({each.key for each in new})
    now = timezone.now()
    # Rows of one batch at a time: an import below an element with a thousand subscribers is a million messages.
    for start in range(0, len(new), BATCH):
        rows = [_row(each, recipients[each.key], now) for each in new[start : start + BATCH]]
        Message.objects.bulk_create(rows, ignore_conflicts=True)


def _row(new: NewMessage, recipient: Recipient, now: datetime) -> Message:
    return Message(
        recipient=recipient,
        kind=new.kind,
        cause=new.cause,
        made_on=new.time or now,
        element_id=new.element,
        version_id=new.version,
        data=new.data,
        mail_time=mail_time(recipient, new.kind) if settings.MAIL_SERVER else MailTime.NEVER,
    )


def tell_of_membership(membership: StorageMembership) -> None:
    """Tell an account that it has become a member of a storage. The message waits for its mail, as those of events."""
    tell_of_memberships([membership])


def tell_of_memberships(memberships: Sequence[StorageMembership]) -> None:
    """Tell accounts that they have become members. The number of statements depends on the storages only."""
    new: dict[Storage, list[NewMessage]] = {}
    for each in memberships:
        key = user_key(each.user_id) if each.user_id else f"{STAFF}{each.account_id}"
        message = NewMessage(key, MessageKind.INVITED, uuid4(), data={"roles": [*each.roles]})
        new.setdefault(each.storage, []).append(message)
    for storage, messages in new.items():
        with tenant_scope(storage):
            add_messages(messages)
            announce_after_commit()
