"""Instants at which the clocks of a zone show a local time: filters compare local times (D13), columns contain
instants.

This is computed in Python instead of by AT TIME ZONE: responses use Python's zone rules, those of the database may be
older, and plain comparisons of a column can use an index. Where clocks are set back, local times are not in the order
of instants, so the instants at which clocks show a certain time or later may be several spans.

Instants are written as local times with an offset, because in UTC they may fall into the year 0 or 10000.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

# From an instant (inclusive) to another (exclusive). None is open.
Span = tuple[datetime | None, datetime | None]
# No zone is further from UTC. No clocks change in the first and last days of the calendar, which avoids overflows.
REACH = timedelta(days=1)
EARLIEST, LATEST = datetime.min + 2 * REACH, datetime.max - 2 * REACH
# No zone sets its clocks forward and back again within this time.
STEP = timedelta(hours=1)
SMALLEST = timedelta(microseconds=1)


def instants_of(zone: ZoneInfo, local: datetime) -> list[datetime]:
    """Return the spans in which clocks show exactly this: one, two where they are set back, none where they are set
    forward."""
    found = []
    for (start, end), offset in _periods(zone, local):
        instant = local.replace(tzinfo=offset)
        if (start is None or start <= instant) and (end is None or instant < end):
            found.append(instant)
    return found


def spans_from(zone: ZoneInfo, local: datetime) -> list[Span]:
    """Return the spans in which clocks show this or later. The last span is open."""
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
    """Return the spans in which clocks show something earlier: all the rest."""
    later = spans_from(zone, local)
    starts = [None, *(end for _, end in later[:-1])]
    return [(start, end) for start, (end, _) in zip(starts, later, strict=True)]


def _periods(zone: ZoneInfo, local: datetime) -> Iterator[tuple[Span, timezone]]:
    """Return the spans of constant UTC offset that matter for a local time, in order, open at both ends."""
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
    """Return the first instant whose offset differs from that of `before`."""
    while after - before > SMALLEST:
        middle = before + (after - before) // 2
        if _offset(zone, middle) == _offset(zone, before):
            before = middle
        else:
            after = middle
    return after


def _offset(zone: ZoneInfo, instant: datetime) -> timedelta:
    return instant.astimezone(zone).utcoffset() or timedelta()
