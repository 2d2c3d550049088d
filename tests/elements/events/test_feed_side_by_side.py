"""The change feed while others write, and clients that wait for changes (D326, D330, D331), with real transactions."""

from __future__ import annotations

import random
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from django.db import connection, connections
from django.http import HttpResponse

from elements.models import ElementChange
from repository_site.core.fairness import admission
from repository_site.core.fairness.shares import Shares
from storage.access.tokens import revoke_token
from storage.api.viewset import ApiViewSet
from storage.events import reading, waking
from storage.events.reading import read_page
from storage.events.waking import CHANNEL, watching
from storage.models import ApiToken, Event, Storage
from storage.options import Role
from storage.provisioning.provision import remove_storage
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.elements.feed import Document, Feed
from tests.factories import StorageFactory, issued_token
from tests.scale import IS_FULL

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long, pytest.mark.on_cluster]
SYSTEMS = "/acme/busy/_api/rest/facets/it/views/detail/elements"
WRITERS, CHANGES = 8, 100 if IS_FULL else 12
# Seconds that nothing here takes, unless a client waits until its time is over.
LONG = 20


@pytest.fixture
def busy() -> Iterator[Storage]:
    storage = StorageFactory.create(collection="acme", key="busy", template="standard", anonymous="read")
    yield storage
    remove_storage(Storage.objects.get(pk=storage.pk))


@pytest.fixture
def token(busy: Storage) -> str:
    return issued_token(busy, Role.ADMINISTRATOR)


def post(token: str, *elements: Document) -> list[str]:
    response = ApiClient().post(SYSTEMS, {"elements": [*elements]}, content_type="application/json", token=token)
    assert response.status_code in (200, 503), response.json()
    return [each["id"] for each in response.json().get("elements", [])]


def system(name: str) -> Document:
    return {"type": "system", "attributes": {"name": {"1033": name}}}


def in_thread(work: Callable[[], Any]) -> Callable[[], Any]:
    def run() -> Any:
        try:
            return work()
        finally:
            connections.close_all()

    return run


def slow_commits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let changes commit in another order than they were made, and let some of them roll back."""
    once = ApiViewSet.once

    def delayed(self: ApiViewSet, storage: Storage, request: Any, change: Callable[[], HttpResponse]) -> HttpResponse:
        response = once(self, storage, request, change)
        time.sleep(random.choice((0, 0, 0.01, 0.03, 0.1)))
        if random.random() < 0.1:
            raise ZeroDivisionError
        return response

    monkeypatch.setattr(ApiViewSet, "once", delayed)


class RestartingReader:
    """Follows the feed in small pages. Sometimes it forgets a page that it has not processed yet."""

    def __init__(self, token: str) -> None:
        self.feed = Feed(ApiClient(), "acme/busy", token)
        self.seen: list[Document] = []
        self.is_done = threading.Event()

    def run(self) -> None:
        while True:
            was_done = self.is_done.is_set()
            page = self.feed.page(f"$pageSize={random.randint(1, 7)}")
            if random.random() < 0.2:
                continue
            self.seen += page["values"]
            is_end, self.feed.cursor = page["next"] == self.feed.cursor, page["next"]
            if is_end and was_done:
                return


def test_readers_miss_nothing_and_see_nothing_twice(busy: Storage, token: str, monkeypatch: pytest.MonkeyPatch) -> None:
    elements = post(token, *(system(f"System {number}") for number in range(5)))
    slow_commits(monkeypatch)

    def write() -> None:
        client = ApiClient()
        client.raise_request_exception = False
        for number in range(CHANGES):
            few = random.sample(elements, random.randint(1, 3))
            body = [{"id": each, "attributes": {"name": {"1033": f"{number} {random.random()}"}}} for each in few]
            client.post(SYSTEMS, {"elements": body}, content_type="application/json", token=token)

    readers = [RestartingReader(token) for _ in range(2)]
    with ThreadPoolExecutor(WRITERS + len(readers)) as threads:
        reading = [threads.submit(in_thread(each.run)) for each in readers]
        for each in [threads.submit(in_thread(write)) for _ in range(WRITERS)]:
            each.result()
        for reader, result in zip(readers, reading, strict=True):
            reader.is_done.set()
            result.result(timeout=60)
    with tenant_scope(busy):
        history = [*ElementChange.objects.order_by("changed_on", "id").values_list("element_id", "request_id")]
        stored = [str(each) for each in Event.objects.order_by("number").values_list("id", flat=True)]
        numbers = [*Event.objects.order_by("number").values_list("number", flat=True)]
    assert len(history) > WRITERS * CHANGES
    assert numbers == [*range(1, len(numbers) + 1)]
    expected: dict[str, list[str]] = defaultdict(list)
    for element, request in history:
        expected[str(element)].append(request)
    for reader in readers:
        assert [each["id"] for each in reader.seen] == stored
        found: dict[str, list[str]] = defaultdict(list)
        for event in reader.seen:
            if event["type"].startswith("element."):
                found[event["subject"]].append(event["data"]["requestId"])
        assert found == expected


def waiting(token: str | None, cursor: str, query: str = "$wait=30") -> Document:
    response = ApiClient().get(f"/acme/busy/_api/rest/changes?{query}&$after={cursor}", token=token)
    return {"status": response.status_code, **response.json()}


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.fixture
def stop_waiting(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Return what a worker that stops does: clients that wait are answered at once."""
    monkeypatch.setattr(waking, "_stopping", threading.Event())
    return waking.stop_waiting


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the cursors to which clients in other threads have read."""
    found: list[str] = []

    def read(*given: Any) -> Any:
        page = read_page(*given)
        if threading.current_thread() is not threading.main_thread():
            found.append(str(page.next))
        return page

    monkeypatch.setattr("elements.api.events.changes_viewset.read_page", read)
    return found


def until_it_waits() -> None:
    """Wait until the client has read once, and has given back its place at the gate."""
    until(lambda: admission.followers.taken == 1 and not admission.gate._running)


def test_a_client_waits_for_the_next_event(busy: Storage, token: str) -> None:
    feed = Feed(ApiClient(), "acme/busy", token)
    feed.read()
    with ThreadPoolExecutor(1) as threads:
        answer = threads.submit(in_thread(lambda: waiting(token, feed.cursor)))
        until_it_waits()
        # It holds neither a place at the gate, nor a transaction.
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
                " AND state LIKE 'idle in transaction%'"
            )
            assert cursor.fetchone() == (0,)
        started = time.monotonic()
        [made] = post(token, system("New"))
        found = answer.result(timeout=60)
    assert time.monotonic() - started < LONG
    assert [each["subject"] for each in found["values"]] == [made]
    assert (admission.followers.taken, admission.gate._running) == (0, {})


def test_a_client_that_waits_in_vain_gets_an_empty_page(busy: Storage, token: str) -> None:
    feed = Feed(ApiClient(), "acme/busy", token)
    feed.read()
    started = time.monotonic()
    assert waiting(token, feed.cursor, "$wait=1") == {"status": 200, "count": 0, "values": [], "next": feed.cursor}
    assert 1 <= time.monotonic() - started < LONG


def test_a_client_does_not_wait_before_the_end_of_the_feed(
    busy: Storage, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A filter can leave out so many events that the page ends before the first one of the client (D327)."""
    feed = Feed(ApiClient(), "acme/busy", token)
    feed.read()
    before = feed.cursor
    post(token, *(system(f"System {number}") for number in range(3)))
    monkeypatch.setattr(reading, "LOOKED_AT", 2)
    started = time.monotonic()
    page = waiting(token, before, "type=element.deleted&$wait=30")
    assert time.monotonic() - started < LONG
    assert (page["status"], page["values"]) == (200, [])
    end = waiting(token, page["next"], "type=element.deleted&$wait=1")
    feed.read()
    assert end["next"] == feed.cursor != page["next"]


def test_a_client_waits_on_if_the_event_is_not_for_it(
    busy: Storage, token: str, looked: list[str], stop_waiting: Callable[[], None]
) -> None:
    feed = Feed(ApiClient(), "acme/busy", token)
    feed.read()
    before = feed.cursor
    with ThreadPoolExecutor(1) as threads:
        answer = threads.submit(in_thread(lambda: waiting(None, before)))
        until_it_waits()
        post(token, system("Draft"))
        feed.read()
        until(lambda: feed.cursor in looked)
        stop_waiting()
        found = answer.result(timeout=60)
    # The draft is behind the client; it is not looked at again.
    assert (found["status"], found["values"], found["next"]) == (200, [], feed.cursor)


def notify_from_elsewhere(storage: Storage) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_notify(%s, %s)", [CHANNEL, str(storage.id)])


def test_a_notification_of_another_process_wakes_this_one(busy: Storage) -> None:
    with watching(str(busy.id)) as watcher, watching() as of_all:
        while not watcher.wait(0.2):
            notify_from_elsewhere(busy)
        while watcher.wait(0.2) | of_all.wait(0.2):
            """Earlier notifications."""
        notify_from_elsewhere(busy)
        assert (watcher.wait(60), of_all.wait(60)) == ({str(busy.id)}, {str(busy.id)})
        # An earlier notification may still arrive.
        until(lambda: watcher.wait(0.01) == set())


def test_this_process_notifies_others(busy: Storage, token: str) -> None:
    # What was announced when the storage was created.
    time.sleep(4 * waking.PAUSE)
    with waking._connect() as other:
        other.execute(f"LISTEN {CHANNEL}")
        post(token, system("New"))
        assert [each.payload for each in other.notifies(timeout=60, stop_after=1)] == [str(busy.id)]


def test_a_revoked_token_ends_the_wait(busy: Storage, token: str) -> None:
    feed = Feed(ApiClient(), "acme/busy", token)
    other = issued_token(busy, Role.ANALYZER)
    feed.read()
    with ThreadPoolExecutor(1) as threads:
        answer = threads.submit(in_thread(lambda: waiting(other, feed.cursor)))
        until_it_waits()
        revoke_token(ApiToken.objects.filter(storage=busy).latest("created_on"))
        assert answer.result(timeout=60)["status"] == 401


def test_lost_roles_apply_to_a_client_that_waits(
    busy: Storage, token: str, looked: list[str], stop_waiting: Callable[[], None]
) -> None:
    feed = Feed(ApiClient(), "acme/busy", token)
    other = issued_token(busy, Role.ANALYZER)
    feed.read()
    before = feed.cursor
    # The new token was announced. A client that this wakes may look while its roles change.
    time.sleep(4 * waking.PAUSE)
    with ThreadPoolExecutor(1) as threads:
        answer = threads.submit(in_thread(lambda: waiting(other, before)))
        until_it_waits()
        ApiToken.objects.filter(pk=ApiToken.objects.filter(storage=busy).latest("created_on").pk).update(
            roles=["viewer"]
        )
        post(token, system("Draft"))
        feed.read()
        until(lambda: feed.cursor in looked)
        stop_waiting()
        found = answer.result(timeout=60)
    assert (found["status"], found["values"]) == (200, [])


def test_the_number_of_waiting_clients_is_limited(
    busy: Storage, token: str, monkeypatch: pytest.MonkeyPatch, stop_waiting: Callable[[], None]
) -> None:
    """Half of all places for one storage, and three quarters of that for one caller."""
    monkeypatch.setattr("elements.api.events.changes_viewset.followers", Shares(4))
    feed = Feed(ApiClient(), "acme/busy", token)
    feed.read()
    with ThreadPoolExecutor(4) as threads:
        answers = [threads.submit(in_thread(lambda: waiting(token, feed.cursor))) for _ in range(4)]
        until(lambda: sum(each.done() for each in answers) == 2)
        stop_waiting()
        found = [each.result(timeout=60) for each in answers]
    text = "Too many clients wait for changes here. Ask without $wait, or try again in 5 seconds."
    refused = {"status": 429, "message": text, "output": "volatile", "type": "error", "data": [{"error": text}]}
    assert sorted(each["status"] for each in found) == [200, 200, 429, 429]
    assert [each for each in found if each["status"] == 429] == [refused, refused]


def test_unknown_clients_leave_places_for_accepted_ones(
    busy: Storage, token: str, monkeypatch: pytest.MonkeyPatch, stop_waiting: Callable[[], None]
) -> None:
    """Anonymous readers from any number of networks have three quarters of the places of their storage (D217)."""
    places = Shares(16)
    monkeypatch.setattr("elements.api.events.changes_viewset.followers", places)
    feed = Feed(ApiClient(), "acme/busy", None)
    feed.read()
    address = f"{feed.address}?$wait=50&$after={feed.cursor}"

    def wait_anonymously(number: int) -> int:
        found: int = ApiClient().get(address, REMOTE_ADDR=f"10.1.{number}.1").status_code
        return found

    with ThreadPoolExecutor(9) as threads:
        answers = [threads.submit(in_thread(partial(wait_anonymously, number))) for number in range(8)]
        until(lambda: sum(each.done() for each in answers) == 2)
        accepted = threads.submit(in_thread(lambda: waiting(token, feed.cursor)))
        until(lambda: places.taken == 7)
        stop_waiting()
        assert sorted(each.result(timeout=60) for each in answers) == [200] * 6 + [429] * 2
        assert accepted.result(timeout=60)["status"] == 200


def test_a_worker_that_stops_answers_waiting_clients(
    busy: Storage, token: str, stop_waiting: Callable[[], None]
) -> None:
    feed = Feed(ApiClient(), "acme/busy", token)
    feed.read()
    with ThreadPoolExecutor(1) as threads:
        answer = threads.submit(in_thread(lambda: waiting(token, feed.cursor)))
        until_it_waits()
        started = time.monotonic()
        stop_waiting()
        assert answer.result(timeout=60)["values"] == []
    assert time.monotonic() - started < LONG
