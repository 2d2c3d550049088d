"""Request counts for the site's back office, by storage, by hour and by day."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import QuerySet, Sum
from django.db.models.functions import TruncDay, TruncHour
from django.utils import timezone

from storage.models import RequestCount, Storage

HOURS, DAYS = 24, 14


@dataclass(frozen=True, slots=True)
class Traffic:
    requests: int = 0
    client_errors: int = 0
    server_errors: int = 0
    milliseconds: int = 0

    @property
    def good(self) -> int:
        return self.requests - self.client_errors - self.server_errors

    @property
    def average(self) -> int | None:
        """Average milliseconds of a request."""
        return round(self.milliseconds / self.requests) if self.requests else None


SUMS = {name: Sum(name) for name in ("requests", "client_errors", "server_errors", "milliseconds")}
NONE = Traffic()


def last_hours(now: datetime) -> datetime:
    """Return the start of the last 24 hours, the current hour included."""
    return now.replace(minute=0, second=0, microsecond=0) - timedelta(hours=HOURS - 1)


def traffic_by_storage(now: datetime) -> dict[UUID, Traffic]:
    """Return the counts of the last 24 hours, without storages that had no request."""
    rows = RequestCount.objects.filter(hour__gte=last_hours(now)).values_list("storage").annotate(**SUMS)
    return {storage: Traffic(*sums) for storage, *sums in rows}


def recent_traffic(now: datetime) -> dict[UUID, tuple[Traffic, Traffic]]:
    """Return the counts of the current and of the last hour, without storages that had no request."""
    this = now.replace(minute=0, second=0, microsecond=0)
    found: dict[UUID, tuple[Traffic, Traffic]] = {}
    rows = RequestCount.objects.filter(hour__gte=this - timedelta(hours=1)).values_list("storage", "hour", *SUMS)
    for storage, hour, *counts in rows:
        current, last = found.get(storage, (NONE, NONE))
        found[storage] = (Traffic(*counts), last) if hour >= this else (current, Traffic(*counts))
    return found


def traffic_by_hour(now: datetime, storage: Storage | None = None) -> list[tuple[datetime, Traffic]]:
    """Return the counts of each of the last 24 hours, oldest first."""
    first = last_hours(now)
    rows = _counts(storage).filter(hour__gte=first).values_list(TruncHour("hour")).annotate(**SUMS)
    found = {hour: Traffic(*sums) for hour, *sums in rows}
    hours = [first + timedelta(hours=number) for number in range(HOURS)]
    return [(hour, found.get(hour, NONE)) for hour in hours]


def traffic_by_day(now: datetime, storage: Storage | None = None) -> list[tuple[datetime, Traffic]]:
    """Return the counts of each of the last 14 days in the current time zone, oldest first."""
    today = timezone.localtime(now).date()
    days = [today - timedelta(days=number) for number in reversed(range(DAYS))]
    first = timezone.make_aware(datetime.combine(days[0], datetime.min.time()))
    rows = _counts(storage).filter(hour__gte=first).values_list(TruncDay("hour")).annotate(**SUMS)
    found = {timezone.localtime(day).date(): Traffic(*sums) for day, *sums in rows}
    return [(timezone.make_aware(datetime.combine(day, datetime.min.time())), found.get(day, NONE)) for day in days]


def _counts(storage: Storage | None) -> QuerySet[RequestCount]:
    return RequestCount.objects.all() if storage is None else RequestCount.objects.filter(storage=storage)
