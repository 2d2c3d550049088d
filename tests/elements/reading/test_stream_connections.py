"""A stream keeps its connection for itself, and ends its transaction in any thread (D224). Transactions are real."""

from __future__ import annotations

import gc
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client
from pytest_django import Settings

from elements.api import reading_viewset
from elements.reading.lists import streams
from elements.transfer.importing import import_elements
from repository_site.core.fairness import admission
from repository_site.core.rest import rendering
from storage.models import Storage, StorageMembership
from storage.options import Role
from storage.provisioning.provision import remove_storage
from tests.elements.transfer_files import line, write
from tests.facets.small_template import SMALL
from tests.factories import StaffAccountFactory, StorageFactory, token_for

pytestmark = pytest.mark.django_db(transaction=True)
PEOPLE = "/acme/busy/_api/rest/facets/people/views/all%20of%20it/elements"
TRANSACTIONS = """SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND state LIKE 'idle in transaction%'"""


@pytest.fixture
def busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Storage]:
    """A storage with two elements. Each of them is a piece of a stream."""
    file = tmp_path / "small.json"
    file.write_text(json.dumps(SMALL), encoding="utf-8")
    storage = StorageFactory.create(collection="acme", key="busy", template=str(file))
    import_elements(storage, write(tmp_path / "two.ndjson", line(1, "person", "people"), line(2, "person", "people")))
    monkeypatch.setattr(reading_viewset, "BATCH", 1)
    monkeypatch.setattr(rendering, "PIECE", 1)
    yield storage
    remove_storage(storage)


def open_transactions() -> int:
    with connection.cursor() as cursor:
        cursor.execute(TRANSACTIONS)
        return int(cursor.fetchone()[0])


def wait_until_ended() -> None:
    end = time.monotonic() + 60
    while open_transactions() or admission.stream_places.taken:
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_session_is_saved_while_a_list_is_streamed(busy: Storage, settings: Settings) -> None:
    """The key was changed: the session gets a new id and a new digest with the next request, whatever it is."""
    account = StaffAccountFactory.create()
    StorageMembership.objects.create(account=account, storage=busy, roles=["viewer"])
    client = Client()
    client.force_login(account)
    before = client.cookies["sessionid"].value
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another key"
    response = client.get(PEOPLE)
    assert (response.status_code, response.streaming) == (200, True)
    after = client.cookies["sessionid"].value
    assert after != before
    assert list(Session.objects.values_list("pk", flat=True)) == [after]
    assert json.loads(b"".join(response))["count"] == 2
    settings.SECRET_KEY_FALLBACKS = []
    assert client.get(f"{PEOPLE}?$pageSize=1").status_code == 200
    wait_until_ended()


@pytest.mark.long
@pytest.mark.parametrize("is_cyclic", [False, True])
def test_a_stream_that_nobody_closes_ends_its_own_transaction(busy: Storage, is_cyclic: bool) -> None:
    """The garbage collector may find it in any thread, and while that thread has a transaction of its own."""
    token = token_for(busy, Role.VIEWER)
    left: list[Any] = []

    def ask() -> None:
        response = Client().get(PEOPLE, headers={"symbio-auth-token": token})
        next(iter(response))
        if is_cyclic:
            response.own = response  # type: ignore[attr-defined]
        left.append(response)
        connection.close()

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert (open_transactions(), admission.stream_places.taken) == (1, 1)
    with connection.cursor() as cursor:
        cursor.execute("BEGIN")
        cursor.execute("SELECT set_config('repository.kept', 'yes', true)")
        left.clear()
        gc.collect()
        time.sleep(0.1)
        cursor.execute("SELECT current_setting('repository.kept', true)")
        assert cursor.fetchone() == ("yes",)
        cursor.execute("ROLLBACK")
    assert not connection.in_atomic_block
    wait_until_ended()
    assert connection.tenant == ""  # type: ignore[attr-defined]  # our own engine


def test_further_pieces_have_the_timeout_of_their_request(busy: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    """A storage over its budget would get more time for the rest of a list than for its beginning."""
    monkeypatch.setattr("storage.api.viewset.read_timeout", lambda request: 7)
    response = Client().get(PEOPLE, headers={"symbio-auth-token": token_for(busy, Role.VIEWER)})
    timeouts = []
    for _ in response:
        for each in streams._open:
            with each.database(), connection.cursor() as cursor:
                cursor.execute("SELECT current_setting('statement_timeout')")
                timeouts.append(cursor.fetchone()[0])
    assert (len(timeouts) > 1, set(timeouts)) == (True, {"7s"})
    wait_until_ended()
