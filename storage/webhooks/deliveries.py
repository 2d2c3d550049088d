"""Messages for a webhook as people see them: the list, a test, and sending messages again."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC
from uuid import UUID, uuid4

from django.db import transaction
from django.db.models import Count, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from repository_site.core.problems import Conflict, NotFound
from repository_site.core.rest.rendering import to_json
from storage.models import DeliveryState, Storage, Webhook, WebhookAttempt, WebhookDelivery
from storage.webhooks.changing import find_webhook
from storage.webhooks.delivering import deliver
from storage.webhooks.message_order import mark_first_again

TEST = "webhook.test"


def deliveries_of(webhook: Webhook, state: str = "") -> QuerySet[WebhookDelivery]:
    """Return the messages for a webhook, newest first, without their texts: a page of them could be very large."""
    found = WebhookDelivery.objects.filter(webhook=webhook).defer("message")
    return found.filter(state=state) if state else found


def attempts_of(deliveries: Collection[WebhookDelivery]) -> dict[UUID, list[WebhookAttempt]]:
    """Return the attempts to send messages, by message. Django's own prefetching leaves reference cycles."""
    found: dict[UUID, list[WebhookAttempt]] = {each.pk: [] for each in deliveries}
    for attempt in WebhookAttempt.objects.filter(delivery_id__in=list(found)):
        found[attempt.delivery_id].append(attempt)
    return found


def undelivered_messages() -> dict[tuple[UUID, str], int]:
    """Count the messages that wait and the dead letters, by webhook and state."""
    found: dict[tuple[UUID, str], int] = {}
    # Each state has its index; delivered messages are many.
    for state in (DeliveryState.WAITING, DeliveryState.DEAD):
        rows = WebhookDelivery.objects.filter(state=state).order_by().values_list("webhook_id")
        found |= {(webhook, state): number for webhook, number in rows.annotate(number=Count("id"))}
    return found


@transaction.atomic
def send_test(storage: Storage, id: UUID | str) -> WebhookDelivery:
    """Send an event of the type `webhook.test`, in the same way as all others."""
    webhook, now, event = _enabled(id), timezone.now(), uuid4()
    message = {
        "specversion": "1.0",
        "id": str(event),
        "source": f"/{storage.collection.key}/{storage.key}",
        "type": TEST,
        # No test waits for an earlier one.
        "subject": str(event),
        "time": f"{now.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%f}Z",
        "datacontenttype": "application/json",
        "data": {"webhookId": str(webhook.pk)},
    }
    delivery = WebhookDelivery.objects.create(
        webhook=webhook,
        event_id=event,
        number=0,
        type=TEST,
        subject_id=event,
        is_first=True,
        message=to_json(message).decode(),
        created_on=now,
    )
    _send_now(storage, webhook)
    return delivery


@transaction.atomic
def redeliver(storage: Storage, id: UUID | str, deliveries: Collection[UUID] | None = None) -> int:
    """Send messages again, or all dead letters; return how many. They keep their ids: receivers notice duplicates."""
    webhook = _enabled(id)
    found = WebhookDelivery.objects.filter(webhook=webhook)
    if deliveries is None:
        found = found.filter(state=DeliveryState.DEAD)
    else:
        known = set(found.filter(pk__in=deliveries).values_list("pk", flat=True))
        if missing := sorted(str(each) for each in set(deliveries) - known):
            text = _("This webhook has no delivery %(ids)s.")
            raise NotFound(text % {"ids": ", ".join(missing[:5])})
        found = found.filter(pk__in=deliveries)
    ended = found.exclude(state=DeliveryState.WAITING)
    subjects = {*ended.order_by().values_list("subject_id", flat=True)}
    number = ended.update(
        state=DeliveryState.WAITING, attempts=0, first_attempt_on=None, next_attempt_on=None, ended_on=None
    )
    if number:
        mark_first_again(webhook.pk, subjects)
        _send_now(storage, webhook)
    return number


def _send_now(storage: Storage, webhook: Webhook) -> None:
    """Add the job. A person who asks for a message does not wait for the end of a rest (D345)."""
    Webhook.objects.filter(pk=webhook.pk).update(rests_until=None)
    deliver.enqueue(storage, webhook=str(webhook.pk))


def _enabled(id: UUID | str) -> Webhook:
    # Locked, so that nobody deletes it meanwhile.
    webhook = find_webhook(id, lock=True)
    if not webhook.is_enabled:
        raise Conflict(_("The webhook is disabled, so it sends nothing. Enable it first."))
    return webhook
