from __future__ import annotations

from collections.abc import Iterator

import pytest

from storage.models import Storage
from storage.models.roles import Role
from tests.release.house import HouseClient, MakeClient, Wire, one
from tests.release.settable_clock import SettableClock
from tests.release.stored_contents import contents, first_contents
from tests.release.transition_calls import AFTERNOON, NIGHT


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> SettableClock:
    return SettableClock.install(monkeypatch, AFTERNOON.isoformat())


@pytest.fixture
def caller(desk: MakeClient) -> HouseClient:
    """Return a caller with all permissions, for tests that are not about permissions."""
    return desk(Role.ARCHITECT)


@pytest.fixture(autouse=True)
def rival(house: Storage, db: None) -> Iterator[Storage]:
    """Check that the test leaves the storage of the rival unchanged."""
    storage = Storage.objects.get(collection__key="rival", key=house.key)
    before = first_contents(storage)
    yield storage
    assert contents(storage) == before


@pytest.fixture
def draft(desk: MakeClient, clock: SettableClock) -> Wire:
    """Create version 2.1 of `order` as anna in the afternoon, then move the clock to the night."""
    anna = desk(user="anna")
    made = anna.new_version("order")
    reason = {"attributes": {"reasonForRevision": {"1033": "Faster."}}}
    found = one(anna.update({"versionId": made["versionId"], **reason}))
    clock.moment = NIGHT
    return found


@pytest.fixture
def warned(caller: HouseClient) -> str:
    """Create a version without a reason for its revision, whose release warns (D89)."""
    found: str = caller.new_version("released")["versionId"]
    return found
