"""Date-times in responses (D16): local to the storage's time zone, without offset and trailing zeros."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache
from zoneinfo import ZoneInfo


# Cached, since most values are read more than once; an entry takes some 300 bytes.
@lru_cache(maxsize=20_000)
def wire_datetime(instant: datetime, zone: ZoneInfo) -> str:
    local = instant.astimezone(zone)
    # Takes half the time of `isoformat`, which computes the offset again.
    day = f"{local.year:04}-{local.month:02}-{local.day:02}"
    text = f"{day}T{local.hour:02}:{local.minute:02}:{local.second:02}"
    return f"{text}.{local.microsecond:06}".rstrip("0") if local.microsecond else text
