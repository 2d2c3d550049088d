"""Disabling a webhook, by a person or because its receiver or its secrets are gone."""

from __future__ import annotations

import structlog
from django.utils import timezone
from django.utils.translation import gettext_noop

from repository_site.core.sealing import Unsealable
from storage.events.recording import record_configuration
from storage.models import Storage, Webhook
from storage.webhooks.credentials import active_secrets, sent_headers

log = structlog.get_logger("webhooks")
GONE = gettext_noop("The receiver answered 410 Gone.")
UNREADABLE = gettext_noop(
    "This installation cannot read the secrets of the webhook: they were encrypted with another secret key."
    " Rotate the secret, and enter headers and password again."
)
COPIED = gettext_noop(
    "The storage is a copy of another one. Enable the webhook if its receiver should get the events of the copy."
)


def disable_webhook(storage: Storage, webhook: Webhook, reason: str) -> None:
    """Stop deliveries to a webhook, in the scope of its storage. Its events wait until it is enabled again. The change
    is among the events of the storage, like every other one (D361)."""
    now = timezone.now()
    Webhook.objects.filter(pk=webhook.pk).update(is_enabled=False, disabled_reason=reason, changed_on=now)
    webhook.is_enabled, webhook.disabled_reason, webhook.changed_on = False, reason, now
    log.warning("webhook disabled", webhook=str(webhook.pk), reason=reason)
    record_configuration(storage, [f"webhooks.{webhook.pk}"])


def can_read(webhook: Webhook) -> bool:
    """Return whether this installation can read all secrets of a webhook."""
    try:
        active_secrets(webhook, timezone.now())
        sent_headers(webhook)
    except Unsealable:
        return False
    return True
