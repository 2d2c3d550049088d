"""Change history: caller, time, request, and the values before and after a change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from elements.models import ElementChange
from elements.reading.assembly.attributes import read_exactly
from elements.reading.rows import VersionRow
from elements.writing.authors import Author
from elements.writing.events import ElementEvent, event_statements
from elements.writing.statements import execute_together
from repository_site.core.database.prepared import Statement
from repository_site.core.database.statements import as_arrays, id_array
from repository_site.core.rest.rendering import to_json
from storage.models import EventType

Action = ElementChange.Action
# Parts of an entry with names of their own.
PLACE = {"parent", "position"}
PARTS = {"attributes", "related", *PLACE}


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    element: str
    version: str
    action: Action
    before: dict[str, Any]
    after: dict[str, Any]
    is_whole: bool = True
    """Whether a deletion also deletes the element."""


def deletion_entry(
    type: str, row: VersionRow, related: Mapping[str, Sequence[str]], *, is_whole: bool = True
) -> HistoryEntry:
    """Return an entry with all values of a deleted version, because nothing else keeps them."""
    before = {
        "type": type,
        "state": row.state or None,
        "stereotype": row.stereotype or None,
        "attributes": read_exactly(row.attributes),
        "related": {name: list(targets) for name, targets in related.items()},
        "parent": row.parent,
    }
    return HistoryEntry(row.element, row.version, Action.DELETED, before, {}, is_whole)


def record(
    author: Author,
    entries: Sequence[HistoryEntry],
    changes: Sequence[Statement] = (),
    events: Sequence[ElementEvent] | None = None,
) -> None:
    """Write the entries in one statement, in one trip with `changes` that precede them, and with their events. A change
    gets a later time than those before it even if the clock was set back (D156). The object of later times is made
    once, as for events.

    `events` replaces the events that follow from the entries.
    """
    if entries:
        sql = """INSERT INTO elements_elementchange (id, element_id, version_id, action, before, after, changed_on,
                caller_id, caller_label, request_id)
            SELECT n.id, n.element, n.version, n.action, n.before, n.after,
                coalesce(((SELECT jsonb_object_agg(c.element_id, c.changed_on ORDER BY c.changed_on)
                    FROM elements_elementchange c
                    WHERE c.element_id = ANY(%s::uuid[]) AND c.changed_on > %s::timestamptz)
                    ->> n.element::text)::timestamptz + interval '1 microsecond', %s::timestamptz),
                %s::uuid, %s::text, %s::text
            FROM unnest(%s::uuid[], %s::uuid[], %s::uuid[], %s::text[], %s::jsonb[], %s::jsonb[])
                AS n (id, element, version, action, before, after)"""
        # Ascending ids keep the order of several changes to one element at the same time.
        ids = sorted(uuid4() for _ in entries)
        rows = [
            (own, each.element, each.version, each.action.value, _json(each.before), _json(each.after))
            for own, each in zip(ids, entries, strict=True)
        ]
        elements = id_array({each.element for each in entries})
        given = [elements, author.now, author.now, author.element, author.label, author.request_id, *as_arrays(rows)]
        happened = [event for each in entries for event in events_of(each)] if events is None else events
        execute_together([*changes, (sql, given), *event_statements(author, happened)])
        # Deleting is the way out of a full storage.
        if author.quota is not None and any(each.action is not Action.DELETED for each in entries):
            author.quota.check()


def events_of(entry: HistoryEntry) -> Iterator[ElementEvent]:
    """Yield the events of a change (D329)."""
    element, version, after = entry.element, entry.version, entry.after
    match entry.action:
        case Action.CREATED:
            yield ElementEvent(EventType.ELEMENT_CREATED, element, version, _given(after, "copiedFrom"))
        case Action.UPDATED:
            if moved := "parent" in after:
                places = {"from": entry.before["parent"], "to": after["parent"]}
                yield ElementEvent(EventType.ELEMENT_MOVED, element, version, places)
            if not moved or after.keys() - PLACE:
                yield ElementEvent(EventType.ELEMENT_CHANGED, element, version, _changed_names(after))
        case Action.DRAWN:
            yield ElementEvent(EventType.DIAGRAM_CHANGED, element, version, {})
        case Action.VERSIONED:
            yield ElementEvent(EventType.VERSION_CREATED, element, version, _given(after, "version", "copiedFrom"))
        case Action.DELETED:
            type = EventType.ELEMENT_DELETED if entry.is_whole else EventType.VERSION_DELETED
            yield ElementEvent(type, element, version, {})


def _changed_names(after: dict[str, Any]) -> dict[str, Any]:
    """Return the names of attributes and contexts that changed. Other parts, such as the stereotype, are attributes of
    the element for clients."""
    # The history has one entry for each culture, such as name[1033].
    attributes = {name.partition("[")[0] for name in after.get("attributes", {})}
    attributes |= {name for name in after if name not in PARTS}
    return {"attributes": sorted(attributes), "contexts": sorted(after.get("related", {}))}


def _given(after: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: after[name] for name in names if name in after}


def _json(value: dict[str, Any]) -> str:
    return to_json(value).decode()
