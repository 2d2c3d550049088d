from __future__ import annotations

import pytest

from storage.models import Storage
from tests.release.house import HouseClient, MakeClient, Wire, one
from tests.release.settable_clock import SettableClock
from tests.release.transition_calls import AFTERNOON, NIGHT


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> SettableClock:
    return SettableClock.install(monkeypatch, AFTERNOON.isoformat())


@pytest.fixture(autouse=True)
def rival_is_checked(rival: Storage) -> None:
    """Use the fixture `rival` in every test."""


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
