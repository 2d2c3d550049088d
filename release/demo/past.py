"""The lifecycle log of imported versions (D431): the steps that lead to their states, in one statement.

A transfer file tells who created, changed and released a version, and when, but not the steps between. They follow from
the release cycle: a version was submitted to the first state whose approvers it names, and every approver accepted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby, zip_longest
from uuid import UUID

from elements.reading.rows import VersionRow, read_references, read_versions
from facets.blueprint.cycles import Category, Transition
from facets.configuration import CompiledCycle, Configuration
from release.models import LifecycleEntry
from release.schedule.lifecycle_jobs import CALLER
from release.steps.log import Step, number_of
from repository_site.core.database.statements import fetch

# Imported versions whose end was requested do not tell when.
UNTIL_REQUEST = timedelta(days=180)
# Order of steps at the moment of a release.
AFTER_RELEASE = {Step.SUCCESSION: 1, Step.EFFECT: 2}
SQL = """SELECT v.id::text FROM elements_elementversion v JOIN elements_element e ON e.id = v.element_id
    WHERE e.type_id = ANY(%s::uuid[]) AND v.state <> '' AND NOT EXISTS (
        SELECT FROM release_lifecycleentry l WHERE l.element_id = v.element_id)
    ORDER BY v.element_id, v.major, v.minor"""


def log_past(configuration: Configuration, names: Mapping[UUID, str], now: datetime) -> None:
    """Log the steps of versions without a log. `names` are those of the users."""
    types = [configuration.type_ids[key] for key in configuration.cycles]
    found = read_versions([row[0] for row in fetch(SQL, [types])], with_attributes=False)
    contexts = {
        each for cycle in configuration.cycles.values() for state in cycle.waiting.values() for each in state.assignees
    }
    related = read_references(list(found), contexts)
    rows = sorted(found.values(), key=lambda row: (row.element, row.major or 0, row.minor or 0))
    entries: list[LifecycleEntry] = []
    for _, versions in groupby(rows, key=lambda row: row.element):
        entries += _History(configuration, related, names, now).of(list(versions))
    LifecycleEntry.objects.bulk_create(entries)


@dataclass(frozen=True, slots=True)
class _History:
    configuration: Configuration
    related: Mapping[str, Mapping[str, Sequence[str]]]
    names: Mapping[UUID, str]
    now: datetime

    def of(self, versions: Sequence[VersionRow]) -> list[LifecycleEntry]:
        """Return the steps of the versions of one element, numbered in the order of time."""
        found: list[LifecycleEntry] = []
        for version, successor in zip_longest(versions, versions[1:]):
            if version is not versions[0]:
                found += self._creation(version)
            found += self._release(version)
            found += self._end(version, successor)
        found.sort(key=lambda each: (each.changed_on, AFTER_RELEASE.get(Step(each.step), 0)))
        for number, each in enumerate(found, start=1):
            each.number = number
        return found

    def _cycle(self, row: VersionRow) -> CompiledCycle:
        return self.configuration.cycles[self.configuration.types_by_id[row.type].key]

    def _creation(self, row: VersionRow) -> Iterator[LifecycleEntry]:
        draft = row if row.released_on is None else row._replace(major=(row.major or 1) - 1, minor=1)
        yield self._entry(draft, Step.VERSION, "", self._cycle(row).first_state, row.created_on, row.created_by)

    def _release(self, row: VersionRow) -> Iterator[LifecycleEntry]:
        if row.released_on is None:
            return
        cycle, related = self._cycle(row), self.related.get(row.version, {})
        way = list(release_way(cycle, related))
        begin, draft = min(row.changed_on, row.released_on), row._replace(major=(row.major or 1) - 1, minor=1)
        for place, transition in enumerate(way):
            is_last = place == len(way) - 1
            days = (row.released_on - begin).days * place // len(way)
            at = row.released_on if is_last else begin + timedelta(days=days)
            waiting = cycle.waiting.get(transition.source)
            named = [one for context in (waiting.assignees if waiting else ()) for one in related.get(context, ())]
            caller = row.released_by if is_last else (named[0] if named else row.changed_by)
            after = row if is_last else draft
            yield self._entry(after, Step.TRANSITION, transition.source, transition.target, at, caller, transition.key)

    def _end(self, row: VersionRow, successor: VersionRow | None) -> Iterator[LifecycleEntry]:
        """Yield the steps after the release: in effect, expiry requested, expired."""
        if row.released_on is None:
            return
        cycle = self._cycle(row)
        state, published = row.state, cycle.published_state
        if row.category == Category.RETIRED and successor is not None and successor.released_on is not None:
            at, caller = successor.released_on, successor.released_by
            yield self._entry(row, Step.SUCCESSION, published, state, at, caller)
        elif row.category == Category.RETIRED:
            yield self._entry(row, Step.EXPIRY, published, state, row.valid_until or row.released_on)
        elif state != published:
            ways = (each for each in cycle.cycle.transitions if (each.source, each.target) == (published, state))
            if way := next(ways, None):
                at = row.released_on + UNTIL_REQUEST
                yield self._entry(row, Step.TRANSITION, published, state, at, row.released_by, way.key)
            else:
                at = max(row.released_on, row.valid_from or row.released_on)
                yield self._entry(row, Step.EFFECT, published, state, at)

    def _entry(
        self,
        row: VersionRow,
        step: Step,
        source: str,
        target: str,
        at: datetime,
        caller: str | None = None,
        transition: str = "",
    ) -> LifecycleEntry:
        person = UUID(caller) if caller else None
        return LifecycleEntry(
            element_id=UUID(row.element), version_id=UUID(row.version), version=number_of(row), step=step.value,
            from_state=source, to_state=target, transition=transition, changed_on=min(at, self.now), caller_id=person,
            caller_label=self.names.get(person, CALLER) if person else CALLER, request_id="",
        )  # fmt: skip


def release_way(cycle: CompiledCycle, related: Mapping[str, Sequence[str]]) -> Iterator[Transition]:
    """Yield the transitions from a draft to its release, by the first state whose approvers the version names."""
    entries = [each for each in cycle.cycle.transitions if each.source == cycle.first_state]
    entries = [each for each in entries if each.target in cycle.waiting]
    named = [each for each in entries if any(related.get(one) for one in cycle.waiting[each.target].assignees)]
    transition = (named or entries)[0]
    yield transition
    while transition.target in cycle.waiting:
        transition = cycle.transition(cycle.waiting[transition.target].accept)
        yield transition
