"""Changes of webhooks: one function for each, which API, back office and commands call in the scope of the storage."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

import structlog
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from repository_site.core.problems import Conflict, Invalid, NotFound, placed
from storage.events.numbering import number_all_events
from storage.events.recording import record_configuration
from storage.models import Storage, Webhook, WebhookAttempt, WebhookDelivery
from storage.options import DEFAULT_OVERLAP
from storage.webhooks.checking import MOST_WEBHOOKS, checked_fields
from storage.webhooks.credentials import new_secret, sealed
from storage.webhooks.delivering import deliver
from storage.webhooks.disabling import COPIED, UNREADABLE, can_read, disable_webhook
from storage.webhooks.fan_out import fan_out

log = structlog.get_logger("webhooks")
LONGEST_OVERLAP = timedelta(days=30)
# Compares the webhook with what the caller has read, while its row is locked.
Precondition = Callable[[Webhook], None]


@dataclass(frozen=True, slots=True)
class IssuedSecret:
    webhook: Webhook
    secret: str


def find_webhook(id: UUID | str, *, lock: bool = False) -> Webhook:
    """Return a webhook of the storage of the scope."""
    try:
        rows = Webhook.objects.select_for_update() if lock else Webhook.objects.all()
        return rows.get(pk=UUID(str(id)))
    except (ValueError, Webhook.DoesNotExist):
        raise NotFound(_("There is no webhook %(id)s.") % {"id": str(id)[:80]}) from None


@transaction.atomic
def create_webhook(storage: Storage, by: str, given: Mapping[str, Any]) -> IssuedSecret:
    """Create a webhook, which gets the events from now on. Its secret is shown only this once."""
    columns = checked_fields(storage, given)
    now, secret = timezone.now(), new_secret()
    webhook = Webhook(**columns, secret=sealed(secret), created_on=now, created_by=by, changed_on=now, changed_by=by)
    _note(storage, webhook, "created")
    # After the event of its own creation: the receiver does not have the secret yet.
    webhook.position = number_all_events(storage)
    # Counted now, because numbering that event has locked the log of the storage: other requests that add a webhook
    # wait until this transaction ends, and then count this one as well.
    if Webhook.objects.count() >= MOST_WEBHOOKS:
        text = _("The storage has %(limit)d webhooks already. Delete one first.")
        raise Conflict(text % {"limit": MOST_WEBHOOKS})
    webhook.save(force_insert=True)
    _start(storage, webhook)
    return IssuedSecret(webhook, secret)


@transaction.atomic
def change_webhook(
    storage: Storage, by: str, id: UUID | str, given: Mapping[str, Any], check: Precondition | None = None
) -> Webhook:
    """Change the given fields. A webhook that is enabled again gets the events that it has missed and that are kept."""
    found = find_webhook(id)
    if check is not None:
        check(found)
    # Before the row is locked: looking up a name can take seconds, and all messages of the storage would wait.
    columns = checked_fields(storage, given, found)
    webhook = _locked(id, check)
    if webhook.changed_on != found.changed_on:
        raise Conflict(_("Somebody else has changed the webhook meanwhile. Read it again, then repeat your change."))
    for name, value in columns.items():
        setattr(webhook, name, value)
    if columns.get("is_enabled"):
        if not can_read(webhook):
            raise Conflict(UNREADABLE)
        webhook.disabled_reason = ""
    webhook.rests_until = None
    _save(storage, webhook, by, "changed")
    if webhook.is_enabled:
        _start(storage, webhook)
    return webhook


@transaction.atomic
def delete_webhook(storage: Storage, id: UUID | str, check: Precondition | None = None) -> None:
    """Delete a webhook with its messages and their attempts."""
    webhook = _locked(id, check)
    WebhookAttempt.objects.filter(delivery__webhook=webhook).delete()
    WebhookDelivery.objects.filter(webhook=webhook).delete()
    Webhook.objects.filter(pk=webhook.pk).delete()
    _note(storage, webhook, "deleted")
    # It counts what is left.
    fan_out.enqueue(storage)


@transaction.atomic
def rotate_secret(
    storage: Storage,
    by: str,
    id: UUID | str,
    overlap: timedelta = DEFAULT_OVERLAP,
    check: Precondition | None = None,
) -> IssuedSecret:
    """Give a webhook a new secret; the old one signs beside it until the overlap ends."""
    if not timedelta(0) <= overlap <= LONGEST_OVERLAP:
        text = _("expected 0 to %(days)d days.") % {"days": LONGEST_OVERLAP.days}
        raise Invalid(_("The secret cannot be rotated."), [placed("overlap", text)])
    webhook, now = _locked(id, check), timezone.now()
    is_readable = can_read(webhook)
    if overlap and is_readable and webhook.old_secret_until and webhook.old_secret_until > now:
        raise Conflict(_("The secret before the last rotation is still valid. Wait, or rotate without overlap."))
    secret = new_secret()
    keeps_old = bool(overlap) and is_readable
    webhook.old_secret = webhook.secret if keeps_old else ""
    webhook.old_secret_until = now + overlap if keeps_old else None
    webhook.secret = sealed(secret)
    _save(storage, webhook, by, "secret rotated")
    return IssuedSecret(webhook, secret)


def settle_restored_webhooks(storage: Storage, *, is_copy: bool) -> None:
    """Disable the webhooks of a restored storage that must not or cannot send, and start the others."""
    for webhook in Webhook.objects.filter(is_enabled=True):
        if is_copy or not can_read(webhook):
            disable_webhook(storage, webhook, COPIED if is_copy else UNREADABLE)
        else:
            _start(storage, webhook)


def _start(storage: Storage, webhook: Webhook) -> None:
    """Add the jobs that make and send messages; they keep themselves going."""
    # In the order in which the fan-out adds them: two transactions must not wait for each other.
    deliver.enqueue(storage, webhook=str(webhook.pk))
    fan_out.enqueue(storage)


def _locked(id: UUID | str, check: Precondition | None) -> Webhook:
    webhook = find_webhook(id, lock=True)
    if check is not None:
        check(webhook)
    return webhook


def _save(storage: Storage, webhook: Webhook, by: str, what: str) -> None:
    """Save everything but the position, which the fan-out moves."""
    webhook.changed_on, webhook.changed_by = timezone.now(), by
    names = {field.name for field in Webhook._meta.concrete_fields} - {"id", "storage_id", "position"}
    webhook.save(force_update=True, update_fields=names)
    _note(storage, webhook, what)


def _note(storage: Storage, webhook: Webhook, what: str) -> None:
    """Log a change, and record it among the events of the storage: they tell who changed a webhook, and when (D361)."""
    # Without its address, which often contains a key of the receiver.
    log.info(f"webhook {what}", webhook=str(webhook.pk))
    record_configuration(storage, [f"webhooks.{webhook.pk}"])
