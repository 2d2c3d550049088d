from __future__ import annotations

from collections.abc import Iterator

import pytest

from storage.models import Storage
from tests.conftest import StorageMaker
from tests.release.house import Wire, write_lines, write_template
from tests.release.validation_rules import RULES


@pytest.fixture(scope="module")
def house(filled_storage: StorageMaker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Storage]:
    """acme/house with further validation rules and two mandatory cultures; rival/house has the standard template."""
    folder = tmp_path_factory.mktemp("house")
    own: Wire = {
        "key": "house",
        "template": write_template(folder / "template.json", RULES),
        "time_zone": "Europe/Berlin",
        "mandatory_cultures": (1031, 1033),
    }
    rival = {**own, "template": "standard", "mandatory_cultures": None}
    with (
        filled_storage(write_lines(folder / "own.ndjson"), collection="acme", **own) as storage,
        filled_storage(write_lines(folder / "rival.ndjson", "Rival "), collection="rival", **rival),
    ):
        yield storage


@pytest.fixture(autouse=True)
def rival_is_checked(rival: Storage) -> None:
    """Use the fixture `rival` in every test."""
