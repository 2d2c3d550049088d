"""acme/workshop, whose type `thing` has every kind of attribute, for tests of tables; changes of a test are rolled back."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from storage.models import Storage
from storage.options import Role
from tests.api_client import ApiClient
from tests.conftest import StorageMaker
from tests.elements.tables.table_desk import TableDesk
from tests.elements.workshop import TEMPLATE, lines
from tests.factories import token_for


@pytest.fixture(scope="module")
def workshop(filled_storage: StorageMaker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Storage]:
    folder = tmp_path_factory.mktemp("workshop")
    template = folder / "template.json"
    template.write_text(json.dumps(TEMPLATE), encoding="utf-8")
    fields = {"key": "workshop", "template": str(template), "time_zone": "Europe/Berlin", "anonymous": "read"}
    for name, prefix in (("own", ""), ("rival", "Rival ")):
        (folder / f"{name}.ndjson").write_text(lines(prefix), encoding="utf-8")
    with (
        filled_storage(folder / "own.ndjson", collection="acme", **fields) as storage,
        filled_storage(folder / "rival.ndjson", collection="rival", **fields),
    ):
        yield storage


@pytest.fixture
def desk(workshop: Storage, api: ApiClient) -> TableDesk:
    return TableDesk(workshop, api, token_for(workshop, Role.ADMINISTRATOR))
