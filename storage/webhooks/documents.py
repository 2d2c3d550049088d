"""Webhooks and their messages as the API and `manage.py list_webhooks --json` show them, without empty fields (D8)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from zoneinfo import ZoneInfo

from django.utils import timezone

from repository_site.core.rest.datetimes import wire_datetime
from storage.models import Webhook, WebhookAttempt, WebhookDelivery
from storage.webhooks.checking import (
    BASIC,
    ELEMENT_TYPE,
    EVENTS,
    FACET,
    HEADERS,
    IS_ENABLED,
    PAYLOAD,
    STATE,
    URL,
    USERNAME,
)


def webhook_document(webhook: Webhook, zone: ZoneInfo, secret: str = "") -> dict[str, Any]:
    """Return a webhook. Header values and the password are never shown, the secret only when it is new."""
    until = webhook.old_secret_until
    optional = {
        FACET: webhook.facet,
        ELEMENT_TYPE: webhook.element_type,
        STATE: webhook.state,
        BASIC: {USERNAME: webhook.username} if webhook.username else None,
        "disabledReason": webhook.disabled_reason,
        "oldSecretValidUntil": wire_datetime(until, zone) if until and until > timezone.now() else None,
        "secret": secret,
    }
    return {
        "id": str(webhook.pk),
        URL: webhook.url,
        EVENTS: webhook.events,
        PAYLOAD: webhook.payload,
        HEADERS: dict.fromkeys(webhook.headers),
        IS_ENABLED: webhook.is_enabled,
        "createdOn": wire_datetime(webhook.created_on, zone),
        "createdBy": webhook.created_by,
        "changedOn": wire_datetime(webhook.changed_on, zone),
        "changedBy": webhook.changed_by,
        **{name: value for name, value in optional.items() if value},
    }


def delivery_document(delivery: WebhookDelivery, attempts: Iterable[WebhookAttempt], zone: ZoneInfo) -> dict[str, Any]:
    moments = {"nextAttemptOn": delivery.next_attempt_on, "endedOn": delivery.ended_on}
    return {
        "id": str(delivery.pk),
        "eventId": str(delivery.event_id),
        "type": delivery.type,
        "subject": str(delivery.subject_id),
        "state": delivery.state,
        "createdOn": wire_datetime(delivery.created_on, zone),
        **{name: wire_datetime(moment, zone) for name, moment in moments.items() if moment},
        "attempts": [_attempt(each, zone) for each in attempts],
    }


def _attempt(attempt: WebhookAttempt, zone: ZoneInfo) -> dict[str, Any]:
    optional = {"status": attempt.status, "error": attempt.error, "answer": attempt.answer}
    return {
        "time": wire_datetime(attempt.time, zone),
        "milliseconds": attempt.milliseconds,
        **{name: value for name, value in optional.items() if value},
    }
