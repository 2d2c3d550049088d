from __future__ import annotations

import pytest
from pytest_django import Settings as ChangedSettings

from tests.release.settable_clock import SettableClock


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> SettableClock:
    """Stop the clock at noon of 1 July 2026."""
    return SettableClock.install(monkeypatch)


@pytest.fixture
def long_sessions(settings: ChangedSettings) -> None:
    """Keep users signed in while a test moves the clock by days."""
    settings.SESSION_COOKIE_AGE = 30 * 24 * 3600
