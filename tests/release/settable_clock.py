"""A clock that a test sets, in place of `django.utils.timezone.now`."""

from __future__ import annotations

from datetime import datetime

import pytest
from django.utils import timezone

NOON = "2026-07-01T10:00:00+00:00"
"""Noon of 1 July 2026 in Berlin, the time zone of acme/house."""


class SettableClock:
    def __init__(self, text: str = NOON) -> None:
        self.set(text)

    def set(self, text: str) -> None:
        self.moment = datetime.fromisoformat(text)

    @classmethod
    def install(cls, monkeypatch: pytest.MonkeyPatch, text: str = NOON) -> SettableClock:
        clock = cls(text)
        monkeypatch.setattr(timezone, "now", lambda: clock.moment)
        return clock
