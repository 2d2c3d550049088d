"""When clocks of a zone show a local time: filters compare local times (D13), columns hold instants.

Worked out here and not with AT TIME ZONE: answers are rendered with Python's rules of the zones, those of the database
may be older, and a plain comparison of a column can use an index. Where clocks are set back, local times are not in the
order of the instants; so the instants at which clocks show a certain time or later may lie in several spans.

An instant is written as a local time with its offset, because in UTC it may lie in the year 0 or 10000.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

# From an instant up to another one, which no longer counts. None is open.
Span = tuple[datetime | None, datetime | None]
# No zone is further from UTC. In the first and the last days of the calendar no clocks are set, which spares overflows.
REACH = timedelta(days=1)
EARLIEST, LATEST = datetime.min + 2 * REACH, datetime.max - 2 * REACH
# Closer together than this, no zone sets its clocks forth and back again.
STEP = timedelta(hours=1)
SMALLEST = timedelta(microseconds=1)


def instants_of(zone: ZoneInfo, local: datetime) -> list[datetime]:
    """When clocks show exactly this: once, twice where they are set back, never where they are set forward."""
    found = []
    for (start, end), offset in _periods(zone, local):
        instant = local.replace(tzinfo=offset)
        if (start is None or start <= instant) and (end is None or instant < end):
            found.append(instant)
    return found


def spans_from(zone: ZoneInfo, local: datetime) -> list[Span]:
    """When clocks show this or later. The last span is open."""
    spans: list[Span] = []
    for (start, end), offset in _periods(zone, local):
        instant = local.replace(tzinfo=offset)
        first = instant if start is None or start < instant else start
        if end is not None and end <= first:
            continue
        if spans and spans[-1][1] == first:
            first = spans.pop()[0] or first
        spans.append((first, end))
    return spans


def spans_before(zone: ZoneInfo, local: datetime) -> list[Span]:
    """When clocks show something earlier: all the rest."""
    later = spans_from(zone, local)
    starts = [None, *(end for _, end in later[:-1])]
    return [(start, end) for start, (end, _) in zip(starts, later, strict=True)]


def _periods(zone: ZoneInfo, local: datetime) -> Iterator[tuple[Span, timezone]]:
    """The spans with the same offset from UTC that matter for a local time, in order, open at both ends."""
    at = max(local, EARLIEST).replace(tzinfo=UTC) - REACH
    last = min(local, LATEST).replace(tzinfo=UTC) + REACH
    start = None
    while at < last:
        following = min(at + STEP, last)
        if _offset(zone, at) != _offset(zone, following):
            following = _change(zone, at, following)
            yield (start, following), timezone(_offset(zone, at))
            start = following
        at = following
    yield (start, None), timezone(_offset(zone, last))


def _change(zone: ZoneInfo, before: datetime, after: datetime) -> datetime:
    """The first instant at which the offset is no longer that of `before`."""
    while after - before > SMALLEST:
        middle = before + (after - before) // 2
        if _offset(zone, middle) == _offset(zone, before):
            before = middle
        else:
            after = middle
    return after


def _offset(zone: ZoneInfo, instant: datetime) -> timedelta:
    return instant.astimezone(zone).utcoffset() or timedelta()
