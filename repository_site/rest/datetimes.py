"""Instants on the wire (D16): local to the storage's zone, no offset, no trailing zeros in the fraction."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo


def wire_datetime(instant: datetime, zone: ZoneInfo) -> str:
    text = instant.astimezone(zone).isoformat()
    # Up to the seconds, or up to the fraction; the offset that follows is not wanted.
    return text[:26].rstrip("0") if instant.microsecond else text[:19]
