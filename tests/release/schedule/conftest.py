from __future__ import annotations

import pytest

from tests.release.settable_clock import SettableClock


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> SettableClock:
    """Stop the clock at noon of 1 July 2026."""
    return SettableClock.install(monkeypatch)
