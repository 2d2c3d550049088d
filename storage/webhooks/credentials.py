"""Secrets, fixed headers and basic authentication of webhooks, encrypted at rest (D360)."""

from __future__ import annotations

import base64
import secrets
from datetime import datetime

from repository_site.core.sealing import seal, unseal
from storage.models import Webhook

PURPOSE = "webhooks"
# Standard Webhooks asks for 24 to 64 bytes.
SECRET_BYTES = 32
SECRET_PREFIX = "whsec_"


def new_secret() -> str:
    return SECRET_PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def sealed(text: str) -> str:
    return seal(text, PURPOSE) if text else ""


def active_secrets(webhook: Webhook, now: datetime) -> list[str]:
    """Return the secrets that sign now, the current one first; raise Unsealable if they cannot be read here."""
    found = [webhook.secret]
    if webhook.old_secret and webhook.old_secret_until and webhook.old_secret_until > now:
        found.append(webhook.old_secret)
    return [unseal(each, PURPOSE) for each in found]


def sent_headers(webhook: Webhook) -> dict[str, str]:
    """Return the fixed headers of every request to the receiver, with its basic authentication."""
    found = {name: unseal(value, PURPOSE) for name, value in webhook.headers.items()}
    if webhook.username:
        password = unseal(webhook.password, PURPOSE) if webhook.password else ""
        found["Authorization"] = "Basic " + base64.b64encode(f"{webhook.username}:{password}".encode()).decode()
    return found
