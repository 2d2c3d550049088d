"""The storage of the release tests; changes of a test are rolled back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from elements.transfer.importing import import_elements
from storage.models import Storage
from storage.options import Role
from tests.api_client import ApiClient
from tests.conftest import StorageMaker
from tests.factories import StorageFactory
from tests.release.house import HouseClient, MakeClient, write_lines, write_template
from tests.release.set_keeper import Keeper
from tests.release.stored_contents import contents, first_contents


@pytest.fixture(scope="module")
def house(filled_storage: StorageMaker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Storage]:
    """acme/house (see `house.py`), and rival/house with the same ids and other names to detect leaks."""
    folder = tmp_path_factory.mktemp("house")
    fields = {"key": "house", "template": write_template(folder / "template.json"), "time_zone": "Europe/Berlin"}
    with (
        filled_storage(write_lines(folder / "own.ndjson"), collection="acme", **fields) as storage,
        filled_storage(write_lines(folder / "rival.ndjson", "Rival "), collection="rival", **fields),
    ):
        yield storage


@pytest.fixture
def old_house(tmp_path: Path) -> Storage:
    """acme/house for tests that commit: only committed transactions have times of their own (D563).

    After such a test all rows are deleted.
    """
    storage = StorageFactory.create(collection="acme", key="house", template=write_template(tmp_path / "template.json"))
    import_elements(storage, str(write_lines(tmp_path / "own.ndjson")))
    return storage


@pytest.fixture
def desk(house: Storage, api: ApiClient) -> Callable[..., HouseClient]:
    """`desk(Role.EDITOR)` returns a client with a token of its own, `desk(user="anna")` one for that user."""

    def sit(*roles: Role, user: str | None = None) -> HouseClient:
        return HouseClient(house, api, *roles, user=user)

    return sit


@pytest.fixture
def caller(desk: MakeClient) -> HouseClient:
    """Return a caller with all permissions, for tests that are not about permissions."""
    return desk(Role.ARCHITECT)


@pytest.fixture
def keeper(house: Storage, api: ApiClient) -> Keeper:
    """Return the administrator, who changes permission sets."""
    return Keeper(house, api, Role.ADMINISTRATOR)


@pytest.fixture
def rival(house: Storage, db: None) -> Iterator[Storage]:
    """Check that the test leaves the storage of the rival unchanged."""
    storage = Storage.objects.get(collection__key="rival", key=house.key)
    before = first_contents(storage)
    yield storage
    assert contents(storage) == before
