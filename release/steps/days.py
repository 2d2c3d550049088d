"""Validity counts in days of the storage's time zone."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo


def start_of_day(moment: datetime, zone: ZoneInfo) -> datetime:
    """The day of a moment begins at its first instant, also where the clocks skip midnight."""
    local = moment.astimezone(zone)
    return datetime(local.year, local.month, local.day, tzinfo=zone).astimezone(UTC)
