"""Storages full of elements, made once a module: reading does not change them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from pytest_django.plugin import DjangoDbBlocker

from elements.transfer.importing import import_elements
from repository_site import environment
from storage.models import Storage
from storage.provisioning import remove_storage
from tests.elements.handbook import TEMPLATE, write_lines
from tests.factories import StorageFactory

DEMO = environment.PROJECT_DIR / "elements/demo/showcase.ndjson"
StorageMaker = Callable[..., AbstractContextManager[Storage]]


@pytest.fixture(scope="session")
def filled_storage(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> StorageMaker:
    """Makes a storage with the elements of a file outside any test's transaction, and takes it away afterwards."""

    @contextmanager
    def fill(lines: Path, **fields: Any) -> Iterator[Storage]:
        with django_db_blocker.unblock():
            storage = StorageFactory.create(**fields)
        try:
            with django_db_blocker.unblock():
                import_elements(storage, str(lines))
            yield storage
        finally:
            with django_db_blocker.unblock():
                remove_storage(storage)

    return fill


@pytest.fixture(scope="module")
def showcase(filled_storage: StorageMaker) -> Iterator[Storage]:
    """The demo storage."""
    with filled_storage(DEMO, collection="demo", key="showcase", template="standard", anonymous="read") as storage:
        yield storage


@pytest.fixture(scope="module")
def handbook(filled_storage: StorageMaker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Storage]:
    """acme/handbook, see `handbook.py`; and rival/handbook with the same ids under other names, so that a leak shows."""
    folder = tmp_path_factory.mktemp("handbook")
    template = folder / "template.json"
    template.write_text(json.dumps(TEMPLATE), encoding="utf-8")
    fields = {"key": "handbook", "template": str(template), "anonymous": "read", "time_zone": "Europe/Berlin"}
    with (
        filled_storage(write_lines(folder / "own.ndjson"), collection="acme", **fields) as storage,
        filled_storage(write_lines(folder / "rival.ndjson", "Rival "), collection="rival", **fields),
    ):
        yield storage
