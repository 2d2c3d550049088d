"""Days in the time zone of a storage, by which validity is counted."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo


def start_of_day(moment: datetime, zone: ZoneInfo) -> datetime:
    """Return the first instant of the day of a moment, also in zones whose clocks skip midnight."""
    local = moment.astimezone(zone)
    return datetime(local.year, local.month, local.day, tzinfo=zone).astimezone(UTC)
