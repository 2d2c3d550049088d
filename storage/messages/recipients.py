"""Recipients of messages, and their preferences (D370, D372)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from uuid import UUID

from storage.models import MailTime, Message, MessageKind, Recipient, StorageMembership
from storage.tenancy.scope import tenant_scope

USER, STAFF, TOKEN = "user:", "staff:", "token:"
# What needs an answer comes at once; what is good to know comes once a day.
DEFAULT_TIMES: Mapping[MessageKind, MailTime] = {
    MessageKind.TASK: MailTime.NOW,
    MessageKind.REMINDER: MailTime.NOW,
    MessageKind.DECIDED: MailTime.NOW,
    MessageKind.RELEASED: MailTime.DAILY,
    MessageKind.EXPIRING: MailTime.DAILY,
    MessageKind.INVITED: MailTime.NOW,
    MessageKind.TOKEN: MailTime.NOW,
}


def person_key(element: UUID | None, label: str) -> str | None:
    """Return the key of the person behind a caller: the user element, else the staff account, else None."""
    if element is not None and label != f"{TOKEN}{element}":
        return user_key(element)
    return label if label.startswith(STAFF) else None


def user_key(element: UUID) -> str:
    return f"{USER}{element}"


def user_of(key: str) -> UUID | None:
    """Return the user element of a recipient, if it is one."""
    return UUID(key.removeprefix(USER)) if key.startswith(USER) else None


def find_recipient(key: str | None) -> Recipient | None:
    return Recipient.objects.filter(key=key).first() if key else None


def need_recipients(keys: Collection[str]) -> dict[str, Recipient]:
    """Return the recipients with these keys, in the storage of the scope; create those that are missing."""
    found = {each.key: each for each in Recipient.objects.filter(key__in=keys)}
    if missing := sorted(set(keys) - set(found)):
        Recipient.objects.bulk_create([Recipient(key=key) for key in missing], ignore_conflicts=True)
        found |= {each.key: each for each in Recipient.objects.filter(key__in=missing)}
    return found


def adopt_messages(membership: StorageMembership) -> None:
    """Give what belongs to the account of a membership to its user element, unless that has something already.

    Call this when a membership gets a user: its person has the key of that user from now on.
    """
    if membership.user_id is None:
        return
    key = user_key(membership.user_id)
    with tenant_scope(membership.storage):
        if not Recipient.objects.filter(key=key).exists():
            Recipient.objects.filter(key=f"{STAFF}{membership.account_id}").update(key=key)


def mail_time(recipient: Recipient | None, kind: MessageKind) -> MailTime:
    chosen = recipient.preferences.get(kind.value) if recipient else None
    return MailTime(chosen) if chosen in MailTime.values else DEFAULT_TIMES[kind]


def set_times(recipient: Recipient, times: Mapping[MessageKind, MailTime]) -> None:
    """Store when the person wants mails. Messages that no mail has yet follow the new choice."""
    recipient.preferences = {**recipient.preferences, **{kind.value: time.value for kind, time in times.items()}}
    recipient.save(update_fields=["preferences"])
    for kind, time in times.items():
        waiting = Message.objects.filter(recipient=recipient, kind=kind, mail=None).exclude(mail_time=MailTime.NEVER)
        waiting.update(mail_time=time)
