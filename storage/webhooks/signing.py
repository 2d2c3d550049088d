"""Ids and signatures of messages, as Standard Webhooks describes them (https://www.standardwebhooks.com)."""

from __future__ import annotations

import base64
import hmac
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID, uuid5

from storage.webhooks.credentials import SECRET_PREFIX


def message_id(webhook: UUID, event: UUID) -> str:
    """Return the id of a message: the same for every attempt, so a receiver recognises duplicates."""
    return f"msg_{uuid5(webhook, str(event)).hex}"


def signed_headers(id: str, now: datetime, body: bytes, secrets: Sequence[str]) -> dict[str, str]:
    """Return the headers with the signatures of all active secrets."""
    stamp = str(int(now.timestamp()))
    signed = b".".join((id.encode(), stamp.encode(), body))
    signatures = (hmac.digest(_key(secret), signed, "sha256") for secret in secrets)
    return {
        "webhook-id": id,
        "webhook-timestamp": stamp,
        "webhook-signature": " ".join(f"v1,{base64.b64encode(each).decode()}" for each in signatures),
    }


def _key(secret: str) -> bytes:
    return base64.b64decode(secret.removeprefix(SECRET_PREFIX))
