"""Sending messages to the receivers of webhooks (D340, D366, D367)."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

from django.db.models import Min
from django.utils import timezone

from repository_site import __version__
from repository_site.core.database.pool import release_connection
from repository_site.core.database.statements import fetch
from repository_site.core.fairness.shares import Shares
from repository_site.core.outgoing import OutgoingAnswer, post
from repository_site.core.sealing import Unsealable
from storage.jobs.declaring import job
from storage.jobs.enqueueing import NETWORK, NETWORK_PLACES
from storage.models import DeliveryState, Storage, Webhook, WebhookAttempt, WebhookDelivery
from storage.tenancy.scope import tenant_scope
from storage.webhooks.credentials import active_secrets, sent_headers
from storage.webhooks.disabling import GONE, UNREADABLE, disable_webhook
from storage.webhooks.message_order import mark_first
from storage.webhooks.signing import message_id, signed_headers

MINUTE, HOUR = 60.0, 3600.0
# Seconds from an attempt to the next one; each is up to a fifth longer. Together they are more than a day.
RETRIES = (
    5.0, 30.0, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 4 * HOUR, 8 * HOUR, 9 * HOUR,
)  # fmt: skip
JITTER = 0.2
# Messages for a receiver at the same time; it gets one at first, and twice as many after each success.
MOST_AT_ONCE = 8
# Seconds after which the turn of a webhook ends, and others get theirs.
TURN = 2.0
# Failures in a row after which it ends, too, and seconds until the next one.
FAILURES = 3
REST = 10.0
# Longest pause, in seconds, that a Retry-After can ask for.
LONGEST_PAUSE = HOUR
# Seconds until a webhook without a place asks again.
NO_PLACE = 1.0
KEPT_BYTES = 1024
CONTENT_TYPE = "application/cloudevents+json"
# A storage can have half of the places of a worker, two can have a third each (D198).
places = Shares(NETWORK_PLACES)
# Reads no message that waits behind another one of its subject.
_DUE = """SELECT d.id, d.event_id, d.subject_id, d.message, d.attempts FROM storage_webhookdelivery d
    WHERE d.webhook_id = %s AND d.state = 'waiting' AND d.is_first
        AND (d.next_attempt_on IS NULL OR d.next_attempt_on <= %s)
    ORDER BY d.number, d.id LIMIT %s"""


@dataclass(frozen=True, slots=True)
class DueMessage:
    delivery: UUID
    event: UUID
    subject: UUID
    message: str
    attempts: int


@dataclass(frozen=True, slots=True)
class SentMessage:
    due: DueMessage
    began: datetime
    answer: OutgoingAnswer

    @property
    def is_delivered(self) -> bool:
        return self.answer.status is not None and 200 <= self.answer.status < 300

    @property
    def is_gone(self) -> bool:
        return self.answer.status == 410

    @property
    def pause(self) -> float:
        """Seconds for which the receiver asks to be left alone (D345)."""
        return min(self.answer.retry_after, LONGEST_PAUSE) if self.answer.status in (429, 503) else 0.0


@dataclass(frozen=True, slots=True)
class ReceiverOfMessages:
    """A webhook with its opened credentials, which stay in memory for one turn."""

    webhook: Webhook
    secrets: Sequence[str]
    headers: dict[str, str]


@job("webhooks.deliver", lock=("webhook",), once=True, retry=(5.0,), own_scope=True, queue=NETWORK)
def deliver(storage: Storage, webhook: str) -> None:
    """Send what is due to one webhook, for a while. The job adds itself again while there is something to send."""
    if not places.take(storage.pk):
        _again(storage, webhook, NO_PLACE)
        return
    try:
        _take_turn(storage, webhook)
    finally:
        places.give_back(storage.pk)


def _take_turn(storage: Storage, webhook: str) -> None:
    """Send batches until nothing is due, the time is over, or the receiver fails. Nothing is locked meanwhile: if the
    process dies, what it has sent and not recorded is sent again."""
    end, at_once, failures = time.monotonic() + TURN, 1, 0
    sent: list[SentMessage] = []
    while True:
        with tenant_scope(storage):
            failures = _failures_in_a_row(failures, sent)
            pause = max((each.pause for each in sent), default=0.0)
            is_over = bool(pause) or failures >= FAILURES or time.monotonic() >= end
            receiver = _record(storage, webhook, sent)
            if receiver and not sent and (seconds := _seconds_of_rest(receiver.webhook)):
                _again(storage, webhook, seconds)
                return
            due = _due(webhook, at_once) if receiver and not is_over else []
            if receiver and is_over:
                _rest(storage, receiver.webhook, max(pause, REST if failures else 0.0))
            elif receiver and not due:
                _plan_next_attempt(storage, receiver.webhook)
        release_connection()
        if receiver is None or not due:
            return
        sent = _send_all(receiver, due)
        at_once = min(2 * at_once, MOST_AT_ONCE) if all(each.is_delivered for each in sent) else 1


def _failures_in_a_row(before: int, sent: Sequence[SentMessage]) -> int:
    for each in sent:
        before = 0 if each.is_delivered else before + 1
    return before


def _due(webhook: str, most: int) -> list[DueMessage]:
    return [DueMessage(*row) for row in fetch(_DUE, [webhook, timezone.now(), most])]


def _seconds_of_rest(webhook: Webhook) -> float:
    until = webhook.rests_until
    return max(0.0, (until - timezone.now()).total_seconds()) if until else 0.0


def _rest(storage: Storage, webhook: Webhook, seconds: float) -> None:
    """End a turn. New messages must not wake a webhook that rests: many receivers that fail would keep the worker from
    the others."""
    if seconds:
        until = timezone.now() + timedelta(seconds=seconds)
        Webhook.objects.filter(pk=webhook.pk).update(rests_until=until)
    _again(storage, str(webhook.pk), seconds)


def _plan_next_attempt(storage: Storage, webhook: Webhook) -> None:
    waiting = WebhookDelivery.objects.filter(webhook=webhook, state=DeliveryState.WAITING, is_first=True)
    next_attempt = waiting.aggregate(first=Min("next_attempt_on"))["first"]
    if next_attempt is not None:
        _again(storage, str(webhook.pk), (next_attempt - timezone.now()).total_seconds())


def _again(storage: Storage, webhook: str, seconds: float) -> None:
    moment = timezone.now() + timedelta(seconds=seconds) if seconds else None
    deliver.enqueue_all(storage, [{"webhook": webhook}], not_before=moment)


def _send_all(receiver: ReceiverOfMessages, due: Sequence[DueMessage]) -> list[SentMessage]:
    if len(due) == 1:
        return [_send(receiver, due[0])]
    with ThreadPoolExecutor(len(due), thread_name_prefix="webhook") as threads:
        return list(threads.map(partial(_send, receiver), due))


def _send(receiver: ReceiverOfMessages, due: DueMessage) -> SentMessage:
    now, body = timezone.now(), due.message.encode()
    own = {"Content-Type": CONTENT_TYPE, "User-Agent": f"content-repository/{__version__}"}
    signed = signed_headers(message_id(receiver.webhook.pk, due.event), now, body, receiver.secrets)
    return SentMessage(due, now, post(receiver.webhook.url, {**receiver.headers, **own, **signed}, body))


def _record(storage: Storage, webhook: str, sent: Sequence[SentMessage]) -> ReceiverOfMessages | None:
    """Record attempts, and return the webhook if it still gets messages."""
    # Locked before its messages, as by those who delete it: they must not miss an attempt that is recorded meanwhile.
    rows = Webhook.objects.select_for_update() if sent else Webhook.objects.all()
    found = rows.filter(pk=webhook).first()
    if found is None:
        return None
    if ended := [each for each in sent if _end_attempt(each)]:
        WebhookAttempt.objects.bulk_create([_attempt(each) for each in ended])
        mark_first(found.pk, [each.due.subject for each in ended])
    if found.is_enabled and any(each.is_gone for each in sent):
        disable_webhook(storage, found, GONE)
    return _opened(storage, found) if found.is_enabled else None


def _opened(storage: Storage, webhook: Webhook) -> ReceiverOfMessages | None:
    try:
        return ReceiverOfMessages(webhook, active_secrets(webhook, timezone.now()), sent_headers(webhook))
    except Unsealable:
        disable_webhook(storage, webhook, UNREADABLE)
        return None


def _end_attempt(sent: SentMessage) -> bool:
    """Change the message; return False if it has been deleted or changed meanwhile."""
    now, attempts = timezone.now(), sent.due.attempts + 1
    changes: dict[str, Any] = {"attempts": attempts, "next_attempt_on": None}
    if attempts == 1:
        changes["first_attempt_on"] = sent.began
    if sent.is_delivered:
        changes |= {"state": DeliveryState.DELIVERED, "ended_on": now, "is_first": False}
    # A webhook that is gone is disabled. If somebody enables it again, it gets the message at once.
    elif not sent.is_gone:
        changes |= _after_failure(attempts, now, sent.pause)
    rows = WebhookDelivery.objects.filter(pk=sent.due.delivery, state=DeliveryState.WAITING, attempts=sent.due.attempts)
    return bool(rows.update(**changes))


def _after_failure(attempts: int, now: datetime, pause: float) -> dict[str, Any]:
    delay = delay_after(attempts)
    if delay is None:
        return {"state": DeliveryState.DEAD, "ended_on": now, "is_first": False}
    return {"next_attempt_on": now + timedelta(seconds=max(delay, pause))}


def delay_after(attempts: int) -> float | None:
    """Return the seconds until the next attempt after this many failed ones; None after the last one."""
    if attempts > len(RETRIES):
        return None
    return RETRIES[attempts - 1] * random.uniform(1, 1 + JITTER)  # noqa: S311  not a secret


def _attempt(sent: SentMessage) -> WebhookAttempt:
    answer = sent.answer
    return WebhookAttempt(
        delivery_id=sent.due.delivery,
        time=sent.began,
        status=answer.status,
        error=answer.error,
        milliseconds=answer.milliseconds,
        answer=answer.body[:KEPT_BYTES].decode(errors="replace").replace("\0", "\ufffd"),
    )
