"""The lifecycle log of an element (D21): each step with its caller, time, comment and ignored warnings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import orjson

from elements.reading.assembly.assembler import Reader
from elements.reading.rows import VersionRow, read_identities
from elements.writing.authors import Author
from elements.writing.events import ElementEvent, event_statements
from elements.writing.history import Action, HistoryEntry, record
from elements.writing.statements import execute_together
from facets.blueprint.cycles import OPEN, Category
from release.models import LifecycleEntry
from release.steps.step_events import state_events, task_events
from repository_site.core.database.statements import as_arrays, fetch
from repository_site.core.rest.datetimes import wire_datetime

Step = LifecycleEntry.Step

# Characters in the comment of a step.
MAX_COMMENT = 10_000


@dataclass(frozen=True, slots=True)
class StepTaken:
    step: Step
    before: VersionRow
    after: VersionRow
    transition: str = ""
    comment: str = ""
    ignored: Sequence[str] = ()
    task: UUID | None = None
    assignee: UUID | None = None
    assigned: UUID | None = None
    """The first assignee of a new task, which the log does not show."""

    def task_events(self) -> Iterator[ElementEvent]:
        return task_events(self.step, self.after, self.task, self.assignee or self.assigned)

    @property
    def is_release(self) -> bool:
        return self.before.category in OPEN and self.after.category == Category.PUBLISHED


def number_of(row: VersionRow) -> str:
    return f"{row.major}.{row.minor}"


def log_steps(author: Author, steps: Sequence[StepTaken]) -> None:
    """Log the steps in their order with one statement.

    The elements are locked, so the numbers have no gaps. No step is earlier than the step before it, even if the
    clock was set back (D156).
    """
    if not steps:
        return
    sql = """INSERT INTO release_lifecycleentry (id, element_id, number, version_id, version, step, from_state,
            to_state, transition, comment, ignored_warnings, task_id, assignee_id, changed_on, caller_id, caller_label,
            request_id)
        SELECT n.id, n.element, n.place + coalesce((SELECT max(l.number) FROM release_lifecycleentry l
                WHERE l.element_id = n.element), 0),
            n.version_id, n.version, n.step, n.from_state, n.to_state, n.transition, n.comment, n.ignored, n.task,
            n.assignee, greatest(t.now, (SELECT max(l.changed_on) FROM release_lifecycleentry l
                WHERE l.element_id = n.element)), %s::uuid, %s::text, %s::text
            FROM (SELECT %s::timestamptz AS now) t, unnest(
                %s::uuid[], %s::uuid[], %s::int[], %s::uuid[], %s::text[], %s::text[], %s::text[], %s::text[],
                %s::text[], %s::text[], %s::jsonb[], %s::uuid[], %s::uuid[])
            AS n (id, element, place, version_id, version, step, from_state, to_state, transition, comment, ignored,
                task, assignee)"""
    places: dict[str, int] = {}
    rows = []
    for each in steps:
        places[each.after.element] = places.get(each.after.element, 0) + 1
        rows.append(
            (
                uuid4(), each.after.element, places[each.after.element], each.after.version, number_of(each.after),
                each.step.value, "" if each.step is Step.VERSION else each.before.state, each.after.state,
                each.transition, each.comment, orjson.dumps(list(each.ignored)).decode(), each.task,
                each.assignee,
            )
        )  # fmt: skip
    given = [author.element, author.label, author.request_id, author.now, *as_arrays(rows)]
    events = [event for each in steps for event in each.task_events()]
    execute_together([(sql, given), *event_statements(author, events)])


def record_steps(author: Author, zone: Any, steps: Sequence[StepTaken]) -> None:
    """Add the steps to the change history, which covers all changes of an element."""
    entries, events = [], []
    for each in steps:
        before, after = _facts(each.before, zone), _facts(each.after, zone)
        changed = [name for name in after if before[name] != after[name]]
        if changed:
            events += state_events(each.before, each.after, each.transition, changed)
            entries.append(
                HistoryEntry(
                    each.after.element,
                    each.after.version,
                    Action.TRANSITIONED,
                    {name: before[name] for name in changed},
                    {name: after[name] for name in changed},
                )
            )
    record(author, entries, (), events)


def _facts(row: VersionRow, zone: Any) -> dict[str, Any]:
    moments = {"relOn": row.released_on, "validFrom": row.valid_from, "validUntil": row.valid_until}
    return {
        "state": row.state,
        "version": number_of(row),
        **{name: wire_datetime(moment, zone) if moment else None for name, moment in moments.items()},
    }


SQL = """SELECT l.number, l.version_id::text, l.version, l.step, l.from_state, l.to_state, l.transition, l.changed_on,
        l.caller_id::text, l.caller_label, l.request_id, l.comment, l.ignored_warnings, l.task_id::text,
        l.assignee_id::text
    FROM release_lifecycleentry l WHERE l.element_id = %s::uuid ORDER BY l.number LIMIT %s OFFSET %s"""
NEWEST_FIRST = SQL.replace("ORDER BY l.number", "ORDER BY l.number DESC")


def count_steps(element: str) -> int:
    return int(fetch("SELECT count(*) FROM release_lifecycleentry WHERE element_id = %s::uuid", [element])[0][0])


def read_steps(reader: Reader, element: str, limit: int, offset: int, *, newest_first: bool) -> list[dict[str, Any]]:
    """Return the steps in the order of time, without empty fields (D8)."""
    rows = fetch(NEWEST_FIRST if newest_first else SQL, [element, limit, offset])
    people = read_identities(reader.audience, {one for row in rows for one in (row[8], row[-1]) if one})
    found = []
    for number, version, label, step, source, target, transition, at, caller, name, request, *rest in rows:
        comment, ignored, task, assignee = rest
        entry: dict[str, Any] = {"number": number, "step": step, "versionId": version, "version": label}
        if source:
            entry["fromState"] = source
        entry["toState"] = target
        if transition:
            entry["transitionId"] = transition
        entry |= {"changedOn": wire_datetime(at, reader.zone), "caller": name, "requestId": request}
        if caller in people:
            entry["changedBy"] = reader.reference(people[caller])
        if comment:
            entry["comment"] = comment
        if warnings := orjson.loads(ignored):
            entry["ignoredWarnings"] = warnings
        if task:
            entry["taskId"] = task
        if assignee in people:
            entry["assignee"] = reader.reference(people[assignee])
        found.append(entry)
    return found
