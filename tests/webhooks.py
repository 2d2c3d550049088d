"""Webhooks in tests: rows with a known secret, events for them, and time that passes at once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from uuid import UUID, uuid4

from django.db import connection
from django.utils import timezone
from standardwebhooks import Webhook as Verifier

from storage.access.tokens import issue_token
from storage.events.numbering import number_events
from storage.models import DeliveryState, Storage, Webhook, WebhookDelivery
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from storage.webhooks.credentials import new_secret, sealed
from storage.webhooks.message_order import mark_first
from tests.factories import storage_context
from tests.receivers import ReceivedRequest

SECRET = new_secret()
_BRING_FORWARD = "UPDATE procrastinate_jobs SET scheduled_at = NULL WHERE task_name = 'webhooks.deliver'"


def add_webhook(storage: Storage, url: str, **fields: Any) -> Webhook:
    """Add a webhook that gets the events from now on."""
    now = timezone.now()
    known = {"secret": sealed(SECRET), "created_on": now, "changed_on": now, "created_by": "", "changed_by": ""}
    position = number_events(storage)
    with tenant_scope(storage):
        return Webhook.objects.create(**{"url": url, "position": position, **known, **fields})


def make_events(storage: Storage, number: int = 1) -> list[str]:
    """Make events of different subjects, and return their names."""
    names = [f"robot {each}" for each in range(number)]
    for name in names:
        issue_token(storage_context(storage), name, [Role.EDITOR])
    return names


def add_messages(storage: Storage, webhook: Webhook, subjects: list[UUID]) -> list[UUID]:
    """Add a message for each subject, in this order, without an event."""
    now = timezone.now()
    made = [
        WebhookDelivery(
            webhook=webhook,
            event_id=uuid4(),
            number=number,
            type="element.changed",
            subject_id=subject,
            message=json.dumps({"number": number, "subject": str(subject)}),
            created_on=now,
        )
        for number, subject in enumerate(subjects, start=1)
    ]
    with tenant_scope(storage):
        WebhookDelivery.objects.bulk_create(made)
        mark_first(webhook.pk, subjects)
    return [each.pk for each in made]


def pass_time(storage: Storage) -> None:
    """Let everything be due that waits for its next attempt."""
    with tenant_scope(storage):
        WebhookDelivery.objects.filter(state=DeliveryState.WAITING).update(next_attempt_on=None)
    with connection.cursor() as cursor:
        cursor.execute(_BRING_FORWARD)


def verified(received: ReceivedRequest, secret: str = SECRET) -> Any:
    """Return the payload, if the signature is right."""
    headers: Mapping[str, str] = received.headers
    return Verifier(secret).verify(received.body, dict(headers))
