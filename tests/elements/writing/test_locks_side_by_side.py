"""Locks between two connections: bulk changes of one caller (D471), and removal of files during an import (D454)."""

from __future__ import annotations

import json
import time
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.utils import timezone
from pytest_django import Settings

from elements.bulk import runs
from elements.models import BulkRun
from elements.transfer.file_archives import INDEX, import_files
from repository_site.core.database.statements import fetch
from storage.files.archiving import add_contents
from storage.files.cleaning import remove_unused_files
from storage.files.storing import can_remove_contents
from storage.models import Storage, StoredFile
from storage.options import Role
from storage.provisioning.provision import remove_storage
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.elements.file_desk import OCTETS, PNG, contents, keep_files_in
from tests.factories import StorageFactory, token_for
from tests.patience import BUSY_SECONDS

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]
ROOT = "/acme/busy/_api/rest"
WAITING = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
Beside = Callable[..., Future[Any]]


@pytest.fixture
def busy() -> Iterator[Storage]:
    storage = StorageFactory.create(collection="acme", key="busy", template="standard")
    yield storage
    remove_storage(storage)


@pytest.fixture
def beside() -> Iterator[Beside]:
    """Run a function in another thread, with a connection of its own."""
    with ThreadPoolExecutor(1) as other:

        def run(work: Callable[..., Any], *given: Any) -> Any:
            try:
                return work(*given)
            finally:
                connection.close()

        yield lambda work, *given: other.submit(run, work, *given)


def wait_for_waiting(other: Future[Any]) -> None:
    """Wait until the other connection waits for a lock."""
    end = time.monotonic() + BUSY_SECONDS
    while not fetch(WAITING)[0][0]:
        assert not other.done(), other.result()
        assert time.monotonic() < end
        time.sleep(0.01)


def test_two_bulk_changes_of_one_caller_at_once(
    busy: Storage, api: ApiClient, beside: Beside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second one finds the first one, although that was not committed when the second one was sent."""
    monkeypatch.setattr(runs, "SMALL", 0)
    token = token_for(busy, Role.ADMINISTRATOR)
    body = {"ids": [str(uuid4())], "operations": [{"clear": ["description"]}]}

    def send() -> int:
        response = api.post(f"{ROOT}/facets/it/views/detail/bulk", body, "application/json", token=token)
        return int(response.status_code)

    # The first use of a token is noted in its row, for which the second request would wait instead.
    assert api.get(f"{ROOT}/info", token=token).status_code == 200
    with tenant_scope(busy):
        assert send() == 202
        second = beside(send)
        wait_for_waiting(second)
    assert second.result(BUSY_SECONDS) == 409
    with tenant_scope(busy):
        assert BulkRun.objects.count() == 1


@pytest.fixture
def archive(busy: Storage, api: ApiClient, settings: Settings, tmp_path: Path) -> Path:
    """A file that nothing has used for a week, and an archive with the same content under another id."""
    keep_files_in(settings, tmp_path / "files")
    token = token_for(busy, Role.ADMINISTRATOR)
    uploaded = api.post(f"{ROOT}/files?name=old.png", PNG, content_type=OCTETS, token=token).json()["values"][0]
    old = timezone.now() - timedelta(days=8)
    with tenant_scope(busy):
        StoredFile.objects.update(uploaded_on=old, unused_since=old)
    path, digest = tmp_path / "files.zip", uploaded["sha256"]
    row = {"id": str(uuid4()), "name": "new.png", "mimeType": "image/png", "size": len(PNG), "sha256": digest}
    with zipfile.ZipFile(path, "w") as made:
        made.writestr(INDEX, json.dumps(row))
        assert not add_contents(made, busy.pk, [digest])
    return path


def test_contents_stay_during_an_import(busy: Storage, beside: Beside, archive: Path) -> None:
    with tenant_scope(busy):
        import_files(busy, archive, "test", keep=False)
        assert beside(remove_unused_files, busy).result(BUSY_SECONDS) == 0
    assert remove_unused_files(busy) == 1
    with tenant_scope(busy):
        assert [each.name for each in StoredFile.objects.all()] == ["new.png"]
    assert len(contents(archive.parent / "files")) == 1, "the imported file has the same content"


def test_an_import_waits_for_a_removal(busy: Storage, beside: Beside, archive: Path) -> None:
    def import_archive() -> None:
        with tenant_scope(busy):
            import_files(busy, archive, "test", keep=False)

    with tenant_scope(busy):
        assert can_remove_contents()
        other = beside(import_archive)
        wait_for_waiting(other)
    other.result(BUSY_SECONDS)
    with tenant_scope(busy):
        assert StoredFile.objects.count() == 2
