"""Delivery to real receivers: signatures, order, retries, dead letters, and receivers that behave badly."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator, Sequence
from datetime import timedelta
from ipaddress import ip_network
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import Settings

from repository_site import __version__
from repository_site.core.database.statements import fetch, set_for_transaction
from repository_site.core.outgoing import posting
from storage.events.reading import read_events
from storage.jobs.enqueueing import NETWORK_PLACES
from storage.models import DeliveryState, QueuedJob, Storage, Webhook, WebhookAttempt, WebhookDelivery
from storage.tenancy.scope import tenant_scope
from storage.webhooks import delivering
from storage.webhooks.credentials import new_secret, sealed
from storage.webhooks.deliveries import redeliver, send_test
from storage.webhooks.delivering import JITTER, RETRIES, delay_after, deliver, places
from storage.webhooks.disabling import GONE, UNREADABLE
from storage.webhooks.fan_out import fan_out
from storage.webhooks.signing import message_id
from tests.jobs import run_jobs
from tests.receivers import Receiver, receiving
from tests.scale import first_quick
from tests.webhooks import SECRET, add_messages, add_webhook, make_events, pass_time, verified

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _reach_this_machine(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.WEBHOOK_NETWORKS = (ip_network("127.0.0.0/8"),)
    monkeypatch.setattr(posting, "WHOLE_SECONDS", 60.0)
    monkeypatch.setattr(posting, "CONNECT_SECONDS", 60.0)
    monkeypatch.setattr(delivering, "TURN", 60.0)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


def send(storage: Storage, webhook: Webhook) -> None:
    deliver(storage, webhook=str(webhook.pk))


def states(storage: Storage) -> list[tuple[str, int]]:
    with tenant_scope(storage):
        return [*WebhookDelivery.objects.order_by("number").values_list("state", "attempts")]


def attempts(storage: Storage) -> list[tuple[int | None, str, str]]:
    with tenant_scope(storage):
        return [*WebhookAttempt.objects.order_by("time").values_list("status", "error", "answer")]


def planned(name: str = "webhooks.deliver") -> list[float | None]:
    """Return the seconds until the waiting jobs, None for those that are due."""
    rows = QueuedJob.objects.filter(status=QueuedJob.TODO, name=name).values_list("scheduled_at", flat=True)
    return [None if at is None else (at - timezone.now()).total_seconds() for at in rows]


def numbers(receiver: Receiver) -> list[int]:
    return [json.loads(each.body)["number"] for each in receiver.requests]


def test_event_reaches_its_receiver_signed(storage: Storage, other_storage: Storage, receiver: Receiver) -> None:
    webhook = add_webhook(
        storage, receiver.url("hook?a=1"), headers={"X-Key": sealed("abc")}, username="me", password=sealed("pässword")
    )
    add_webhook(other_storage, receiver.url("other"))
    make_events(storage)
    fan_out.enqueue(storage)
    assert run_jobs() == ["webhooks.fan_out", "webhooks.deliver"]
    (received,) = receiver.requests
    assert verified(received)["type"] == "token.created"
    with tenant_scope(storage):
        delivery = WebhookDelivery.objects.get()
        (attempt,) = WebhookAttempt.objects.filter(delivery=delivery)
    assert received.line == "POST /hook?a=1 HTTP/1.1"
    assert received.body.decode() == delivery.message
    stamp, signature = (received.headers.pop(f"webhook-{name}") for name in ("timestamp", "signature"))
    assert abs(int(stamp) - timezone.now().timestamp()) < 60
    assert signature.startswith("v1,")
    assert received.headers == {
        "host": f"127.0.0.1:{receiver.port}",
        "connection": "close",
        "content-length": str(len(received.body)),
        "content-type": "application/cloudevents+json",
        "user-agent": f"content-repository/{__version__}",
        "x-key": "abc",
        "authorization": "Basic " + base64.b64encode("me:pässword".encode()).decode(),
        "webhook-id": message_id(webhook.pk, delivery.event_id),
    }
    assert (delivery.state, delivery.attempts, delivery.next_attempt_on) == (DeliveryState.DELIVERED, 1, None)
    assert delivery.first_attempt_on == attempt.time
    assert delivery.ended_on is not None
    assert (attempt.status, attempt.error, attempt.answer) == (200, "", "ok")
    assert planned() == []


def test_two_secrets_sign_while_one_replaces_the_other(storage: Storage, receiver: Receiver) -> None:
    old, until = new_secret(), timezone.now() + timedelta(hours=1)
    webhook = add_webhook(storage, receiver.url(), old_secret=sealed(old), old_secret_until=until)
    add_messages(storage, webhook, [uuid4()])
    send(storage, webhook)
    with tenant_scope(storage):
        Webhook.objects.update(old_secret_until=timezone.now())
        WebhookDelivery.objects.update(state=DeliveryState.WAITING, is_first=True)
    send(storage, webhook)
    both, one = receiver.requests
    assert len(both.headers["webhook-signature"].split()) == 2
    assert verified(both, SECRET) == verified(both, old) == {"number": 1, "subject": verified(both)["subject"]}
    assert len(one.headers["webhook-signature"].split()) == 1
    assert verified(one)
    # A redelivery has the id of the first one.
    assert both.headers["webhook-id"] == one.headers["webhook-id"]


@pytest.mark.parametrize("path", first_quick(["ok", "accepted", "too-long", "huge", "drip-body"], 4))
def test_a_status_of_success_counts(
    storage: Storage, receiver: Receiver, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if path == "drip-body":
        # The answer has begun by then, and never ends.
        monkeypatch.setattr(posting, "WHOLE_SECONDS", 1.0)
    webhook = add_webhook(storage, receiver.url(path))
    add_messages(storage, webhook, [uuid4()])
    send(storage, webhook)
    assert states(storage) == [("delivered", 1)]
    assert len(attempts(storage)[0][2]) <= 1024


@pytest.mark.parametrize(
    ("path", "status", "error"),
    [
        ("broken", 500, ""),
        ("missing", 404, ""),
        ("redirect", 302, ""),
        ("hang", None, "No answer within 0 seconds."),
        pytest.param(
            "drip-headers", None, "No answer within 0 seconds.", marks=[pytest.mark.long, pytest.mark.on_cluster]
        ),
        ("closes", None, "RemoteDisconnected: Remote end closed connection without response"),
        ("zero-bytes", None, "BadStatusLine: \ufffdÿ not http"),
    ],
)
def test_a_failed_attempt_is_tried_again(
    storage: Storage,
    receiver: Receiver,
    path: str,
    status: int | None,
    error: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if error.startswith("No answer"):
        monkeypatch.setattr(posting, "WHOLE_SECONDS", 0.3)
    webhook = add_webhook(storage, receiver.url(path))
    add_messages(storage, webhook, [uuid4()])
    send(storage, webhook)
    assert states(storage) == [("waiting", 1)]
    assert attempts(storage) == [(status, error, "no" if status else "")]
    (seconds,) = planned()
    assert seconds is not None
    assert 1 < seconds <= 6
    receiver.close()


def test_a_private_address_is_refused_when_sending(storage: Storage, receiver: Receiver, settings: Settings) -> None:
    settings.WEBHOOK_NETWORKS = ()
    webhook = add_webhook(storage, receiver.url())
    add_messages(storage, webhook, [uuid4()])
    send(storage, webhook)
    assert (states(storage), receiver.connections) == ([("waiting", 1)], 0)
    assert attempts(storage)[0][1].startswith("The address of 127.0.0.1 is private")


def test_attempts_end_after_a_day_with_a_dead_letter(storage: Storage, receiver: Receiver) -> None:
    webhook = add_webhook(storage, receiver.url("broken"))
    add_messages(storage, webhook, [uuid4()])
    for _ in range(len(RETRIES)):
        send(storage, webhook)
        assert states(storage)[0][0] == "waiting"
        pass_time(storage)
    send(storage, webhook)
    assert states(storage) == [("dead", 11)]
    assert len({each.headers["webhook-id"] for each in receiver.requests}) == 1
    assert len(attempts(storage)) == 11
    QueuedJob.objects.all().delete()
    send(storage, webhook)
    assert (len(receiver.requests), planned()) == (11, [])


def test_the_delays_between_attempts() -> None:
    assert [delay_after(11), sum(RETRIES) > 24 * 3600] == [None, True]
    for number, seconds in enumerate(RETRIES, start=1):
        found = [delay_after(number) or 0 for _ in range(50)]
        assert seconds <= min(found) < max(found) <= seconds * (1 + JITTER)
    assert (RETRIES[0], RETRIES[1]) == (5.0, 30.0)
    assert list(RETRIES) == sorted(RETRIES)


def test_order_of_each_subject_is_kept(storage: Storage, receiver: Receiver) -> None:
    """A failure delays the later messages of its subject only."""
    first, second = uuid4(), uuid4()
    webhook = add_webhook(storage, receiver.url())
    add_messages(storage, webhook, [first, second, first, second, first])
    with tenant_scope(storage):
        later = timezone.now() + timedelta(minutes=1)
        WebhookDelivery.objects.filter(number=1).update(attempts=1, next_attempt_on=later)
    send(storage, webhook)
    assert numbers(receiver) == [2, 4]
    pass_time(storage)
    send(storage, webhook)
    assert numbers(receiver) == [2, 4, 1, 3, 5]
    assert states(storage) == [("delivered", 2), *[("delivered", 1)] * 4]


def test_a_dead_letter_lets_the_next_message_pass(storage: Storage, receiver: Receiver) -> None:
    webhook, subject = add_webhook(storage, receiver.url("broken")), uuid4()
    add_messages(storage, webhook, [subject, subject])
    with tenant_scope(storage):
        WebhookDelivery.objects.filter(number=1).update(attempts=10)
    send(storage, webhook)
    assert states(storage) == [("dead", 11), ("waiting", 1)]


def test_a_receiver_that_is_gone_is_disabled(storage: Storage, receiver: Receiver) -> None:
    webhook = add_webhook(storage, receiver.url("gone"))
    add_messages(storage, webhook, [uuid4(), uuid4()])
    send(storage, webhook)
    send(storage, webhook)
    with tenant_scope(storage):
        found = Webhook.objects.get()
        assert (found.is_enabled, found.disabled_reason) == (False, GONE)
        assert [*WebhookDelivery.objects.values_list("next_attempt_on", flat=True)] == [None, None]
    assert (states(storage), len(receiver.requests)) == ([("waiting", 1), ("waiting", 0)], 1)
    assert planned() == []
    # Administrators see it in the feed.
    assert [(each.type, each.data) for each in read_events(storage, 0, 10).events] == [
        ("configuration.changed", {"changes": [f"webhooks.{webhook.pk}"]})
    ]


def test_a_webhook_with_secrets_of_another_installation_is_disabled(
    storage: Storage, receiver: Receiver, settings: Settings
) -> None:
    webhook = add_webhook(storage, receiver.url())
    add_messages(storage, webhook, [uuid4()])
    settings.SECRET_KEY = "another installation has another key, of 50 characters"
    send(storage, webhook)
    with tenant_scope(storage):
        assert Webhook.objects.get().disabled_reason == UNREADABLE
    assert (states(storage), receiver.connections) == ([("waiting", 0)], 0)


def test_a_disabled_or_deleted_webhook_gets_nothing(storage: Storage, receiver: Receiver) -> None:
    webhook = add_webhook(storage, receiver.url(), is_enabled=False)
    add_messages(storage, webhook, [uuid4()])
    send(storage, webhook)
    deliver(storage, webhook=str(uuid4()))
    assert (receiver.connections, planned()) == (0, [])


@pytest.fixture
def batches(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the numbers of messages that are sent at the same time."""
    found: list[int] = []
    barriers: list[threading.Barrier] = []
    send_all, send_one = delivering._send_all, delivering._send

    def all_together(receiver: Any, due: Sequence[Any]) -> Any:
        found.append(len(due))
        barriers.append(threading.Barrier(len(due)))
        return send_all(receiver, due)

    def with_others(*given: Any) -> Any:
        barriers[-1].wait(60)
        return send_one(*given)

    monkeypatch.setattr(delivering, "_send_all", all_together)
    monkeypatch.setattr(delivering, "_send", with_others)
    return found


def test_a_receiver_that_works_gets_several_messages_at_once(
    storage: Storage, receiver: Receiver, batches: list[int]
) -> None:
    webhook = add_webhook(storage, receiver.url())
    add_messages(storage, webhook, [uuid4() for _ in range(1 + 2 + 4 + 8 + 8)])
    send(storage, webhook)
    assert {*states(storage)} == {("delivered", 1)}
    assert batches == [1, 2, 4, 8, 8]


def test_messages_behind_another_one_are_not_read(storage: Storage) -> None:
    """The index has only the first message of each subject, in the order in which they are sent."""
    webhook, subject = add_webhook(storage, "https://receiver.invalid/"), uuid4()
    first, *_behind = add_messages(storage, webhook, [subject] * 5)
    with tenant_scope(storage):
        # For five rows, every plan costs the same.
        set_for_transaction("enable_sort", "off")
        plan = "\n".join(row[0] for row in fetch(f"EXPLAIN {delivering._DUE}", [webhook.pk, timezone.now(), 8]))
        assert [*WebhookDelivery.objects.filter(is_first=True).values_list("pk", flat=True)] == [first]
        assert [each.delivery for each in delivering._due(str(webhook.pk), 8)] == [first]
    assert "Index Scan using delivery_first" in plan
    assert "Sort" not in plan


@pytest.mark.parametrize(("path", "pause"), [("busy", 120), ("busy-for-days", 3600)])
def test_a_receiver_can_ask_for_a_pause(storage: Storage, receiver: Receiver, path: str, pause: float) -> None:
    """Retry-After of 429 and 503 counts for all messages, up to an hour. A person does not have to wait."""
    webhook = add_webhook(storage, receiver.url(path))
    add_messages(storage, webhook, [uuid4(), uuid4()])
    send(storage, webhook)
    with tenant_scope(storage):
        first, second = WebhookDelivery.objects.order_by("number").values_list("next_attempt_on", flat=True)
    assert first is not None
    assert pause - 60 < (first - timezone.now()).total_seconds() <= pause
    assert (len(receiver.requests), second) == (1, None)
    (seconds,) = planned()
    assert seconds is not None
    assert pause - 60 < seconds <= pause
    send(storage, webhook)
    assert len(receiver.requests) == 1
    with tenant_scope(storage):
        test = send_test(storage, webhook.pk)
    assert planned() == [None]
    send(storage, webhook)
    assert [each.body.decode() for each in receiver.requests[1:]] == [test.message]


def test_other_failures_have_their_own_delays(storage: Storage, receiver: Receiver) -> None:
    webhook = add_webhook(storage, receiver.url("broken-for-a-while"))
    add_messages(storage, webhook, [uuid4()])
    send(storage, webhook)
    (seconds,) = planned()
    assert seconds is not None
    assert seconds <= 6


def test_a_message_that_is_sent_again_keeps_its_place(storage: Storage, receiver: Receiver) -> None:
    """The later one waits for it, and its own time does not keep the worker busy."""
    webhook, subject = add_webhook(storage, receiver.url("broken")), uuid4()
    first, second = add_messages(storage, webhook, [subject, subject])
    past = timezone.now() - timedelta(minutes=1)
    with tenant_scope(storage):
        WebhookDelivery.objects.filter(pk=first).update(state=DeliveryState.DELIVERED, is_first=False)
        WebhookDelivery.objects.filter(pk=second).update(attempts=1, next_attempt_on=past, is_first=True)
        assert redeliver(storage, webhook.pk, [first]) == 1
        assert [*WebhookDelivery.objects.filter(is_first=True).values_list("pk", flat=True)] == [first]
    QueuedJob.objects.all().delete()
    send(storage, webhook)
    assert numbers(receiver) == [1]
    (seconds,) = planned()
    assert seconds is not None
    assert 1 < seconds <= 6


def test_a_test_is_its_own_subject(storage: Storage, receiver: Receiver) -> None:
    """A test does not wait for an earlier one that has failed."""
    webhook = add_webhook(storage, receiver.url("broken"))
    with tenant_scope(storage):
        made = [send_test(storage, webhook.pk) for _ in range(2)]
    send(storage, webhook)
    received = [json.loads(each.body) for each in receiver.requests]
    assert [each["subject"] for each in received] == [each["id"] for each in received]
    assert {each["subject"] for each in received} == {str(each.subject_id) for each in made}


def test_attempts_are_recorded_while_nobody_deletes_the_webhook(storage: Storage, receiver: Receiver) -> None:
    """Otherwise the deletion would miss an attempt, and fail."""
    webhook = add_webhook(storage, receiver.url())
    add_messages(storage, webhook, [uuid4()])
    with CaptureQueriesContext(connection) as found:
        send(storage, webhook)
    statements = [each["sql"] for each in found]
    changes = [place for place, each in enumerate(statements) if each.startswith('UPDATE "storage_webhookdelivery')]
    locks = [place for place, each in enumerate(statements) if 'storage_webhook"' in each and "FOR UPDATE" in each]
    assert len(changes) == 1
    assert locks
    assert locks[0] < changes[0]


def test_a_turn_ends_after_some_failures(storage: Storage, receiver: Receiver, batches: list[int]) -> None:
    webhook = add_webhook(storage, receiver.url("broken"))
    add_messages(storage, webhook, [uuid4() for _ in range(10)])
    send(storage, webhook)
    assert (len(receiver.requests), batches) == (3, [1, 1, 1])
    (seconds,) = planned()
    assert seconds is not None
    assert 6 < seconds <= 10
    # It rests, whoever adds its job.
    send(storage, webhook)
    QueuedJob.objects.all().delete()
    make_events(storage)
    fan_out(storage)
    assert (len(receiver.requests), planned()) == (3, [])
    with tenant_scope(storage):
        Webhook.objects.update(rests_until=timezone.now())
    send(storage, webhook)
    assert len(receiver.requests) == 6


def test_a_turn_ends_after_some_time(storage: Storage, receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivering, "TURN", 0.1)
    receiver.default = "slow"
    webhook = add_webhook(storage, receiver.url())
    add_messages(storage, webhook, [uuid4() for _ in range(3)])
    send(storage, webhook)
    assert (len(receiver.requests), planned()) == (1, [None])


def test_a_storage_cannot_have_all_places(storage: Storage, other_storage: Storage, receiver: Receiver) -> None:
    ours, theirs = add_webhook(storage, receiver.url("ours")), add_webhook(other_storage, receiver.url("theirs"))
    add_messages(storage, ours, [uuid4()])
    add_messages(other_storage, theirs, [uuid4()])
    held = 0
    try:
        while places.take(storage.pk):
            held += 1
        assert held == NETWORK_PLACES // 2
        send(storage, ours)
        assert receiver.requests == []
        (seconds,) = planned()
        assert seconds is not None
        assert seconds <= 1
        send(other_storage, theirs)
        assert [each.line for each in receiver.requests] == ["POST /theirs HTTP/1.1"]
    finally:
        for _ in range(held):
            places.give_back(storage.pk)
    assert places.taken == 0


def test_an_attempt_of_a_message_that_has_changed_meanwhile_is_not_recorded(
    storage: Storage, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another worker may have sent it, or somebody has deleted it."""
    webhook = add_webhook(storage, receiver.url())
    sent, deleted = add_messages(storage, webhook, [uuid4(), uuid4()])
    original = delivering._send_all

    def send_all(*arguments: Any) -> Any:
        found = original(*arguments)
        with tenant_scope(storage):
            WebhookDelivery.objects.filter(pk=sent).update(attempts=5)
            WebhookDelivery.objects.filter(pk=deleted).delete()
        return found

    monkeypatch.setattr(delivering, "_send_all", send_all)
    due = [delivering.DueMessage(each, UUID(int=0), UUID(int=0), "{}", 0) for each in (sent, deleted)]
    monkeypatch.setattr(delivering, "_due", lambda webhook, most: due)
    monkeypatch.setattr(delivering, "TURN", 0.05)
    receiver.default = "slow"
    send(storage, webhook)
    assert (states(storage), attempts(storage)) == ([("waiting", 5)], [])
