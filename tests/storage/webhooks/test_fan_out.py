"""Messages of events: which webhooks get which, once, and in the order of the feed."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from prometheus_client import CollectorRegistry, generate_latest

from repository_site.operations.metrics.page import InstallationCollector
from storage.events.reading import cloud_event, read_events
from storage.jobs.enqueueing import bring_forward
from storage.models import DeliveryState, QueuedJob, Storage, Webhook, WebhookAttempt, WebhookCount, WebhookDelivery
from storage.tenancy.scope import tenant_scope
from storage.webhooks import fan_out as module
from storage.webhooks.changing import delete_webhook
from storage.webhooks.fan_out import fan_out, revive
from storage.webhooks.pruning import forget_old_messages
from tests.jobs import waiting_jobs
from tests.webhooks import add_messages, add_webhook, make_events

pytestmark = pytest.mark.django_db
NOWHERE = "https://receiver.invalid/"


def messages(storage: Storage, webhook: Webhook) -> list[dict[str, Any]]:
    with tenant_scope(storage):
        rows = WebhookDelivery.objects.filter(webhook=webhook).order_by("number")
        return [json.loads(each) for each in rows.values_list("message", flat=True)]


def test_messages_are_the_events_of_the_feed(storage: Storage, other_storage: Storage) -> None:
    make_events(storage)
    webhook = add_webhook(storage, NOWHERE)
    make_events(storage, 3)
    make_events(other_storage)
    fan_out(storage)
    fan_out(storage)
    events = read_events(storage, 1, 10).events
    assert messages(storage, webhook) == [cloud_event("/acme/handbook", each) for each in events]
    assert len(events) == 3
    with tenant_scope(storage):
        assert Webhook.objects.get().position == 4
        rows = WebhookDelivery.objects.order_by("number").values_list("event_id", "number", "subject_id", "state")
        assert [*rows] == [(each.id, each.number, each.subject, "waiting") for each in events]
    storage_id, webhook_id = str(storage.pk), str(webhook.pk)
    assert waiting_jobs() == [
        ("webhooks.fan_out", {"storage": storage_id, "arguments": {}}),
        ("webhooks.deliver", {"storage": storage_id, "arguments": {"webhook": webhook_id}}),
    ]
    with tenant_scope(other_storage):
        assert not WebhookDelivery.objects.exists()


def test_filters(storage: Storage) -> None:
    everything = add_webhook(storage, NOWHERE)
    wanted = add_webhook(storage, NOWHERE, events=["token.created", "element.created"])
    others = add_webhook(storage, NOWHERE, events=["element.created"])
    placed = add_webhook(storage, NOWHERE, facet="processes")
    disabled = add_webhook(storage, NOWHERE, is_enabled=False)
    make_events(storage)
    fan_out(storage)
    found = [len(messages(storage, each)) for each in (everything, wanted, others, placed, disabled)]
    assert found == [1, 1, 0, 0, 0]
    with tenant_scope(storage):
        assert [*Webhook.objects.order_by("created_on").values_list("position", flat=True)] == [1, 1, 1, 1, 0]


def test_many_events_take_several_transactions(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BATCH", 2)
    monkeypatch.setattr(module, "BATCHES", 2)
    webhook = add_webhook(storage, NOWHERE)
    make_events(storage, 5)
    fan_out(storage)
    assert len(messages(storage, webhook)) == 4
    # The waiting job is due at once, and not in a minute.
    assert ("webhooks.fan_out", True) in due_jobs()
    fan_out(storage)
    assert len(messages(storage, webhook)) == 5


def due_jobs() -> list[tuple[str, bool]]:
    rows = QueuedJob.objects.filter(status=QueuedJob.TODO).order_by("id").values_list("name", "scheduled_at")
    return [(name, at is None or at <= timezone.now()) for name, at in rows]


def test_webhook_that_is_behind_catches_up(storage: Storage) -> None:
    behind = add_webhook(storage, NOWHERE)
    make_events(storage, 2)
    ahead = add_webhook(storage, NOWHERE)
    make_events(storage)
    fan_out(storage)
    assert (len(messages(storage, behind)), len(messages(storage, ahead))) == (3, 1)


def test_webhook_that_catches_up_does_not_delay_the_others(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BATCH", 2)
    monkeypatch.setattr(module, "BATCHES", 1)
    behind = add_webhook(storage, NOWHERE)
    make_events(storage, 4)
    ahead = add_webhook(storage, NOWHERE)
    make_events(storage)
    fan_out(storage)
    assert (len(messages(storage, behind)), len(messages(storage, ahead))) == (2, 1)
    fan_out(storage)
    fan_out(storage)
    assert (len(messages(storage, behind)), len(messages(storage, ahead))) == (5, 1)
    with tenant_scope(storage):
        assert [*Webhook.objects.values_list("position", flat=True)] == [5, 5]


def test_webhooks_with_elements_have_smaller_batches(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ELEMENT_BATCH", 1)
    monkeypatch.setattr(module, "BATCHES", 1)
    large, thin = add_webhook(storage, NOWHERE, payload="element"), add_webhook(storage, NOWHERE)
    make_events(storage, 2)
    fan_out(storage)
    assert (len(messages(storage, large)), len(messages(storage, thin))) == (1, 2)


def test_a_webhook_with_very_many_waiting_messages_pauses(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its events wait in the feed, so none is lost. Others go on."""
    monkeypatch.setattr(module, "BATCH", 1)
    monkeypatch.setattr(module, "MOST_WAITING", 3)
    slow, other = add_webhook(storage, NOWHERE), add_webhook(storage, NOWHERE)
    add_messages(storage, slow, [slow.pk])
    make_events(storage, 5)
    fan_out(storage)
    assert (len(messages(storage, slow)), len(messages(storage, other))) == (3, 3)
    with tenant_scope(storage):
        assert [*Webhook.objects.order_by("position").values_list("position", flat=True)] == [2, 3]
        WebhookDelivery.objects.filter(webhook=other).update(state=DeliveryState.DELIVERED)
    fan_out(storage)
    assert (len(messages(storage, slow)), len(messages(storage, other))) == (3, 5)
    with tenant_scope(storage):
        WebhookDelivery.objects.update(state=DeliveryState.DELIVERED)
    fan_out(storage)
    expected = [cloud_event("/acme/handbook", each) for each in read_events(storage, 0, 10).events]
    assert [each for each in messages(storage, slow) if "id" in each] == messages(storage, other) == expected


def test_storages_do_not_look_for_events_at_the_same_time(storage: Storage, other_storage: Storage) -> None:
    for each in (storage, other_storage):
        add_webhook(each, NOWHERE)
        fan_out(each)
    now = timezone.now()
    rows = QueuedJob.objects.filter(name="webhooks.fan_out").values_list("scheduled_at", flat=True)
    first, second = sorted((at - now).total_seconds() for at in rows if at is not None)
    assert 30 < first < second <= 60


def test_messages_without_a_first_one_are_sent_after_all(storage: Storage) -> None:
    """A worker of an older release does not mark them."""
    webhook = add_webhook(storage, NOWHERE)
    first, _behind, other = add_messages(storage, webhook, [webhook.pk, webhook.pk, storage.pk])
    with tenant_scope(storage):
        WebhookDelivery.objects.update(is_first=False)
    fan_out(storage)
    with tenant_scope(storage):
        assert {*WebhookDelivery.objects.filter(is_first=True).values_list("pk", flat=True)} == {first, other}
    assert ("webhooks.deliver", True) in due_jobs()


def test_announced_storages_run_their_waiting_job_at_once(storage: Storage, other_storage: Storage) -> None:
    """The job waits for a minute otherwise. A storage without webhooks has none."""
    add_webhook(storage, NOWHERE)
    fan_out(storage)
    assert due_jobs() == [("webhooks.fan_out", False)]
    bring_forward([fan_out.lock_of(str(other_storage.pk))])
    assert due_jobs() == [("webhooks.fan_out", False)]
    bring_forward([fan_out.lock_of(str(each.pk)) for each in (storage, other_storage)])
    assert due_jobs() == [("webhooks.fan_out", True)]


def test_a_lost_job_is_added_again(storage: Storage, other_storage: Storage) -> None:
    """Without its job, a storage would send nothing until somebody changes a webhook."""
    add_webhook(storage, NOWHERE)
    add_webhook(other_storage, NOWHERE, is_enabled=False)
    for each in (storage, other_storage):
        fan_out(each)
    revive()
    assert due_jobs() == [("webhooks.fan_out", False)]
    QueuedJob.objects.update(status=QueuedJob.FAILED)
    revive()
    assert due_jobs() == [("webhooks.fan_out", True)]
    assert QueuedJob.objects.count() == 1
    QueuedJob.objects.all().delete()
    revive()
    assert waiting_jobs() == [("webhooks.fan_out", {"storage": str(storage.pk), "arguments": {}})]
    assert due_jobs() == [("webhooks.fan_out", True)]


def test_no_job_waits_without_an_enabled_webhook(storage: Storage) -> None:
    webhook = add_webhook(storage, NOWHERE, is_enabled=False)
    fan_out(storage)
    assert due_jobs() == []
    with tenant_scope(storage):
        Webhook.objects.filter(pk=webhook.pk).delete()
    fan_out(storage)
    assert due_jobs() == []


def test_numbers_for_monitoring(storage: Storage, other_storage: Storage) -> None:
    webhook = add_webhook(storage, NOWHERE)
    add_webhook(storage, NOWHERE, is_enabled=False)
    first, second, third = add_messages(storage, webhook, [webhook.pk] * 3)
    with tenant_scope(storage):
        WebhookDelivery.objects.filter(pk=first).update(state=DeliveryState.DEAD)
        WebhookDelivery.objects.filter(pk=second).update(state=DeliveryState.DELIVERED)
        since = WebhookDelivery.objects.get(pk=third).created_on
    fan_out(storage)
    fan_out(other_storage)
    counted = WebhookCount.objects.get(storage=storage)
    found = counted.webhooks, counted.disabled_webhooks, counted.waiting_messages, counted.dead_letters
    assert (found, counted.waiting_since) == ((2, 1, 1, 1), since)
    registry = CollectorRegistry()
    registry.register(InstallationCollector())
    lines = [line for line in generate_latest(registry).decode().splitlines() if line.startswith("repository_webhook")]
    assert lines[:4] == [
        'repository_webhooks{state="enabled"} 1.0',
        'repository_webhooks{state="disabled"} 1.0',
        'repository_webhook_messages{state="waiting"} 1.0',
        'repository_webhook_messages{state="dead"} 1.0',
    ]
    assert 0 < float(lines[4].removeprefix("repository_webhook_messages_oldest_seconds ")) < 60
    # A message whose job was lost is sent after all.
    assert ("webhooks.deliver", True) in due_jobs()
    # The next count is a minute later.
    with tenant_scope(storage):
        WebhookDelivery.objects.all().delete()
    fan_out(storage)
    assert WebhookCount.objects.get(storage=storage).waiting_messages == 1
    WebhookCount.objects.update(counted_on=timezone.now() - timedelta(minutes=1))
    fan_out(storage)
    assert WebhookCount.objects.get(storage=storage).waiting_messages == 0


def test_monitoring_forgets_a_webhook_that_was_deleted(storage: Storage) -> None:
    """Nothing counts later: without an enabled webhook, no job follows."""
    webhook = add_webhook(storage, NOWHERE, is_enabled=False)
    add_messages(storage, webhook, [webhook.pk])
    fan_out(storage)
    counted = WebhookCount.objects.get(storage=storage)
    assert (counted.disabled_webhooks, counted.waiting_messages) == (1, 1)
    with tenant_scope(storage):
        delete_webhook(storage, webhook.pk)
    assert due_jobs() == [("webhooks.fan_out", True)]
    fan_out(storage)
    counted = WebhookCount.objects.get(storage=storage)
    assert (counted.webhooks, counted.disabled_webhooks, counted.waiting_messages) == (0, 0, 0)


def test_old_messages_are_deleted(storage: Storage) -> None:
    webhook = add_webhook(storage, NOWHERE)
    old, middle, new = add_messages(storage, webhook, [webhook.pk] * 3)
    now = timezone.now()
    with tenant_scope(storage):
        for pk, days in ((old, 91), (middle, 31), (new, 29)):
            moment = now - timedelta(days=days)
            WebhookDelivery.objects.filter(pk=pk).update(created_on=moment)
            WebhookAttempt.objects.create(delivery_id=pk, time=moment, milliseconds=1)
    forget_old_messages(storage)
    with tenant_scope(storage):
        assert {*WebhookDelivery.objects.values_list("pk", flat=True)} == {middle, new}
        assert {*WebhookAttempt.objects.values_list("delivery_id", flat=True)} == {new}
