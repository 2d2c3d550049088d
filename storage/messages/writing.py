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
from storage.models import MailTime, Message, MessageKind, StorageMembership
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
    rows = [
        Message(
            recipient=recipients[each.key],
            kind=each.kind,
            cause=each.cause,
            made_on=each.time or now,
            element_id=each.element,
            version_id=each.version,
            data=each.data,
            mail_time=mail_time(recipients[each.key], each.kind) if settings.MAIL_SERVER else MailTime.NEVER,
        )
        for each in new
    ]
    Message.objects.bulk_create(rows, batch_size=BATCH, ignore_conflicts=True)


def tell_of_membership(membership: StorageMembership) -> None:
    """Tell an account that it has become a member of a storage. The message waits for its mail, as those of events."""
    key = user_key(membership.user_id) if membership.user_id else f"{STAFF}{membership.account_id}"
    with tenant_scope(membership.storage):
        add_messages([NewMessage(key, MessageKind.INVITED, uuid4(), data={"roles": [*membership.roles]})])
        announce_after_commit()
