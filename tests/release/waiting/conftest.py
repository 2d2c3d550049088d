from __future__ import annotations

from collections.abc import Iterator

import pytest

from storage.models import Storage
from tests.conftest import StorageMaker
from tests.release.house import write_lines
from tests.release.settable_clock import SettableClock


@pytest.fixture(scope="module")
def house(filled_storage: StorageMaker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Storage]:
    """acme/house with the standard template, whose states of review ask for tasks."""
    lines = write_lines(tmp_path_factory.mktemp("house") / "own.ndjson")
    fields = {"collection": "acme", "key": "house", "template": "standard", "time_zone": "Europe/Berlin"}
    with filled_storage(lines, **fields) as storage:
        yield storage


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> SettableClock:
    """Stop the clock at noon of 1 July 2026."""
    return SettableClock.install(monkeypatch)
