"""Health checks of scheduled jobs: time zones, queue, webhooks, lifecycle runs, tasks; and of tokens that end soon."""

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
from storage.access.token_reminders import ending_soon
from storage.jobs.queue_state import QueueState, queue_state
from storage.models import ApiToken, LifecycleRun, Storage, WebhookCount

LATE, MUCH_TOO_LATE = timedelta(hours=1), timedelta(days=1)
WORKER = "Start `manage.py serve` without `--jobs 0`, or `manage.py work`; docs/how-to/jobs.md explains workers."
SCHEDULE = f"{WORKER} Or schedule `manage.py run_lifecycle` every few minutes."
WEBHOOKS = (
    "Administrators of these storages see the reasons in the back office under Webhooks, where they can enable webhooks"
    " and send messages again; see docs/how-to/webhooks.md."
)
# Seconds that a job may wait: more than the worker needs to find the jobs of one that was killed.
LONG_WAIT = 300
# Seconds that a job may run. Most take seconds, and a lock makes others wait for it.
LONG_RUN = 3600


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


def jobs(look: Look) -> Iterator[HealthFinding]:
    yield from judge_jobs(queue_state())


def judge_jobs(state: QueueState) -> Iterator[HealthFinding]:
    text = f"{state.waiting} wait, {state.delayed} are not due yet, {state.running} run"
    alive = f"{state.workers} workers run" if state.workers > 1 else f"{state.workers or 'no'} worker runs"
    if state.failed:
        advice = "Jobs in the back office of the installation shows the errors, and can retry them."
        yield warning(f"{state.failed} failed", advice)
    if state.longest > LONG_RUN:
        advice = "Look at Jobs in the back office of the installation. If the job hangs, restart its worker."
        yield warning(f"a job has been running for {state.longest / 60:.0f} minutes", advice)
    if state.oldest > LONG_WAIT and state.workers:
        advice = "Jobs arrive faster than they are done, or block each other: raise `--jobs`, or add a worker."
        yield warning(f"the oldest job has waited for {state.oldest / 60:.0f} minutes; {alive}", advice)
    elif state.oldest > LONG_WAIT:
        yield error(f"{alive}, and the oldest job has waited for {state.oldest / 60:.0f} minutes", WORKER)
    elif not state.failed and state.longest <= LONG_RUN:
        yield ok(f"{alive}; {text}")


def webhooks(look: Look) -> Iterator[HealthFinding]:
    found = WebhookCount.objects.aggregate(
        all=Sum("webhooks"), off=Sum("disabled_webhooks"), waiting=Sum("waiting_messages"), dead=Sum("dead_letters")
    )
    text = f"{found['all'] or 0} webhooks, {found['off'] or 0} disabled; {found['waiting'] or 0} messages wait"
    problems = [
        ("off", Q(disabled_webhooks__gt=0), f"{found['off']} webhooks are disabled"),
        ("dead", Q(dead_letters__gt=0), f"{found['dead']} messages were given up"),
        ("waiting", Q(waiting_since__lt=timezone.now() - LATE), "messages wait for more than an hour"),
    ]
    judged = [(WebhookCount.objects.filter(where), what) for name, where, what in problems if found[name]]
    judged = [(rows, what) for rows, what in judged if rows.exists()]
    for rows, what in judged:
        storages = [str(each.storage) for each in rows.select_related("storage__collection")[:5]]
        yield warning(f"{what}{_names(storages, rows.count(), look)}", WEBHOOKS)
    if not judged:
        yield ok(text)


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


def tokens(look: Look) -> Iterator[HealthFinding]:
    """Report administrative tokens that end soon; administrators of a storage get messages about its tokens (D486)."""
    found = ApiToken.objects.filter(ending_soon(timezone.now()), storage=None).order_by("valid_until")
    ending = [f"{each.name} ({each.valid_until:%Y-%m-%d})" for each in found[:10]]
    if ending:
        advice = "Rotate them with a new end: manage.py rotate_token COLLECTION _admin NAME --valid-until 90d"
        yield warning(f"administrative tokens end soon: {', '.join(ending)}", advice)
    else:
        yield ok("no administrative token ends soon")
