"""Request counts by storage and hour, and the reports made from them."""

from __future__ import annotations

import multiprocessing
import threading
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest import mock

import pytest
from django.db import OperationalError
from django.test import Client
from django.utils import timezone

from storage import traffic
from storage.models import RequestCount, Storage
from storage.options import Role
from storage.provisioning.provision import remove_storage
from storage.traffic import TrafficCounter, forget_old_hours, write_counts
from storage.traffic_report import NONE, Traffic, traffic_by_day, traffic_by_hour, traffic_by_storage
from tests.api_client import ApiClient
from tests.factories import token_for
from tests.storage.office import member

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 7, 1, 12, 30, tzinfo=UTC)


@pytest.fixture(autouse=True)
def counter(monkeypatch: pytest.MonkeyPatch) -> TrafficCounter:
    """A counter without the requests of other tests."""
    fresh = TrafficCounter()
    monkeypatch.setattr(traffic, "counter", fresh)
    return fresh


def counted() -> dict[str, tuple[int, int, int]]:
    write_counts()
    rows = RequestCount.objects.select_related("storage__collection")
    return {str(row.storage): (row.requests, row.client_errors, row.server_errors) for row in rows}


def test_api_and_pages_count_for_their_storage(api: ApiClient, storage: Storage, other_storage: Storage) -> None:
    token = {"Authorization": f"Bearer {token_for(storage)}"}
    api.get("/acme/handbook/_api/rest/info", headers=token)
    api.get("/acme/handbook/_api/rest/info")
    api.get("/rival/handbook/_api/rest/info", headers=token)
    browser = member(storage, Role.ADMINISTRATOR)
    browser.get("/acme/handbook/admin/storage/apitoken/")
    browser.get("/acme/handbook/admin/nothing/")
    assert counted() == {"acme/handbook": (4, 2, 0), "rival/handbook": (1, 1, 0)}


def test_requests_without_a_storage_do_not_count(api: ApiClient, storage: Storage) -> None:
    for path in ("/acme/other/_api/rest/info", "/acme/_admin/_api/rest/info", "/_sysadmin/_admin/_api/rest/info"):
        api.get(path)
    for path in ("/", "/admin/login/", "/healthz", "/static/nothing.css"):
        Client().get(path)
    assert counted() == {}


def test_server_errors_are_counted_separately(storage: Storage, settings: Any) -> None:
    browser = member(storage, Role.ADMINISTRATOR)
    browser.raise_request_exception = False
    with mock.patch("storage.admin.tokens.storage_tokens.tokens_of", side_effect=RuntimeError("broken")):
        assert browser.get("/acme/handbook/admin/storage/apitoken/").status_code == 500
    assert counted() == {"acme/handbook": (1, 0, 1)}


def test_requests_do_not_write_counts(api: ApiClient, storage: Storage) -> None:
    api.get("/acme/handbook/_api/rest/info", headers={"Authorization": f"Bearer {token_for(storage)}"})
    assert not RequestCount.objects.exists()


def test_counts_of_several_processes_are_added(counter: TrafficCounter, storage: Storage) -> None:
    for status in (200, 404, 500):
        counter.count(storage.id, status, 0.25)
    write_counts()
    counter.count(storage.id, 200, 1.0)
    write_counts()
    row = RequestCount.objects.get()
    assert (row.requests, row.client_errors, row.server_errors, row.milliseconds) == (4, 1, 1, 1750)
    assert row.hour == row.hour.replace(minute=0, second=0, microsecond=0)


def test_threads_lose_nothing(counter: TrafficCounter, storage: Storage) -> None:
    taken = []

    def call() -> None:
        for _ in range(500):
            counter.count(storage.id, 200, 0.001)
        taken.append(counter.take())

    threads = [threading.Thread(target=call) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    taken.append(counter.take())
    assert sum(tally.requests for found in taken for tally in found.values()) == 4000


def test_counts_survive_an_unreachable_database(counter: TrafficCounter, storage: Storage) -> None:
    counter.count(storage.id, 200, 0.1)
    with mock.patch("storage.traffic.connection.cursor", side_effect=OperationalError("gone")):
        assert not write_counts()
    counter.count(storage.id, 200, 0.1)
    assert write_counts()
    assert RequestCount.objects.get().requests == 2


def test_waiting_counts_are_limited(counter: TrafficCounter, storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traffic, "MAX_WAITING", 1)
    counter.count(storage.id, 200, 0.1)
    counter.count(storage.collection_id, 200, 0.1)
    counter.count(storage.id, 200, 0.1)
    assert [tally.requests for tally in counter.take().values()] == [2]


def test_counts_of_a_removed_storage_are_dropped(
    counter: TrafficCounter, storage: Storage, other_storage: Storage
) -> None:
    for each in (storage, other_storage):
        counter.count(each.id, 200, 0.1)
    write_counts()
    for each in (storage, other_storage):
        counter.count(each.id, 200, 0.1)
    remove_storage(storage)
    assert counted() == {"rival/handbook": (2, 0, 0)}


def put(storage: Storage, hour: datetime, requests: int, client: int = 0, server: int = 0, taken: int = 0) -> None:
    RequestCount.objects.create(
        storage=storage,
        hour=hour,
        requests=requests,
        client_errors=client,
        server_errors=server,
        milliseconds=taken,
    )


def test_the_report_by_storage_hour_and_day(storage: Storage, other_storage: Storage) -> None:
    hour = NOON.replace(minute=0)
    put(storage, hour, 10, 2, 1, 300)
    put(other_storage, hour, 5, taken=50)
    put(storage, hour - timedelta(hours=23), 7)
    put(storage, hour - timedelta(hours=24), 100)
    put(storage, hour - timedelta(days=13), 1000)
    put(storage, hour - timedelta(days=14), 5000)
    assert traffic_by_storage(NOON) == {
        storage.pk: Traffic(17, 2, 1, 300),
        other_storage.pk: Traffic(5, 0, 0, 50),
    }
    hours = dict(traffic_by_hour(NOON))
    assert len(hours) == 24
    assert {when: each for when, each in hours.items() if each != NONE} == {
        hour - timedelta(hours=23): Traffic(7),
        hour: Traffic(15, 2, 1, 350),
    }
    assert dict(traffic_by_hour(NOON, other_storage))[hour] == Traffic(5, 0, 0, 50)
    with timezone.override("America/New_York"):
        days = {when.isoformat(): each.requests for when, each in traffic_by_day(NOON) if each.requests}
    assert days == {
        "2026-06-18T00:00:00-04:00": 1000,
        "2026-06-30T00:00:00-04:00": 107,
        "2026-07-01T00:00:00-04:00": 15,
    }


def test_good_requests_and_averages() -> None:
    assert (Traffic(10, 2, 1, 305).good, Traffic(10, 2, 1, 305).average) == (7, 30)
    assert (NONE.good, NONE.average) == (0, None)


def test_hours_are_kept_for_ninety_days(storage: Storage) -> None:
    now = timezone.now()
    for days in (1, 89, 91, 400):
        put(storage, now - timedelta(days=days), days)
    assert forget_old_hours() == 2
    assert sorted(RequestCount.objects.values_list("requests", flat=True)) == [1, 89]


def test_a_worker_writes_its_counts_when_it_ends() -> None:
    """In a forked process, like a worker; it must not use the connection of this process."""
    processes = multiprocessing.get_context("fork")
    channel = processes.SimpleQueue()

    def work() -> None:
        vars(traffic).update(connection=mock.Mock(), write_counts=lambda: channel.put("written"))
        traffic.start_writing()

    process = processes.Process(target=work)
    process.start()
    process.join(60)
    assert process.exitcode == 0
    assert not channel.empty()
