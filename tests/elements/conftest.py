"""Storages with elements, and tokens of callers; changes of a test are rolled back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from uuid import UUID

import pytest

from storage.models import Storage
from storage.options import Role
from tests.conftest import StorageMaker
from tests.elements import uses_desk
from tests.elements.handbook import ID, TEMPLATE, write_lines
from tests.elements.transfer_files import DEMO
from tests.elements.workshop import TEMPLATE as WORKSHOP
from tests.elements.workshop import lines
from tests.factories import token_for
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


@pytest.fixture(scope="module")
def uses(filled_storage: StorageMaker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Storage]:
    """acme/uses and rival/uses, see `uses_desk.py`."""
    folder = tmp_path_factory.mktemp("uses")
    fields = {"key": "uses", "template": uses_desk.write_template(folder / "template.json"), "anonymous": "read"}
    with (
        filled_storage(uses_desk.write_lines(folder / "own.ndjson"), collection="acme", **fields) as storage,
        filled_storage(uses_desk.write_lines(folder / "rival.ndjson", "Rival "), collection="rival", **fields),
    ):
        yield storage


@pytest.fixture(scope="module")
def workshop(filled_storage: StorageMaker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Storage]:
    """acme/workshop with a type that has every kind of attribute; and rival/workshop with the same ids."""
    folder = tmp_path_factory.mktemp("workshop")
    template = folder / "template.json"
    template.write_text(json.dumps(WORKSHOP), encoding="utf-8")
    fields = {"key": "workshop", "template": str(template), "time_zone": "Europe/Berlin"}
    for name, prefix in (("own", ""), ("rival", "Rival ")):
        (folder / f"{name}.ndjson").write_text(lines(prefix), encoding="utf-8")
    with (
        filled_storage(folder / "own.ndjson", collection="acme", **fields) as storage,
        filled_storage(folder / "rival.ndjson", collection="rival", **fields),
    ):
        yield storage


@pytest.fixture
def anna(handbook: Storage) -> str:
    """An editor, and the author of `order-3`."""
    return token_for(handbook, Role.EDITOR, user_id=UUID(ID["anna"]))


@pytest.fixture
def editor(handbook: Storage) -> str:
    return token_for(handbook, Role.EDITOR)


@pytest.fixture
def architect(handbook: Storage) -> str:
    return token_for(handbook, Role.ARCHITECT)
