from __future__ import annotations

from collections.abc import Iterator

import pytest

from storage.models import Storage
from tests.conftest import StorageMaker
from tests.release.conftest import filled_house
from tests.release.settable_clock import SettableClock


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> SettableClock:
    """Stop the clock at noon of 1 July 2026."""
    return SettableClock.install(monkeypatch)


@pytest.fixture(scope="package")
def house(filled_storage: StorageMaker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Storage]:
    """One storage for all files of this folder."""
    with filled_house(filled_storage, tmp_path_factory.mktemp("house")) as storage:
        yield storage
