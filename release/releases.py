"""Releases in the lifecycle log: filters, and counts for each of the last weeks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from django.db.models import Count, QuerySet
from django.db.models.functions import TruncWeek

from facets.blueprint.cycles import OPEN, Category
from facets.configuration import Configuration
from release.models import LifecycleEntry
from release.steps.days import start_of_day

Entries = QuerySet[LifecycleEntry]
WEEKS = 12


@dataclass(frozen=True, slots=True)
class Week:
    """A week from Monday, in the time zone of the storage."""

    monday: date
    releases: int


def releases(entries: Entries, configuration: Configuration) -> Entries:
    """Filter steps that published a draft or a version in review (D21)."""
    categories = {
        state: category for cycle in configuration.cycles.values() for state, category in cycle.categories.items()
    }
    return entries.filter(
        step=LifecycleEntry.Step.TRANSITION,
        from_state__in=[state for state, category in categories.items() if category in OPEN],
        to_state__in=[state for state, category in categories.items() if category is Category.PUBLISHED],
    )


def within_week(entries: Entries, monday: date, zone: ZoneInfo) -> Entries:
    return entries.filter(changed_on__gte=_begin(monday, zone), changed_on__lt=_begin(monday + timedelta(7), zone))


def recent(entries: Entries, now: datetime, zone: ZoneInfo) -> Entries:
    return entries.filter(changed_on__gte=_begin(last_mondays(now, zone)[0], zone))


def last_mondays(now: datetime, zone: ZoneInfo) -> list[date]:
    today = now.astimezone(zone).date()
    monday = today - timedelta(days=today.weekday())
    return [monday - timedelta(weeks=back) for back in reversed(range(WEEKS))]


def count_releases(configuration: Configuration, now: datetime, zone: ZoneInfo) -> list[Week]:
    """Count the releases of each week with one statement, weeks without releases included."""
    weeks = TruncWeek("changed_on", tzinfo=zone)
    rows = (
        releases(recent(LifecycleEntry.objects.all(), now, zone), configuration)
        .order_by()
        .values(week=weeks)
        .annotate(number=Count("id"))
    )
    found = {row["week"].date(): row["number"] for row in rows}
    return [Week(monday, found.get(monday, 0)) for monday in last_mondays(now, zone)]


def total(weeks: Sequence[Week]) -> int:
    return sum(each.releases for each in weeks)


def _begin(day: date, zone: ZoneInfo) -> datetime:
    return start_of_day(datetime(day.year, day.month, day.day, 12, tzinfo=zone), zone)
