"""Deleting old attempts and messages."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from django.utils import timezone

from storage.models import Storage, Webhook, WebhookAttempt, WebhookDelivery
from storage.tenancy.scope import tenant_scope

ATTEMPT_DAYS = 30
# Rows that one transaction deletes.
BATCH = 5000


def forget_old_messages(storage: Storage) -> None:
    """Delete attempts after 30 days, and messages with their attempts when events of that time are deleted."""
    now = timezone.now()
    while _forget_attempts(storage, now - timedelta(days=ATTEMPT_DAYS)):
        pass
    with tenant_scope(storage):
        webhooks = list(Webhook.objects.order_by().values_list("pk", flat=True))
    for webhook in webhooks:
        while _forget_messages(storage, webhook, now - timedelta(days=storage.event_days)):
            pass


def _forget_attempts(storage: Storage, before: datetime) -> int:
    with tenant_scope(storage):
        old = WebhookAttempt.objects.filter(time__lt=before).order_by("time").values_list("pk", flat=True)[:BATCH]
        return WebhookAttempt.objects.filter(pk__in=list(old)).delete()[0]


def _forget_messages(storage: Storage, webhook: UUID, before: datetime) -> int:
    """Delete the oldest messages of a webhook, which the index of its times finds."""
    with tenant_scope(storage):
        # Locked, so that nobody records an attempt of a deleted message.
        list(Webhook.objects.filter(pk=webhook).select_for_update())
        rows = WebhookDelivery.objects.filter(webhook_id=webhook, created_on__lt=before).order_by("created_on")
        old = list(rows.values_list("pk", flat=True)[:BATCH])
        WebhookAttempt.objects.filter(delivery__in=old).delete()
        return WebhookDelivery.objects.filter(pk__in=old).delete()[0]
