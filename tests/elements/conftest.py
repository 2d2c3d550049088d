"""Storages with elements; changes of a test are rolled back."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from storage.models import Storage
from tests.conftest import StorageMaker
from tests.elements.handbook import TEMPLATE, write_lines
from tests.elements.transfer_files import DEMO
from tests.filled_storages import NOTHING


@pytest.fixture(scope="module")
def showcase(filled_storage: StorageMaker) -> Iterator[Storage]:
    """The demo storage."""
    with filled_storage(DEMO, collection="demo", key="showcase", template="standard", anonymous="read") as storage:
        yield storage


@pytest.fixture(scope="module")
def handbook(filled_storage: StorageMaker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Storage]:
    """acme/handbook, see `handbook.py`, and rival/handbook with the same ids and other names, so that a leak shows."""
    folder = tmp_path_factory.mktemp("handbook")
    template = folder / "template.json"
    template.write_text(json.dumps(TEMPLATE), encoding="utf-8")
    fields = {"key": "handbook", "template": str(template), "anonymous": "read", "time_zone": "Europe/Berlin"}
    with (
        filled_storage(write_lines(folder / "own.ndjson"), collection="acme", **fields) as storage,
        filled_storage(write_lines(folder / "rival.ndjson", "Rival "), collection="rival", **fields),
    ):
        yield storage


@pytest.fixture(scope="module")
def limited(filled_storage: StorageMaker) -> Iterator[Storage]:
    """acme/limited and rival/limited, with the standard template and without elements, see `limited_desk.py`."""
    fields = {"key": "limited", "template": "standard"}
    with (
        filled_storage(NOTHING, collection="rival", **fields),
        filled_storage(NOTHING, collection="acme", **fields) as storage,
    ):
        yield storage
