"""A request reads its configuration in the snapshot of its data (D207). Its transactions are real ones, so that another
connection can change the storage between two steps of a request."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import NotSupportedError, connection
from django.test import Client

from elements.api import reading_viewset
from elements.reading.lists import selection
from elements.transfer.importing import import_elements
from facets import configuration
from facets.changing.changes import change_configuration
from facets.template_format.reading import read_template
from repository_site.core.rest import rendering
from storage import pages
from storage.api import viewset
from storage.models import Storage
from storage.options import Role
from storage.provisioning.provision import remove_storage
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.elements.transfer_files import guid, line, write
from tests.facets.small_template import SMALL, small_template
from tests.factories import StorageFactory, token_for

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]
LARGER = small_template(**{"types.crate": {**SMALL["types"]["person"], "displayNames": {"1033": "Crate"}}})
PEOPLE = "/acme/busy/_api/rest/facets/people/views/all%20of%20it/elements"


@pytest.fixture
def busy(tmp_path: Path) -> Iterator[Storage]:
    file = tmp_path / "small.json"
    file.write_text(json.dumps(SMALL), encoding="utf-8")
    storage = StorageFactory.create(collection="acme", key="busy", template=str(file), anonymous="read")
    yield storage
    remove_storage(storage)


@pytest.fixture
def grow(busy: Storage, tmp_path: Path) -> Callable[[], None]:
    """Return a function that adds the type crate and one element of it, once, as another process would."""
    lines = write(tmp_path / "lines.ndjson", line(1, "crate", "people"))
    done: list[bool] = []

    def work() -> None:
        storage = Storage.objects.get(pk=busy.pk)
        change_configuration(storage, read_template(LARGER))
        import_elements(storage, lines)
        connection.close()

    def once() -> None:
        if not done:
            done.append(True)
            kept = dict(configuration._cache)
            other = threading.Thread(target=work)
            other.start()
            other.join()
            # As if another process had changed the storage.
            configuration._cache.clear()
            configuration._cache.update(kept)

    return once


def test_a_type_that_is_added_before_the_snapshot_is_known(
    api: ApiClient, busy: Storage, grow: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    token = token_for(busy, Role.VIEWER)
    assert api.get(PEOPLE, token=token).json() == {"count": 0, "elements": []}
    # The request has found its storage, and has not begun its transaction.
    monkeypatch.setattr(viewset, "throttle_caller", lambda caller: grow())
    response = api.get(f"{PEOPLE}/{guid(1)}", token=token)
    assert response.status_code == 200, response.content
    assert [each["type"] for each in response.json()["elements"]] == ["crate"]


def test_a_list_is_complete_for_its_configuration(
    api: ApiClient, busy: Storage, grow: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    token = token_for(busy, Role.VIEWER)
    assert api.get(PEOPLE, token=token).json()["count"] == 0
    monkeypatch.setattr(viewset, "throttle_caller", lambda caller: grow())
    first = api.get(PEOPLE, token=token)
    second = api.get(PEOPLE, token=token)
    assert first.json() == second.json()
    assert first["ETag"] == second["ETag"]
    assert first.json()["count"] == 1


def test_a_retried_read_has_the_configuration_of_its_snapshot(
    api: ApiClient, busy: Storage, grow: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    token, find_page, attempts = token_for(busy, Role.VIEWER), selection.find_page, []

    def interrupted(*arguments: Any, **options: Any) -> Any:
        attempts.append(True)
        if len(attempts) == 1:
            grow()
            raise NotSupportedError("cached plan must not change result type")
        return find_page(*arguments, **options)

    monkeypatch.setattr(selection, "find_page", interrupted)
    response = api.get(PEOPLE, token=token)
    assert (len(attempts), response.json()["count"]) == (2, 1)


def test_a_stream_has_the_snapshot_of_its_headers(
    api: ApiClient, busy: Storage, grow: Callable[[], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change of configuration and content between the headers and the first row is not part of the response."""
    import_elements(busy, write(tmp_path / "people.ndjson", line(2, "person", "people"), line(3, "person", "people")))
    token = token_for(busy, Role.VIEWER)
    whole = api.get(PEOPLE, token=token)
    monkeypatch.setattr(reading_viewset, "BATCH", 1)
    # Each piece is one element, so that the client reads further pieces after the first one.
    monkeypatch.setattr(rendering, "PIECE", 1)
    before = api.get(PEOPLE, token=token)
    assert (hasattr(before, "was_streamed"), before.content, before["ETag"]) == (True, whole.content, whole["ETag"])
    late = Client().get(PEOPLE, headers={"symbio-auth-token": token})
    assert late.streaming
    grow()
    assert (late["ETag"], b"".join(late)) == (whole["ETag"], whole.content)
    assert not connection.in_atomic_block
    after = api.get(PEOPLE, token=token)
    assert after.json()["count"] == 3
    assert after["ETag"] != whole["ETag"]


def test_a_stream_that_fails_at_its_first_piece_is_an_error_response(
    api: ApiClient, busy: Storage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import_elements(busy, write(tmp_path / "people.ndjson", line(2, "person", "people"), line(3, "person", "people")))
    monkeypatch.setattr(reading_viewset, "BATCH", 1)

    def slow(*arguments: Any) -> Iterator[Any]:
        with connection.cursor() as cursor:
            cursor.execute("SELECT set_config('statement_timeout', '1', true)")
            cursor.execute("SELECT pg_sleep(5)")
        yield 0, []

    monkeypatch.setattr(selection, "stream_keys", slow)
    response = api.get(PEOPLE, token=token_for(busy, Role.VIEWER))
    assert (response.status_code, response.json()["type"]) == (400, "error")
    assert not connection.in_atomic_block


def test_pages_have_the_configuration_of_their_snapshot(
    busy: Storage, grow: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Client().get("/acme/busy/1033/people/").status_code == 200

    def late(*arguments: Any, **options: Any) -> Any:
        grow()
        return tenant_scope(*arguments, **options)

    monkeypatch.setattr(pages, "tenant_scope", late)
    response = Client().get(f"/acme/busy/1033/people/{guid(1)}", follow=True)
    assert response.status_code == 200
    assert "Element 1" in response.content.decode()
