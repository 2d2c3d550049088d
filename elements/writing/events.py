"""Events of elements, versions and tasks, recorded with the change that causes them (D325)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from elements.writing.authors import Author
from repository_site.core.database.prepared import Statement
from repository_site.core.database.statements import as_arrays
from repository_site.core.rest.rendering import to_json
from storage.events.recording import TIME, announce_after_commit
from storage.models import EventType


@dataclass(frozen=True, slots=True)
class ElementEvent:
    type: EventType
    element: str
    version: str
    data: dict[str, Any]
    state: str | None = None
    """State of the version after the event, if further steps of the same transaction change it."""


# The rows tell the type, the facet and whether the version is published, so that no caller has to. Readers do not see
# tasks, not even those of published versions (D328). The rows are in the caches of the database, because the change
# has just read or written them. With OFFSET, the planner does not begin with all types of a storage.
_SQL = f"""INSERT INTO storage_event (id, type, time, subject_id, version_id, facet, element_type, state, caller_id,
        caller_label, request_id, is_public, data)
    SELECT n.id, n.type, {TIME}, n.subject, n.version, k.facet, k.key,
        coalesce(n.state, nullif(v.state, ''), k.static_state), %s::uuid, %s::text, %s::text,
        e.published_id IS NOT DISTINCT FROM n.version AND left(n.type, 5) <> 'task.', n.data
    FROM (SELECT %s::timestamptz AS now) t, unnest(
        %s::uuid[], %s::text[], %s::uuid[], %s::uuid[], %s::text[], %s::int[], %s::int[], %s::jsonb[])
        AS n (id, type, subject, version, state, place, rank, data)
    JOIN elements_element e ON e.id = n.subject JOIN elements_elementversion v ON v.id = n.version
    CROSS JOIN LATERAL (SELECT k.key, k.static_state, f.name AS facet FROM facets_elementtype k
        JOIN facets_facet f ON f.id = k.facet_id WHERE k.id = e.type_id OFFSET 0) k"""  # noqa: S608  a constant


def event_statements(author: Author, events: Sequence[ElementEvent]) -> list[Statement]:
    """Return the statement that records events, to be sent with the change. Call this in the scope, with the elements
    locked, and before a deletion deletes their rows."""
    if not events:
        return []
    ranks: Counter[str] = Counter()
    rows = []
    for each in events:
        place = next(author.places), ranks[each.element]
        whose = each.element, each.version, each.state
        rows.append((str(uuid4()), each.type.value, *whose, *place, to_json(each.data).decode()))
        ranks[each.element] += 1
    announce_after_commit()
    caller = author.element, author.label, author.request_id
    return [(_SQL, [[*ranks], author.now, *caller, author.now, *as_arrays(rows)])]
