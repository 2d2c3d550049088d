"""Numbers of webhooks and their messages, which monitoring reads without entering a storage (D157)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db.models import Count, Min, Q
from django.utils import timezone

from storage.models import DeliveryState, Storage, Webhook, WebhookCount, WebhookDelivery

# Seconds between two counts of a storage.
COUNT_SECONDS = 40.0


def count_webhooks(storage: Storage, *, is_last: bool = False) -> bool:
    """Count in the scope of the storage, if the last count is a minute old, or if no other one follows. Return whether
    it has counted."""
    now = timezone.now()
    recent = WebhookCount.objects.filter(storage=storage, counted_on__gt=now - timedelta(seconds=COUNT_SECONDS))
    if not is_last and recent.exists():
        return False
    WebhookCount.objects.update_or_create(storage=storage, defaults={"counted_on": now, **_numbers()})
    return True


def _numbers() -> dict[str, Any]:
    webhooks = Webhook.objects.aggregate(
        webhooks=Count("id"), disabled_webhooks=Count("id", filter=Q(is_enabled=False))
    )
    # The indexes of both states are small; delivered messages are many.
    waiting = WebhookDelivery.objects.filter(state=DeliveryState.WAITING).aggregate(
        waiting_messages=Count("id"), waiting_since=Min("created_on")
    )
    dead = WebhookDelivery.objects.filter(state=DeliveryState.DEAD).aggregate(dead_letters=Count("id"))
    return {**webhooks, **waiting, **dead}
