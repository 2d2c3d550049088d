"""Time zones as .NET's TimeZoneInfo: every zone renders, and its rules agree with zoneinfo."""

from __future__ import annotations

import io
import re
from calendar import monthrange
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from functools import cache
from importlib import resources
from itertools import pairwise
from typing import get_type_hints
from zoneinfo import ZoneInfo

import pytest

from storage.localisation import time_zones
from storage.localisation.time_zones import (
    AdjustmentRule,
    TimeZoneInfo,
    TransitionTime,
    time_zone_info,
    time_zone_names,
)
from tests.scale import IS_FULL, PART

TODAY = date(2026, 11, 15)
WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
SPAN = re.compile(r"-?\d\d:[0-5]\d:[0-5]\d")
HOUR, ZERO = "01:00:00", "00:00:00"
Days = tuple[str, str]
EVER: Days = ("0001-01-01", "9999-12-31")


@cache
def span(text: str) -> timedelta:
    hours, minutes, seconds = (int(part) for part in text.lstrip("-").split(":"))
    size = timedelta(hours=hours, minutes=minutes, seconds=seconds)
    return -size if text.startswith("-") else size


def moment(transition: TransitionTime, year: int) -> datetime:
    at = datetime.fromisoformat(transition["TimeOfDay"]).replace(year=year, month=transition["Month"])
    if transition["IsFixedDateRule"]:
        return at.replace(day=transition["Day"])
    first = 1 + (WEEKDAYS.index(transition["DayOfWeek"]) - at.weekday()) % 7
    fitting = range(first, monthrange(year, transition["Month"])[1] + 1, 7)
    return at.replace(day=fitting[min(transition["Week"], len(fitting)) - 1])


def at_new_year(transition: TransitionTime) -> bool:
    first_day = transition["Month"] == 1 and transition["Day"] == 1
    return first_day and transition["TimeOfDay"].startswith("0001-01-01T00:00:00")


def rule_of(zone: TimeZoneInfo, local: date) -> AdjustmentRule | None:
    for rule in zone["AdjustmentRules"]:
        if rule["DateStart"][:10] <= local.isoformat() <= rule["DateEnd"][:10]:
            return rule
    return None


def offset_by_rules(zone: TimeZoneInfo, utc: datetime) -> timedelta:
    """Evaluate a rendered zone as .NET does, independently of the code that renders it."""
    base = span(zone["BaseUtcOffset"])
    year = (utc + base).year
    rule = rule_of(zone, (utc + base).date())
    if rule is None:
        return base
    standard = base + span(rule["BaseUtcOffsetDelta"])
    saving = span(rule["DaylightDelta"])
    start = moment(rule["DaylightTransitionStart"], year) - standard
    end = moment(rule["DaylightTransitionEnd"], year) - standard - saving
    if at_new_year(rule["DaylightTransitionEnd"]):
        # Saving continues past New Year if the next rule continues it, else it ends with the year.
        following = rule_of(zone, date(year + 1, 1, 1))
        taken_up = following is not None and at_new_year(following["DaylightTransitionStart"])
        end = datetime.max if taken_up else datetime(year + 1, 1, 1) - standard - saving
    if at_new_year(rule["DaylightTransitionStart"]):
        before = rule_of(zone, date(year - 1, 12, 31))
        if before is not None and at_new_year(before["DaylightTransitionEnd"]):
            start = datetime.min
    in_saving = start <= utc < end if start < end else utc < end or utc >= start
    return standard + saving if in_saving else standard


@cache
def content(name: str) -> bytes:
    return resources.files("tzdata").joinpath("zoneinfo", *name.split("/")).read_bytes()


@cache
def clock(name: str) -> ZoneInfo:
    return ZoneInfo.from_file(io.BytesIO(content(name)), key=name)


def offset_by_zoneinfo(name: str, utc: datetime) -> timedelta:
    return utc.replace(tzinfo=UTC).astimezone(clock(name)).utcoffset() or timedelta()


def probes(name: str, years: range, base: timedelta) -> Iterator[datetime]:
    """Yield New Years, the middle of every month, and both sides of every shift of the offset."""
    for year in years:
        yield from (datetime(year, month, 15) for month in range(1, 13))
        yield from (datetime(year, 1, 1) - base + timedelta(minutes=minutes) for minutes in (-30, 0, 30))
    at, end = (datetime(year, 1, 1) - base for year in (years.start, years.stop))
    offset = offset_by_zoneinfo(name, at)
    while at < end:
        later = at + timedelta(days=5)
        if (changed := offset_by_zoneinfo(name, later)) != offset:
            shift = moment_of_shift(name, at, later, offset)
            yield shift - timedelta(seconds=1)
            yield from (shift + timedelta(minutes=minutes) for minutes in (-150, -90, -30, 0, 30, 90, 150))
        at, offset = later, changed


def moment_of_shift(name: str, low: datetime, high: datetime, before: timedelta) -> datetime:
    while high - low > timedelta(seconds=1):
        middle = low + (high - low) // timedelta(seconds=2) * timedelta(seconds=1)
        low, high = (middle, high) if offset_by_zoneinfo(name, middle) == before else (low, middle)
    return high


def differences(name: str, today: date, length: int = 10) -> list[str]:
    zone = time_zone_info(name, today)
    years, base = range(today.year, today.year + length), span(zone["BaseUtcOffset"])
    moments = [utc for utc in probes(name, years, base) if (utc + base).year in years]
    compared = [(utc, offset_by_rules(zone, utc), offset_by_zoneinfo(name, utc)) for utc in moments]
    return [f"{name} {utc}: {found}, not {right}" for utc, found, right in compared if found != right]


@pytest.mark.long
def test_the_rules_of_every_zone_agree_with_zoneinfo() -> None:
    """Zones of the same content, mostly older names, must have the same rules; one of them is evaluated."""
    rules: dict[bytes, object] = {}
    for number, name in enumerate(time_zone_names()):
        zone = time_zone_info(name, TODAY)
        found = (zone["BaseUtcOffset"], zone["AdjustmentRules"], zone["SupportsDaylightSavingTime"])
        if content(name) not in rules and (IS_FULL or number % PART == 0):
            assert differences(name, TODAY) == []
        assert rules.setdefault(content(name), found) == found, name


@pytest.mark.parametrize(
    ("name", "today"),
    [
        ("Africa/Casablanca", date(2026, 1, 10)),  # three changes ahead, then standard time for good
        ("America/Edmonton", date(2026, 7, 1)),  # the standard offset of the day ends this year
        ("America/Havana", date(2026, 2, 1)),  # no winter time in 2026
        ("Asia/Almaty", date(2024, 1, 20)),  # one fall of the standard offset ahead
        ("Asia/Almaty", date(2012, 6, 6)),  # one so far ahead that no rule reaches it
        ("Asia/Gaza", date(2040, 3, 3)),  # four changes a year, and two again
        ("Asia/Gaza", date(2080, 1, 1)),  # the table ends within the ten years
    ],
)
def test_rules_seen_from_another_day(name: str, today: date) -> None:
    assert differences(name, today) == []


def test_a_lasting_rule_outlasts_the_ten_years() -> None:
    for name in ("Europe/Berlin", "America/Havana", "Australia/Lord_Howe", "Europe/Dublin"):
        assert differences(name, TODAY, length=60) == []


@pytest.mark.long
def test_every_zone_has_the_right_shape() -> None:
    types = {**get_type_hints(TimeZoneInfo), "AdjustmentRules": list}
    for name in time_zone_names():
        zone = time_zone_info(name, TODAY)
        rules = zone["AdjustmentRules"]
        assert [(field, type(value)) for field, value in zone.items()] == list(types.items()), name
        assert zone["Id"], name
        assert zone["StandardName"], name
        assert SPAN.fullmatch(zone["BaseUtcOffset"]), name
        assert re.fullmatch(r"\(UTC(?:[+-]\d\d:\d\d)?\) \w.*", zone["DisplayName"]), name
        assert zone["SupportsDaylightSavingTime"] == bool(rules), name
        assert zone["SupportsDaylightSavingTime"] or zone["DaylightName"] == zone["StandardName"], name
        assert all(earlier["DateEnd"] < later["DateStart"] for earlier, later in pairwise(rules)), name
        for each in rules:
            check_rule(each)


def check_rule(rule: AdjustmentRule) -> None:
    """Check the types and the conditions of .NET's constructor."""
    assert list(rule) == list(get_type_hints(AdjustmentRule))
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT00:00:00", rule[key]) for key in ("DateStart", "DateEnd"))
    assert all(SPAN.fullmatch(rule[key]) for key in ("DaylightDelta", "BaseUtcOffsetDelta"))
    assert rule["DateStart"] <= rule["DateEnd"]
    assert timedelta() < span(rule["DaylightDelta"]) <= timedelta(hours=14)
    assert rule["DaylightTransitionStart"] != rule["DaylightTransitionEnd"]
    for transition in (rule["DaylightTransitionStart"], rule["DaylightTransitionEnd"]):
        types = get_type_hints(TransitionTime)
        assert [(field, type(value)) for field, value in transition.items()] == list(types.items())
        assert re.fullmatch(r"0001-01-01T[0-2]\d:[0-5]\d:[0-5]\d", transition["TimeOfDay"])
        assert transition["DayOfWeek"] in WEEKDAYS


def test_the_names_are_those_of_the_package() -> None:
    names = time_zone_names()
    assert len(names) > 590
    assert list(names) == sorted(set(names))
    assert {"Europe/Berlin", "Asia/Calcutta", "UTC", "EST5EDT"} <= set(names)
    assert not {"Factory", "localtime", "posixrules", ""} & set(names)


def floating(at: str, month: int, week: int, weekday: str = "Sunday") -> TransitionTime:
    return {
        "TimeOfDay": f"0001-01-01T{at}",
        "Month": month,
        "Week": week,
        "Day": 1,
        "DayOfWeek": weekday,
        "IsFixedDateRule": False,
    }


def fixed(at: str, month: int, number: int) -> TransitionTime:
    return {**floating(at, month, 1), "Day": number, "IsFixedDateRule": True}


def rule(
    start: TransitionTime, end: TransitionTime, days: Days = EVER, saving: str = HOUR, base: str = ZERO
) -> AdjustmentRule:
    return {
        "DateStart": f"{days[0]}T00:00:00",
        "DateEnd": f"{days[1]}T00:00:00",
        "DaylightDelta": saving,
        "BaseUtcOffsetDelta": base,
        "DaylightTransitionStart": start,
        "DaylightTransitionEnd": end,
    }


WHOLE_ZONES: dict[str, TimeZoneInfo] = {
    "Europe/Berlin": {
        "Id": "W. Europe Standard Time",
        "DisplayName": "(UTC+01:00) Central European Time (Berlin)",
        "StandardName": "Central European Standard Time",
        "DaylightName": "Central European Summer Time",
        "BaseUtcOffset": "01:00:00",
        "SupportsDaylightSavingTime": True,
        "AdjustmentRules": [rule(floating("02:00:00", 3, 5), floating("03:00:00", 10, 5))],
    },
    "America/New_York": {
        "Id": "Eastern Standard Time",
        "DisplayName": "(UTC-05:00) Eastern Time (New York)",
        "StandardName": "Eastern Standard Time",
        "DaylightName": "Eastern Daylight Time",
        "BaseUtcOffset": "-05:00:00",
        "SupportsDaylightSavingTime": True,
        "AdjustmentRules": [rule(floating("02:00:00", 3, 2), floating("02:00:00", 11, 1))],
    },
    "Asia/Kolkata": {
        "Id": "India Standard Time",
        "DisplayName": "(UTC+05:30) India Standard Time (Kolkata)",
        "StandardName": "India Standard Time",
        "DaylightName": "India Standard Time",
        "BaseUtcOffset": "05:30:00",
        "SupportsDaylightSavingTime": False,
        "AdjustmentRules": [],
    },
    "Australia/Lord_Howe": {
        "Id": "Lord Howe Standard Time",
        "DisplayName": "(UTC+10:30) Lord Howe Time (Lord Howe Island)",
        "StandardName": "Lord Howe Standard Time",
        "DaylightName": "Lord Howe Daylight Time",
        "BaseUtcOffset": "10:30:00",
        "SupportsDaylightSavingTime": True,
        "AdjustmentRules": [rule(floating("02:00:00", 10, 1), floating("02:00:00", 4, 1), saving="00:30:00")],
    },
    "America/Sao_Paulo": {
        "Id": "E. South America Standard Time",
        "DisplayName": "(UTC-03:00) Brasilia Standard Time (Sao Paulo)",
        "StandardName": "Brasilia Standard Time",
        "DaylightName": "Brasilia Standard Time",
        "BaseUtcOffset": "-03:00:00",
        "SupportsDaylightSavingTime": False,
        "AdjustmentRules": [],
    },
}


@pytest.mark.parametrize("name", WHOLE_ZONES)
def test_a_whole_zone(name: str) -> None:
    assert time_zone_info(name, TODAY) == WHOLE_ZONES[name]


@pytest.mark.parametrize("month", [1, 7])
def test_dublin_saves_in_summer_whatever_its_law_says(month: int) -> None:
    zone = time_zone_info("Europe/Dublin", date(2026, month, 1))
    assert (zone["StandardName"], zone["DaylightName"]) == ("Greenwich Mean Time", "Irish Standard Time")
    assert zone["BaseUtcOffset"] == "00:00:00"
    assert zone["AdjustmentRules"] == [rule(floating("01:00:00", 3, 5), floating("02:00:00", 10, 5))]


def test_troll_saves_two_hours() -> None:
    two_hours = rule(floating("01:00:00", 3, 5), floating("03:00:00", 10, 5), saving="02:00:00")
    assert time_zone_info("Antarctica/Troll", TODAY)["AdjustmentRules"] == [two_hours]


def test_casablanca_in_and_after_the_year_it_gives_up_saving() -> None:
    zone = time_zone_info("Africa/Casablanca", TODAY)
    assert zone["AdjustmentRules"] == [
        rule(fixed("02:00:00", 3, 22), fixed("03:00:00", 2, 15), ("2026-01-01", "2026-03-22")),
        rule(fixed("00:00:00", 1, 1), fixed("02:00:00", 9, 20), ("2026-03-23", "2026-12-31")),
    ]
    later = time_zone_info("Africa/Casablanca", date(2027, 1, 1))
    assert later["AdjustmentRules"] == []
    assert later["SupportsDaylightSavingTime"] is False


def test_havana_skips_a_winter_before_its_lasting_rule() -> None:
    assert time_zone_info("America/Havana", TODAY)["AdjustmentRules"] == [
        rule(fixed("00:00:00", 3, 8), fixed("00:00:00", 1, 1), ("2026-01-01", "2026-12-31")),
        rule(fixed("00:00:00", 1, 1), fixed("01:00:00", 11, 7), ("2027-01-01", "2027-12-31")),
        rule(floating("00:00:00", 3, 2), floating("01:00:00", 11, 1), ("2028-01-01", "9999-12-31")),
    ]


def test_edmonton_before_and_after_its_change_of_standard_time() -> None:
    start, end, days = fixed("02:00:00", 3, 8), fixed("00:00:00", 1, 1), ("2026-01-01", "2026-12-31")
    after = time_zone_info("America/Edmonton", TODAY)
    assert after["BaseUtcOffset"] == "-06:00:00"
    assert after["AdjustmentRules"] == [rule(start, end, days, base="-01:00:00")]
    before = time_zone_info("America/Edmonton", date(2026, 7, 1))
    open_days = ("2027-01-01", "9999-12-31")
    no_saving = rule(end, fixed("00:00:00.001", 1, 1), open_days, saving="00:00:00", base="01:00:00")
    assert before["BaseUtcOffset"] == "-07:00:00"
    assert before["AdjustmentRules"] == [rule(start, end, days), no_saving]


WITHOUT_WORDS = {
    "Asia/Jerusalem": (fixed("02:00:00", 3, 27), fixed("02:00:00", 10, 25)),
    "Asia/Gaza": (fixed("02:00:00", 3, 28), fixed("02:00:00", 10, 24)),
    "America/Nuuk": (fixed("23:00:00", 3, 28), fixed("00:00:00", 10, 25)),
    "Africa/Cairo": (fixed("00:00:00", 4, 24), fixed("00:00:00", 10, 30)),
    "America/Santiago": (fixed("00:00:00", 9, 6), fixed("00:00:00", 4, 5)),
}


@pytest.mark.parametrize("name", WITHOUT_WORDS)
def test_a_rule_that_net_cannot_express_is_given_for_ten_years(name: str) -> None:
    rules = time_zone_info(name, TODAY)["AdjustmentRules"]
    assert rules[0] == rule(*WITHOUT_WORDS[name], ("2026-01-01", "2026-12-31"))
    assert [each["DateStart"] for each in rules] == [f"{year}-01-01T00:00:00" for year in range(2026, 2036)]
    assert [each["DateEnd"] for each in rules] == [f"{year}-12-31T00:00:00" for year in range(2026, 2036)]


@pytest.mark.parametrize(
    ("day_of_rule", "hours", "expected"),
    [
        ("M4.4.4", 50, floating("02:00:00", 4, 5, "Saturday")),  # of 30 days: the last Saturday
        ("M10.5.4", -71, floating("01:00:00", 10, 4, "Monday")),  # of 31 days: the fourth Monday
        ("M4.1.0", -167, floating("01:00:00", 3, 5)),  # a week before the first of April
        ("M3.4.4", 50, None),
        ("M3.5.0", -1, None),
        ("M9.1.6", 24, None),
        ("J60", 2, fixed("02:00:00", 3, 1)),
        ("59", 2, None),  # February 29, or March 1
    ],
)
def test_a_change_as_a_net_transition(day_of_rule: str, hours: int, expected: TransitionTime | None) -> None:
    assert time_zones._every_year(time_zones._Change(day_of_rule, timedelta(hours=hours))) == expected


def test_a_footer_of_an_unknown_form_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown form"):
        time_zones._footer("CET-1CEST")


@pytest.mark.parametrize(
    ("name", "windows_id", "display_name"),
    [
        ("UTC", "UTC", "(UTC) Coordinated Universal Time"),
        ("GMT", "UTC", "(UTC+00:00) Greenwich Mean Time"),
        ("Etc/GMT+5", "SA Pacific Standard Time", "(UTC-05:00) GMT-05:00"),
        ("Asia/Calcutta", "India Standard Time", "(UTC+05:30) India Standard Time (Kolkata)"),
        ("Europe/Kyiv", "FLE Standard Time", "(UTC+02:00) Eastern European Time (Kyiv)"),
        ("US/East-Indiana", "US Eastern Standard Time", "(UTC-05:00) Eastern Time (Indianapolis)"),
        ("Europe/London", "GMT Standard Time", "(UTC+00:00) United Kingdom Time"),
        ("Atlantic/Reykjavik", "Greenwich Standard Time", "(UTC+00:00) Iceland Time"),
        ("Europe/Istanbul", "Turkey Standard Time", "(UTC+03:00) Türkiye Time"),
        ("Antarctica/Troll", "Antarctica/Troll", "(UTC+00:00) Troll Time"),
    ],
)
def test_ids_and_display_names(name: str, windows_id: str, display_name: str) -> None:
    zone = time_zone_info(name, TODAY)
    assert (zone["Id"], zone["DisplayName"]) == (windows_id, display_name)


@pytest.mark.parametrize("name", ["", "Berlin", "europe/berlin", "Factory", "../zones", "Local Time"])
def test_an_unknown_zone_is_refused_with_an_example(name: str) -> None:
    with pytest.raises(time_zones.UnknownTimeZone) as problem:
        time_zone_info(name)
    assert str(problem.value) == f"{name!r} is not a time zone; use an IANA name such as 'Europe/Berlin'"


def test_today_is_the_default() -> None:
    assert time_zone_info("Asia/Gaza") == time_zone_info("Asia/Gaza", datetime.now(UTC).date())


def test_results_are_copies() -> None:
    zone = time_zone_info("Europe/Berlin", TODAY)
    zone["AdjustmentRules"][0]["DaylightTransitionStart"]["Month"] = 12
    zone["AdjustmentRules"].clear()
    assert time_zone_info("Europe/Berlin", TODAY) == WHOLE_ZONES["Europe/Berlin"]
