"""A time zone as a .NET TimeZoneInfo, for StorageInfo.timeZone (D25).

Rules and names come from the tzdata package and CLDR (Babel), never from the zone files of the machine, so that every
installation gives the same response.
"""

from __future__ import annotations

import calendar
import io
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cache, lru_cache
from importlib import resources
from typing import TypedDict
from zoneinfo import ZoneInfo

from babel import Locale
from babel.core import get_global
from django.utils.translation import gettext as _
from tzlocal.windows_tz import tz_win

# Number of years, from the current one, for which yearly rules are given.
_YEARS = 10
# Names in tzdata that are not zones: a placeholder, and two that a machine defines for itself.
_NO_ZONES = frozenset({"Factory", "localtime", "posixrules"})
_DAY = timedelta(days=1)
_SECOND = timedelta(seconds=1)
_NEW_YEAR = datetime(1, 1, 1)
_ENGLISH = Locale("en")
# The first and the last day on which a rule applies.
_Days = tuple[date, date]
_WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")


class UnknownTimeZone(ValueError):
    """Raised for a name that is not an IANA time zone."""


class TransitionTime(TypedDict):
    TimeOfDay: str
    Month: int
    Week: int
    Day: int
    DayOfWeek: str
    IsFixedDateRule: bool


class AdjustmentRule(TypedDict):
    DateStart: str
    DateEnd: str
    DaylightDelta: str
    BaseUtcOffsetDelta: str
    DaylightTransitionStart: TransitionTime
    DaylightTransitionEnd: TransitionTime


class TimeZoneInfo(TypedDict):
    """The members of .NET's TimeZoneInfo in .NET's spelling, in the order of the API."""

    Id: str
    DisplayName: str
    StandardName: str
    DaylightName: str
    BaseUtcOffset: str
    SupportsDaylightSavingTime: bool
    AdjustmentRules: list[AdjustmentRule]


@dataclass(frozen=True, slots=True)
class _Shift:
    """A change of the UTC offset, at the wall clock time before the change, as in POSIX and .NET."""

    wall: datetime
    before: timedelta
    after: timedelta

    @property
    def utc(self) -> datetime:
        return self.wall - self.before


@dataclass(frozen=True, slots=True)
class _Change:
    """One change of a POSIX rule: a day such as M3.5.0, and the wall clock time counted from its midnight."""

    day: str
    time: timedelta

    def moment(self, year: int) -> datetime:
        return datetime.combine(_posix_day(self.day, year), time()) + self.time


@dataclass(frozen=True, slots=True)
class _Footer:
    """The permanent rule of a zone. Daylight saving is always the higher offset, even in Ireland, where the law calls
    summer time the standard: .NET cannot express anything else."""

    low: timedelta
    high: timedelta
    changes: tuple[_Change, _Change] | None = None

    def shifts(self, years: Iterable[int]) -> Iterator[_Shift]:
        if self.changes is not None:
            up, down = self.changes
            for year in years:
                yield _Shift(up.moment(year), self.low, self.high)
                yield _Shift(down.moment(year), self.high, self.low)


def time_zone_info(name: str, today: date | None = None) -> TimeZoneInfo:
    """Return the zone of an IANA name on a day, by default today, as a new dict."""
    if name not in time_zone_names():
        raise UnknownTimeZone(
            _("%(name)r is not a time zone; use an IANA name such as 'Europe/Berlin'") % {"name": name}
        )
    return deepcopy(_render(name, today or datetime.now(UTC).date()))


@cache
def time_zone_names() -> tuple[str, ...]:
    """Return all zones of the tzdata package, including older names, sorted."""
    listed = resources.files("tzdata").joinpath("zones").read_text(encoding="utf-8").split()
    return tuple(sorted(name for name in listed if name not in _NO_ZONES))


@lru_cache(maxsize=1024)
def _render(name: str, today: date) -> TimeZoneInfo:
    data = resources.files("tzdata").joinpath("zoneinfo", *name.split("/")).read_bytes()
    footer = _footer(data.rsplit(b"\n", 2)[1].decode("ascii"))
    clock = ZoneInfo.from_file(io.BytesIO(data), key=name)
    shifts = _shifts(clock, today.year)
    base = _base_offset(clock, shifts, today)
    rules = _rules(footer, clock, shifts, base, today.year)
    has_daylight = any(rule["DaylightDelta"] != _span(timedelta()) for rule in rules)
    ids = _cldr_ids(name)
    standard = _long_name(ids, "standard") or _location(ids, base)
    daylight = _long_name(ids, "daylight") or _location(ids, base)
    return {
        "Id": next((tz_win[key] for key in (name, *ids) if key in tz_win), name),
        "DisplayName": _display_name(ids, base, has_daylight),
        "StandardName": standard,
        "DaylightName": daylight if has_daylight else standard,
        "BaseUtcOffset": _span(base),
        "SupportsDaylightSavingTime": has_daylight,
        "AdjustmentRules": rules,
    }


_TIME = r"[+-]?\d+(?::\d+){0,2}"
_CHANGE = rf"([JM\d.]+)(?:/({_TIME}))?"
_ABBREVIATION = r"(?:<[^>]+>|[A-Za-z]+)"
_POSIX_RULE = re.compile(rf"{_ABBREVIATION}({_TIME})(?:{_ABBREVIATION}({_TIME})?,{_CHANGE},{_CHANGE})?")


def _footer(text: str) -> _Footer:
    """Parse a POSIX rule such as CET-1CEST,M3.5.0,M10.5.0/3: offsets count westwards, the default time is 2:00."""
    match = _POSIX_RULE.fullmatch(text)
    if match is None:
        raise ValueError(f"tzdata has a rule of an unknown form: {text!r}")
    west, daylight_west, start, start_time, end, end_time = match.groups()
    standard = -_duration(west)
    if start is None:
        return _Footer(standard, standard)
    daylight = standard + timedelta(hours=1) if daylight_west is None else -_duration(daylight_west)
    into = _Change(start, _duration(start_time or "2"))
    out_of = _Change(end, _duration(end_time or "2"))
    if daylight < standard:
        return _Footer(daylight, standard, (out_of, into))
    return _Footer(standard, daylight, (into, out_of))


def _duration(text: str) -> timedelta:
    hours, minutes, seconds = (*map(int, text.lstrip("+-").split(":")), 0, 0)[:3]
    size = timedelta(hours=hours, minutes=minutes, seconds=seconds)
    return -size if text.startswith("-") else size


def _posix_day(text: str, year: int) -> date:
    """Return the date of Mm.w.d (weekday of a month, week 5 is the last), Jn (day without February 29) or n."""
    if text.startswith("M"):
        month, week, weekday = map(int, text[1:].split("."))
        first = date(year, month, 1)
        days = (weekday - first.isoweekday()) % 7 + 7 * (week - 1)
        return first + timedelta(days if days < calendar.monthrange(year, month)[1] else days - 7)
    if text.startswith("J"):
        return (date(2001, 1, 1) + timedelta(int(text[1:]) - 1)).replace(year=year)
    return date(year, 1, 1) + timedelta(int(text))


def _local(clock: ZoneInfo, at: datetime) -> datetime:
    return at.replace(tzinfo=UTC).astimezone(clock)


def _offset(moment: datetime) -> timedelta:
    return moment.utcoffset() or timedelta()


def _shifts(clock: ZoneInfo, first_year: int) -> list[_Shift]:
    """Return every change of the offset in these years, found by comparing each noon with the next."""
    found = []
    noon = datetime(first_year - 1, 12, 30, 12, tzinfo=clock)
    offset = clock.utcoffset(noon)
    while noon.year < first_year + _YEARS:
        later = noon + _DAY
        if (changed := clock.utcoffset(later)) != offset:
            found.append(_shift(clock, noon, later))
        noon, offset = later, changed
    return found


def _shift(clock: ZoneInfo, noon: datetime, next_noon: datetime) -> _Shift:
    """Return the change between two noons, to the second."""
    before, after = _offset(noon), _offset(next_noon)
    start = noon.replace(tzinfo=None) - before
    seconds = range((next_noon.replace(tzinfo=None) - after - start) // _SECOND)
    changed = bisect_left(seconds, True, key=lambda n: _offset(_local(clock, start + n * _SECOND)) != before)
    return _Shift(start + before + changed * _SECOND, before, after)


def _base_offset(clock: ZoneInfo, shifts: Sequence[_Shift], today: date) -> timedelta:
    """Return the current standard offset; for a zone with negative saving (Ireland), the lower offset."""
    now = datetime.combine(today, time())
    soon = (shift.utc for shift in shifts if now < shift.utc < now + 366 * _DAY)
    moments = [_local(clock, at) for at in (now, *soon)]
    pairs = [(_offset(moment), moment.dst() or timedelta()) for moment in moments]
    standard = pairs[0][0] - pairs[0][1]
    return standard + min(timedelta(), *(saving for offset, saving in pairs if offset - saving == standard))


def _rules(
    footer: _Footer, clock: ZoneInfo, shifts: Sequence[_Shift], base: timedelta, first_year: int
) -> list[AdjustmentRule]:
    """Return rules for the years that deviate from the permanent rule, then the permanent rule if .NET can express it.

    A zone may deviate because its table announces something (Cuba's winter of 2026), or in all years because
    .NET has no words for its rule ("the Saturday before the last Sunday"); then only _YEARS are covered.
    """
    years = range(first_year, first_year + _YEARS)
    deviating = {shift.wall.year for shift in {*shifts} ^ {*footer.shifts(years)}} & {*years}
    offsets = {year: _offset(_local(clock, datetime(year, 1, 1) - base)) for year in years}
    if footer.changes is None:
        deviating |= {year for year in years if offsets[year] != footer.low}
    settled = max(deviating, default=first_year - 1) + 1
    lasting = _lasting_rules(footer, base, date(settled, 1, 1) if deviating else date.min)
    singly = years if lasting is None else range(first_year, settled)
    yearly = [rule for year in singly for rule in _rules_of_one_year(year, offsets[year], shifts, base)]
    return yearly + (lasting or [])


def _lasting_rules(footer: _Footer, base: timedelta, since: date) -> list[AdjustmentRule] | None:
    """Return the footer as a rule without an end: none if the base offset is enough, None if .NET cannot express it."""
    if footer.changes is None:
        return [] if footer.low == base else [_constant_rule((since, date.max), footer.low - base)]
    start, end = map(_every_year, footer.changes)
    if start is None or end is None:
        return None
    return [_rule((since, date.max), footer.low - base, footer.high - footer.low, start, end)]


def _every_year(change: _Change) -> TransitionTime | None:
    """Return a change as a yearly transition, or None: a time outside of the day moves the change to another day, which
    .NET may not be able to express. The days in 28 years cover every kind of year."""
    moments = [change.moment(year) for year in range(2001, 2029)]
    if len({(moment.month, moment.day) for moment in moments}) == 1:
        return _transition(moments[0])
    always_last = all((moment + 7 * _DAY).month != moment.month for moment in moments)
    weeks = {5 if always_last else (moment.day + 6) // 7 for moment in moments}
    if len({(moment.month, moment.weekday()) for moment in moments}) > 1 or len(weeks) > 1:
        return None
    return _transition(moments[0], weeks.pop())


def _rules_of_one_year(
    year: int, offset: timedelta, shifts: Iterable[_Shift], base: timedelta
) -> Iterator[AdjustmentRule]:
    """Return the rules of one year; several if the clocks change more than twice (Morocco in 2026)."""
    first, last = date(year, 1, 1), date(year, 12, 31)
    left = [shift for shift in shifts if shift.wall.year == year]
    if not left and offset != base:
        yield _constant_rule((first, last), offset - base)
    while left:
        paired = len(left) > 1 and left[0].before == left[1].after
        now, left = left[: 1 + paired], left[1 + paired :]
        until = (now[-1].utc + base).date() if left else last
        # A fall from the base needs no rule before its day; .NET would misread the first hour of one.
        if not paired and now[0].before == base > now[0].after:
            first = (now[0].utc + base).date()
        yield _dated_rule((first, until), now, base)
        first = until + _DAY


def _dated_rule(days: _Days, shifts: Sequence[_Shift], base: timedelta) -> AdjustmentRule:
    """Return the rule for one shift, or for a shift and its return.

    To .NET, January 1, 0:00 is the open side of a single shift. (Where a single rise is followed by a year
    with two shifts, .NET takes the last hour of the year for standard time; no zone has that at present.)
    """
    low, high = sorted((shifts[0].before, shifts[0].after))
    walls = {shift.before: shift.wall for shift in shifts}
    start, end = (_transition(walls.get(side, _NEW_YEAR)) for side in (low, high))
    if start == end:  # a single shift at New Year
        return _constant_rule(days, shifts[0].after - base)
    return _rule(days, low - base, high - low, start, end)


def _constant_rule(days: _Days, delta: timedelta) -> AdjustmentRule:
    """Return a rule for another offset without saving; .NET marks it by transitions a millisecond apart."""
    sign = _transition(_NEW_YEAR), _transition(_NEW_YEAR + timedelta(milliseconds=1))
    return _rule(days, delta, timedelta(), *sign)


def _rule(
    days: _Days, base_delta: timedelta, saving: timedelta, start: TransitionTime, end: TransitionTime
) -> AdjustmentRule:
    return {
        "DateStart": f"{days[0].isoformat()}T00:00:00",
        "DateEnd": f"{days[1].isoformat()}T00:00:00",
        "DaylightDelta": _span(saving),
        "BaseUtcOffsetDelta": _span(base_delta),
        "DaylightTransitionStart": start,
        "DaylightTransitionEnd": end,
    }


def _transition(moment: datetime, week: int | None = None) -> TransitionTime:
    """Return a moment as a fixed date or, given a week, as a weekday; .NET fills unused fields with 1 and Sunday."""
    precision = "milliseconds" if moment.microsecond else "seconds"
    return {
        "TimeOfDay": f"0001-01-01T{moment.time().isoformat(precision)}",
        "Month": moment.month,
        "Week": week or 1,
        "Day": 1 if week else moment.day,
        "DayOfWeek": _WEEKDAYS[moment.isoweekday() % 7] if week else "Sunday",
        "IsFixedDateRule": week is None,
    }


def _span(value: timedelta) -> str:
    seconds = abs(value) // _SECOND
    sign = "-" if value < timedelta() else ""
    return f"{sign}{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def _cldr_ids(name: str) -> tuple[str, ...]:
    """Yield all names of the zone, the current one first: CLDR keeps some facts under an older name."""
    aliases = get_global("zone_aliases")
    current = aliases.get(name, name)
    return (current, *sorted(old for old, new in aliases.items() if new == current))


def _long_name(ids: Sequence[str], variant: str) -> str | None:
    """Return CLDR's English name of the zone ("British Summer Time"), or that of its metazone."""
    own = [_ENGLISH.time_zones.get(key, {}) for key in ids]
    shared = [_ENGLISH.meta_zones.get(get_global("meta_zones").get(key), {}) for key in ids]
    names = (entry.get("long", {}).get(variant) for entry in (*own, *shared))
    # CLDR uses symbols in place of a name to mark "no name, and none inherited".
    return next((str(name) for name in names if name and name[0].isalpha()), None)


def _is_place(ids: Sequence[str]) -> bool:
    return "/" in ids[0] and not ids[0].startswith("Etc/")


def _city(ids: Sequence[str]) -> str:
    known = (_ENGLISH.time_zones.get(key, {}).get("city") for key in ids)
    return str(next(filter(None, known), ids[0].rpartition("/")[2].replace("_", " ")))


def _location(ids: Sequence[str], base: timedelta) -> str:
    """Name the zone after its country if that has only one zone, else after its city, else by its offset."""
    if not _is_place(ids):
        return f"GMT{_signed(base)}"
    territories = get_global("zone_territories")
    country = next((territories[key] for key in ids if key in territories), "")
    single = country.isalpha() and len(get_global("territory_zones").get(country, ())) == 1
    place = _ENGLISH.territories[country] if single else _city(ids)
    return str(_ENGLISH.zone_formats["region"] % place)


def _display_name(ids: Sequence[str], base: timedelta, has_daylight: bool) -> str:
    """Compose the display name as .NET does: offset, generic name, and the city if it adds information."""
    if ids[0] == "Etc/UTC":
        return f"(UTC) {_long_name(ids, 'standard')}"
    location = _location(ids, base)
    variants = ("generic",) if has_daylight else ("standard", "generic")
    generic = next(filter(None, (_long_name(ids, variant) for variant in variants)), location)
    if _is_place(ids):
        if generic == _long_name(("Etc/GMT",), "standard"):
            generic = location  # rather "Iceland Time" than "Greenwich Mean Time (Reykjavik)"
        elif generic != location and _city(ids).casefold() not in generic.casefold():
            generic = f"{generic} ({_city(ids)})"
    return f"(UTC{_signed(base)}) {generic}"


def _signed(offset: timedelta) -> str:
    return f"{'-' if offset < timedelta() else '+'}{_span(abs(offset))[:5]}"
