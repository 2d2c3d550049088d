"""Calls and checks for tests of the scheduled jobs: set the validity of versions, run the jobs, read the outcome."""

from __future__ import annotations

from dataclasses import asdict, replace
from datetime import datetime, timedelta

from elements.models import ElementVersion
from facets.changing.changes import change_configuration
from facets.rows.reading import read_blueprint
from release.models import Task
from release.schedule.lifecycle_jobs import LifecycleJobResult, run_lifecycle
from storage.models import Storage
from storage.tenancy.scope import tenant_scope
from tests.release.house import ID
from tests.release.stored_contents import fresh

NOW = datetime.fromisoformat("2026-07-01T10:00:00+00:00")
TICK = timedelta(microseconds=1)
DAY = timedelta(days=1)


def valid(storage: Storage, *versions: str, **moments: datetime | None) -> None:
    """Set the validity of versions without any other change."""
    with tenant_scope(storage):
        ElementVersion.objects.filter(id__in=[ID[name] for name in versions]).update(**moments)


def states(storage: Storage, *versions: str) -> list[str]:
    with tenant_scope(storage):
        found = {str(each.id): each.state for each in ElementVersion.objects.all()}
    return [found[ID[name]] for name in versions]


def line(version: str, number: str = "1.0") -> str:
    return f"{ID[version]}, version {number} of {ID[version.rpartition('-')[0]]}"


def told(outcome: LifecycleJobResult) -> dict[str, list[str]]:
    """Sort the lines of a result; most tests do not check their order."""
    return {part: sorted(lines) for part, lines in asdict(outcome).items() if lines}


def run(storage: Storage, *, dry_run: bool = False) -> dict[str, list[str]]:
    return told(run_lifecycle(fresh(storage), dry_run=dry_run))


def mark(storage: Storage, task: str) -> tuple[datetime | None, list[str]]:
    with tenant_scope(storage):
        found = Task.objects.get(id=task)
    return found.stuck_on, found.stuck_reasons


def let_versions_take_effect(storage: Storage) -> None:
    with tenant_scope(storage):
        blueprint = read_blueprint()
    cycles = tuple(replace(each, takes_effect="inEffect") for each in blueprint.cycles)
    change_configuration(storage, replace(blueprint, cycles=cycles))
