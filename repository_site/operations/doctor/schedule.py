"""Health checks of scheduled jobs: time zones, lifecycle runs, tasks."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.conf import settings
from django.db import DatabaseError, transaction
from django.db.models import F, Q, Sum
from django.utils import timezone

from repository_site.core.database.statements import fetch
from repository_site.operations.doctor.findings import HealthFinding, Look, error, ok, warning
from storage.models import LifecycleRun, Storage

LATE, MUCH_TOO_LATE = timedelta(hours=1), timedelta(days=1)
SCHEDULE = "Schedule `manage.py run_lifecycle` every few minutes; docs/how-to/deploy.md contains a timer."


def time_zones(look: Look) -> Iterator[HealthFinding]:
    zones = sorted({settings.DEFAULT_TIME_ZONE, *Storage.objects.values_list("time_zone", flat=True).distinct()})
    problems = []
    for name in zones:
        try:
            zone = ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError):
            problems.append(
                error(
                    f"Python does not know {name}",
                    "Install the tzdata of requirements.txt, or give its storages another time zone.",
                )
            )
            continue
        if (moment := _first_difference(name, zone)) is not None:
            problems.append(
                warning(
                    f"Python and PostgreSQL disagree about {name}, first on {moment:%Y-%m-%d}",
                    f"Update the older of the two: tzdata of Python is {version('tzdata')}; PostgreSQL follows its"
                    " minor releases, or the tzdata of its machine. Responses follow Python.",
                )
            )
    yield from problems or [ok(f"{len(zones)} in use, all known (tzdata {version('tzdata')})")]


def _first_difference(name: str, zone: ZoneInfo) -> datetime | None:
    """Compare month by month, for two years from now."""
    start = datetime.now(UTC).replace(microsecond=0)
    moments = [start + timedelta(days=30 * month) for month in range(25)]
    try:
        with transaction.atomic():
            rows = fetch("SELECT (given AT TIME ZONE %s) FROM unnest(%s::timestamptz[]) AS given", [name, moments])
    except DatabaseError:
        # PostgreSQL does not know the zone, and does not need to: all values are in UTC.
        return None
    for moment, (local,) in zip(moments, rows, strict=True):
        if moment.astimezone(zone).replace(tzinfo=None) != local:
            return moment
    return None


def lifecycle(look: Look) -> Iterator[HealthFinding]:
    now = timezone.now()
    storages = Storage.objects.filter(created_on__lt=now - LATE)
    for age, judge in ((MUCH_TOO_LATE, error), (LATE, warning)):
        late = storages.filter(
            Q(lifecycle_run=None, created_on__lt=now - age)
            | Q(lifecycle_run__ended_on=None, created_on__lt=now - age)
            | Q(lifecycle_run__ended_on__lt=now - age)
        )
        if count := late.count():
            hours = round(age.total_seconds() / 3600)
            which = _names([str(each) for each in late.select_related("collection")[:5]], count, look)
            yield judge(
                f"no run for more than {hours} h in {count} of {Storage.objects.count()} storages{which}", SCHEDULE
            )
            break
    failing = LifecycleRun.objects.filter(failed_on__gt=F("ended_on")) | LifecycleRun.objects.filter(
        failed_on__isnull=False, ended_on=None
    )
    if failed := failing.count():
        which = _names([str(each.storage) for each in failing.select_related("storage__collection")[:5]], failed, look)
        yield error(
            f"the last run failed in {failed} of {Storage.objects.count()} storages{which}",
            "Run `manage.py run_lifecycle` by hand: it names the storages and the reasons.",
        )
    elif not late.exists():
        last = LifecycleRun.objects.order_by("-ended_on").first()
        ended = last.ended_on if last else None
        when = f"the last run ended at {ended:%Y-%m-%d %H:%M} UTC" if ended else "no run was due yet"
        yield ok(f"regular; {when}")


def _names(names: list[str], count: int, look: Look) -> str:
    if not look.names:
        return ""
    return f": {', '.join(names)}{', ...' if count > len(names) else ''}"


def tasks(look: Look) -> Iterator[HealthFinding]:
    found = LifecycleRun.objects.aggregate(open=Sum("open_tasks"), late=Sum("overdue_tasks"), stuck=Sum("stuck_tasks"))
    text = f"{found['open'] or 0} open, {found['late'] or 0} overdue, {found['stuck'] or 0} stuck at the last runs"
    if found["stuck"]:
        worst = LifecycleRun.objects.filter(stuck_tasks__gt=0)
        rows = worst.order_by("-stuck_tasks").select_related("storage__collection")[:5]
        which = _names([f"{each.storage} ({each.stuck_tasks})" for each in rows], worst.count(), look)
        yield warning(text + which, "Administrators of their storages can reassign them: back office, Tasks, Stuck.")
    else:
        yield ok(text)
