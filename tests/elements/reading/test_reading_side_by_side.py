"""Reads during concurrent writes: every read is one snapshot, by every method. In a file of its own, because its
transactions are real ones."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import NotSupportedError, connection
from django.test import Client

from elements.api import reading_viewset
from elements.pages import views
from elements.pages.views import read_frame
from elements.reading.lists import selection
from repository_site.core.database.repeating import ATTEMPTS
from storage.models import Storage
from storage.options import Role
from storage.provisioning.provision import remove_storage
from tests.api_client import ApiClient
from tests.factories import StorageFactory, token_for

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]
VIEW = "/acme/busy/_api/rest/facets/processes/views/detail/elements"


@pytest.fixture
def busy() -> Iterator[Storage]:
    storage = StorageFactory.create(collection="acme", key="busy", template="standard")
    yield storage
    remove_storage(storage)


def transaction_kind() -> tuple[Any, ...]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('transaction_isolation'), current_setting('transaction_read_only')")
        return tuple(cursor.fetchone())


@pytest.mark.parametrize(("method", "body"), [("GET", ""), ("HEAD", ""), ("POST", ""), ("POST", " {} ")])
def test_a_read_is_one_snapshot(
    api: ApiClient, busy: Storage, monkeypatch: pytest.MonkeyPatch, method: str, body: str
) -> None:
    kinds, find_page = [], selection.find_page

    def observed(*arguments: Any, **options: Any) -> Any:
        kinds.append(transaction_kind())
        return find_page(*arguments, **options)

    token = token_for(busy, Role.ARCHITECT)
    # Otherwise no page would be read.
    assert api.post(VIEW, {"elements": [{"type": "mainProcess"}]}, "application/json", token=token).status_code == 200
    monkeypatch.setattr(selection, "find_page", observed)
    response = api.generic(method, f"{VIEW}?$pageSize=1", body, "application/json", token=token)
    assert (response.status_code, kinds) == (200, [("repeatable read", "on")])


@pytest.mark.parametrize("query", ["", "?$pageSize=5"])
def test_a_retried_read_has_the_tag_of_its_content(
    api: ApiClient, busy: Storage, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    """A migration makes the request start again; in the meantime, somebody has created an element."""
    token = token_for(busy, Role.ARCHITECT)
    find_page, attempts = selection.find_page, []

    def make_element() -> None:
        body = {"elements": [{"type": "mainProcess"}]}
        attempts.append(ApiClient().post(VIEW, body, "application/json", token=token).status_code)
        connection.close()

    def interrupted(*arguments: Any, **options: Any) -> Any:
        if not attempts:
            other = threading.Thread(target=make_element)
            other.start()
            other.join()
            raise NotSupportedError("cached plan must not change result type")
        return find_page(*arguments, **options)

    # Otherwise no page of a list would be read that is empty at first.
    body = {"elements": [{"type": "mainProcess"}]}
    assert api.post(VIEW, body, "application/json", token=token).status_code == 200
    monkeypatch.setattr(selection, "find_page", interrupted)
    response = api.get(VIEW + query, token=token)
    again = api.get(VIEW + query, token=token)
    assert (attempts, response.json()["count"]) == ([200], 2)
    assert (response.content, response["ETag"]) == (again.content, again["ETag"])
    assert response.get("X-Total-Count") == ("2" if query else None)


def test_a_page_that_a_migration_interrupts_is_retried(busy: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Retry as a request of the API does, and not without end (D155)."""
    Storage.objects.filter(pk=busy.pk).update(anonymous_access="read")
    failures = 2

    def interrupted(*arguments: Any) -> Any:
        nonlocal failures
        if failures:
            failures -= 1
            raise NotSupportedError("cached plan must not change result type")
        return read_frame(*arguments)

    monkeypatch.setattr(views, "read_frame", interrupted)
    address = VIEW.partition("/_api/")[0] + "/1033/"
    assert Client().get(address).status_code == 200
    failures = ATTEMPTS
    assert Client(raise_request_exception=False).get(address).status_code == 500


def test_a_stream_is_retried_until_its_first_piece(
    api: ApiClient, busy: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    token, begun = token_for(busy, Role.VIEWER), []
    stream_keys = selection.stream_keys

    def interrupted(*arguments: Any) -> Iterator[Any]:
        begun.append(1)
        if len(begun) < 3:
            raise NotSupportedError("cached plan must not change result type")
        yield from stream_keys(*arguments)

    whole = api.get(VIEW, token=token).json()
    monkeypatch.setattr(selection, "stream_keys", interrupted)
    monkeypatch.setattr(reading_viewset.ElementReadingViewSet, "_answer_whole", lambda *_: None)
    assert whole["count"] == 0
    assert (len(begun), api.get(VIEW, token=token).json(), len(begun)) == (0, whole, 3)


def test_an_operation_without_reads_may_write_with_any_body(api: ApiClient, busy: Storage) -> None:
    """Drawing with an empty body is refused for its body, not for a key that cannot be stored."""
    token = token_for(busy, Role.ARCHITECT)
    made = api.post(
        VIEW, {"elements": [{"type": "mainProcess"}]}, "application/json", token=token, headers={"Idempotency-Key": "a"}
    )
    assert made.status_code == 200, made.json()
    address = f"{VIEW}/{made.json()['elements'][0]['id']}/content"
    refused = api.post(address, "", "application/json", token=token, headers={"Idempotency-Key": "b"})
    assert (refused.status_code, refused.json()["type"]) == (400, "error")
