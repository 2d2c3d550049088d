"""Local times in filters: when the clocks of a zone show them, also where clocks are set forward or back."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elements.filters.local_time import Span, instants_of, spans_before, spans_from
from tests.elements.filter_world import BERLIN, NEW_YORK, ZONES


@pytest.mark.parametrize(
    ("zone", "text", "instants", "count"),
    [
        (BERLIN, "2026-03-02T09:00:00", ["2026-03-02T08:00:00"], 1),
        (BERLIN, "2026-03-29T02:30:00", [], 1),
        (BERLIN, "2026-10-25T02:30:00", ["2026-10-25T00:30:00", "2026-10-25T01:30:00"], 2),
        (BERLIN, "2026-10-25T02:00:00", ["2026-10-25T00:00:00", "2026-10-25T01:00:00"], 1),
        (BERLIN, "2026-10-25T03:00:00", ["2026-10-25T02:00:00"], 1),
        (NEW_YORK, "2026-03-08T02:00:00", [], 1),
        (NEW_YORK, "2026-11-01T01:59:59.999999", ["2026-11-01T05:59:59.999999", "2026-11-01T06:59:59.999999"], 2),
        (ZoneInfo("Pacific/Apia"), "2011-12-30T12:00:00", [], 1),
        (ZoneInfo("America/Juneau"), "1867-10-18T18:00:00", ["1867-10-18T02:57:41", "1867-10-19T02:57:41"], 2),
    ],
)
def test_instants_of_a_local_time(zone: ZoneInfo, text: str, instants: list[str], count: int) -> None:
    moment = datetime.fromisoformat(text)
    found = [each.astimezone(UTC).replace(tzinfo=None).isoformat() for each in instants_of(zone, moment)]
    later = spans_from(zone, moment)
    assert found == instants
    assert later[-1][1] is None
    assert len(later) == len(spans_before(zone, moment)) == count


@pytest.mark.long
@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from([*ZONES, ZoneInfo("Africa/Casablanca"), ZoneInfo("America/Juneau"), ZoneInfo("Asia/Manila")]),
    st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 28)),
    st.integers(-3 * 86400, 3 * 86400),
)
def test_spans_agree_with_the_clock(zone: ZoneInfo, moment: datetime, seconds: int) -> None:
    instant = (moment + timedelta(seconds=seconds)).replace(tzinfo=UTC)
    shown = instant.astimezone(zone).replace(tzinfo=None)

    def within(spans: Sequence[Span]) -> bool:
        return any((not start or start <= instant) and (not end or instant < end) for start, end in spans)

    assert within(spans_from(zone, moment)) == (shown >= moment)
    assert within(spans_before(zone, moment)) == (shown < moment)
    assert instant in instants_of(zone, shown)
