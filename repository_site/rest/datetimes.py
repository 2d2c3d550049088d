"""Instants on the wire (D16): local to the storage's zone, no offset, no trailing zeros in the fraction."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo


def wire_datetime(instant: datetime, zone: ZoneInfo) -> str:
    text = instant.astimezone(zone).replace(tzinfo=None).isoformat()
    return text.rstrip("0") if "." in text else text
