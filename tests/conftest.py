"""What every test may ask for, and the order that lets the last test look back on all of them."""

from __future__ import annotations

import pytest

from storage.models import Storage
from tests.api_client import ApiClient
from tests.factories import StorageFactory

LAST = "test_every_operation_is_called_by_some_test"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.name == LAST)


@pytest.fixture
def api() -> ApiClient:
    return ApiClient()


@pytest.fixture
def storage(other_storage: Storage) -> Storage:
    """The storage under test; no anonymous access."""
    return StorageFactory.create(collection="acme", key="handbook", title="Handbook")


@pytest.fixture
def other_storage(db: None) -> Storage:
    """Another tenant, so that a leak shows."""
    return StorageFactory.create(collection="rival", key="handbook", title="Rival's handbook")


@pytest.fixture
def open_storage(other_storage: Storage) -> Storage:
    """A storage that anybody may read."""
    return StorageFactory.create(collection="acme", key="open", title="Open", anonymous="read")
