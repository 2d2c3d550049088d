"""From numbered events to messages for webhooks (D341, D366, D368)."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from datetime import timedelta
from typing import Any, NamedTuple
from uuid import UUID

import orjson
import structlog
from django.db import transaction
from django.db.models import Count, Q
from django.utils import timezone

from repository_site.core.database.statements import fetch
from repository_site.core.rest.rendering import to_json
from storage.events.reading import NumberedEvent, cloud_event, read_events
from storage.extension import storage_extensions
from storage.jobs.declaring import job, periodic_job
from storage.jobs.enqueueing import add_missing, retry_failed
from storage.models import DeliveryState, Storage, Webhook, WebhookAttempt, WebhookDelivery, WebhookPayload
from storage.tenancy.scope import tenant_scope
from storage.webhooks.counting import count_webhooks
from storage.webhooks.delivering import delay_after, deliver
from storage.webhooks.message_order import mark_first, mark_subjects_left

log = structlog.get_logger("webhooks")
# Events that one transaction turns into messages, and transactions of one job. An element can have 256 KB.
BATCH = 500
ELEMENT_BATCH = 50
BATCHES = 20
# Messages that can wait for a webhook. With more, its next events wait in the feed (D341).
MOST_WAITING = 10_000
# Seconds until a storage looks for events that were not announced; random, so that storages do not all look at once.
POLL = (45.0, 60.0)
# Characters of an error that are kept.
LONGEST_ERROR = 500
_FAILED = "SELECT id FROM procrastinate_jobs WHERE task_name = %s AND status = 'failed'"
_WITHOUT_JOB = """SELECT c.storage_id::text FROM storage_webhookcount c
    WHERE c.webhooks > c.disabled_webhooks AND NOT EXISTS (
        SELECT FROM procrastinate_jobs j WHERE j.status = 'todo' AND j.queueing_lock = %s || c.storage_id)"""


class RenderedElements(NamedTuple):
    """Elements as JSON, and the errors of those that cannot be rendered, by version."""

    elements: dict[UUID | None, bytes]
    problems: dict[UUID | None, str]


NOTHING_RENDERED = RenderedElements({}, {})


@job("webhooks.fan_out", lock=(), once=True, retry=(5.0,), own_scope=True, on_events=True)
def fan_out(storage: Storage) -> None:
    """Make messages from the new events. A storage with enabled webhooks always has one such job that waits."""
    with tenant_scope(storage):
        is_last = not Webhook.objects.filter(is_enabled=True).exists()
        if count_webhooks(storage, is_last=is_last):
            _send_what_is_due(storage)
        if is_last:
            return
        # Committed before the events are read: an announcement either finds this job, or its event is read now.
        later = timezone.now() + timedelta(seconds=random.uniform(*POLL))  # noqa: S311  not a secret
        fan_out.enqueue_all(storage, [{}], not_before=later)
        waiting = _waiting_messages()
    for _ in range(BATCHES):
        full = [webhook for webhook, number in waiting.items() if number >= MOST_WAITING]
        has_more = [_make_messages(storage, full, waiting, *each) for each in _groups(storage, full)]
        if not any(has_more):
            return
    fan_out.enqueue(storage)


@periodic_job("webhooks.revive", cron="*/10 * * * *")
def revive() -> None:
    """Give storages with enabled webhooks the job that always waits, if it has failed or somebody has deleted it.

    It fails after two attempts, or 25 while the database is unavailable (D335). Nothing else would add it again.
    """
    retry_failed([row[0] for row in fetch(_FAILED, [fan_out.name])])
    lost = [row[0] for row in fetch(_WITHOUT_JOB, [fan_out.lock_of("")])]
    add_missing(fan_out.new_after_events(each) for each in lost)


def _waiting_messages() -> Counter[UUID]:
    rows = WebhookDelivery.objects.filter(state=DeliveryState.WAITING).order_by().values_list("webhook_id")
    return Counter(dict(rows.annotate(number=Count("id"))))


def _send_what_is_due(storage: Storage) -> None:
    """Add the jobs of webhooks whose messages wait, in case a job was deleted or has failed."""
    webhooks = list(Webhook.objects.filter(is_enabled=True).select_for_update())
    for each in webhooks:
        mark_subjects_left(each.pk)
    due = Q(next_attempt_on=None) | Q(next_attempt_on__lte=timezone.now())
    found = WebhookDelivery.objects.filter(due, state=DeliveryState.WAITING, is_first=True).order_by()
    wanted = {*found.values_list("webhook_id", flat=True).distinct()}
    _enqueue_deliveries(storage, [each for each in webhooks if each.pk in wanted])


def _enqueue_deliveries(storage: Storage, webhooks: Iterable[Webhook]) -> None:
    """Add the jobs of webhooks, except of those that rest; these have a job that waits for the end of their rest."""
    now = timezone.now()
    awake = [each for each in webhooks if each.rests_until is None or each.rests_until <= now]
    deliver.enqueue_all(storage, [{"webhook": str(each.pk)} for each in awake])


def _groups(storage: Storage, full: Collection[UUID]) -> list[tuple[int, str]]:
    """Return positions and payloads of the enabled webhooks. Each gets its batches: one that has much to catch up, or
    that wants elements, does not delay the others."""
    with tenant_scope(storage):
        rows = Webhook.objects.filter(is_enabled=True).exclude(pk__in=full).order_by("-position", "-payload")
        return [*rows.values_list("position", "payload").distinct()]


def _make_messages(
    storage: Storage, full: Collection[UUID], waiting: Counter[UUID], position: int, payload: str
) -> bool:
    """Make the messages of one batch of events for webhooks at a position, and return whether there are more."""
    size = ELEMENT_BATCH if payload == WebhookPayload.ELEMENT else BATCH
    events, is_full = read_events(storage, position, size)
    if not events:
        return False
    with tenant_scope(storage):
        # Locked, so that nobody disables or deletes one meanwhile.
        same = Webhook.objects.filter(is_enabled=True, position=position, payload=payload).exclude(pk__in=full)
        webhooks = list(same.select_for_update())
        chosen = [(webhook, [each for each in events if _wants(webhook, each)]) for webhook in webhooks]
        rendered = _rendered(storage, chosen) if payload == WebhookPayload.ELEMENT else NOTHING_RENDERED
        for webhook, wanted in chosen:
            _add_messages(storage, webhook, wanted, rendered)
            waiting[webhook.pk] += len(wanted)
        Webhook.objects.filter(pk__in=[each.pk for each in webhooks]).update(position=events[-1].number)
        _enqueue_deliveries(storage, [webhook for webhook, wanted in chosen if wanted])
    return is_full


def _add_messages(
    storage: Storage, webhook: Webhook, wanted: Sequence[NumberedEvent], rendered: RenderedElements
) -> None:
    if not wanted:
        return
    made = [_message(storage, webhook, each, rendered) for each in wanted]
    # No message is created twice; if one were, the storage must not stop there.
    WebhookDelivery.objects.bulk_create(made, batch_size=BATCH, ignore_conflicts=True)
    WebhookAttempt.objects.bulk_create(
        WebhookAttempt(delivery=each, time=each.created_on, error=rendered.problems[event.version], milliseconds=0)
        for each, event in zip(made, wanted, strict=True)
        if event.version in rendered.problems
    )
    mark_first(webhook.pk, [each.subject for each in wanted])


def _wants(webhook: Webhook, event: NumberedEvent) -> bool:
    if webhook.events and event.type not in webhook.events:
        return False
    filters = ((webhook.facet, event.facet), (webhook.element_type, event.element_type), (webhook.state, event.state))
    return all(not wanted or wanted == found for wanted, found in filters)


def _message(storage: Storage, webhook: Webhook, event: NumberedEvent, rendered: RenderedElements) -> WebhookDelivery:
    """Return the message with the CloudEvent as it is sent: with the element if it is still there and not too large. If
    it cannot be rendered, that was the first attempt, and the next one sends the event alone (D348)."""
    document: dict[str, Any] = cloud_event(f"/{storage.collection.key}/{storage.key}", event)
    if (element := rendered.elements.get(event.version)) is not None:
        document["data"]["element"] = orjson.Fragment(element)
    now = timezone.now()
    message = WebhookDelivery(
        webhook=webhook,
        event_id=event.id,
        number=event.number,
        type=event.type,
        subject_id=event.subject,
        message=to_json(document).decode(),
        created_on=now,
    )
    if event.version in rendered.problems:
        message.attempts, message.first_attempt_on = 1, now
        message.next_attempt_on = now + timedelta(seconds=delay_after(1) or 0.0)
    return message


def _rendered(storage: Storage, chosen: Iterable[tuple[Webhook, Sequence[NumberedEvent]]]) -> RenderedElements:
    """Render the elements of events, each by itself: one that cannot be rendered does not stop the others."""
    found = RenderedElements({}, {})
    show = [each.show_versions for each in storage_extensions if each.show_versions is not None]
    for version in {event.version for _, wanted in chosen for event in wanted if event.version is not None}:
        try:
            with transaction.atomic():
                for each in show:
                    found.elements.update((version, shown) for shown in each(storage, [str(version)]).values())
        except Exception as problem:
            log.warning(
                "element of a message not rendered", storage=str(storage), version=str(version), exc_info=problem
            )
            text = f"{type(problem).__name__}: {problem}"[:LONGEST_ERROR].replace("\0", "")
            found.problems[version] = f"The element cannot be rendered. {text}"
    return found
