"""Instants on the wire (D16): local to the storage's zone, no offset, no trailing zeros in the fraction."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache
from zoneinfo import ZoneInfo


# Kept, since what is read often has not changed since; an entry takes some 300 bytes.
@lru_cache(maxsize=20_000)
def wire_datetime(instant: datetime, zone: ZoneInfo) -> str:
    local = instant.astimezone(zone)
    # By hand, which takes half as long as `isoformat`: that asks the zone once more, for an offset that is not wanted.
    day = f"{local.year:04}-{local.month:02}-{local.day:02}"
    text = f"{day}T{local.hour:02}:{local.minute:02}:{local.second:02}"
    return f"{text}.{local.microsecond:06}".rstrip("0") if local.microsecond else text
