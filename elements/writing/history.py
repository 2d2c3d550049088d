"""Change history: caller, time, request, and the values before and after a change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any
from uuid import UUID, uuid4

from django.utils import timezone

from elements.models import ElementChange
from elements.reading.assembly.attributes import read_exactly
from elements.reading.rows import VersionRow
from elements.writing.statements import execute
from repository_site.core.database.statements import as_arrays
from repository_site.core.rest.rendering import to_json
from storage.quotas import Quota

Action = ElementChange.Action


@dataclass(frozen=True)
class Author:
    element: UUID | None
    label: str
    request_id: str
    quota: Quota | None = None
    """Quota of the storage. It is checked here, because every change of a request ends with an entry in the history."""

    @cached_property
    def now(self) -> datetime:
        """Time of the change. It is read once, when the first row is written and all locks are held: the later of two
        changes to an element has the later time."""
        return timezone.now()


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    element: str
    version: str
    action: Action
    before: dict[str, Any]
    after: dict[str, Any]


def deletion_entry(type: str, row: VersionRow, related: Mapping[str, Sequence[str]]) -> HistoryEntry:
    """Return an entry with all values of a deleted version, because nothing else keeps them."""
    before = {
        "type": type,
        "state": row.state or None,
        "stereotype": row.stereotype or None,
        "attributes": read_exactly(row.attributes),
        "related": {name: list(targets) for name, targets in related.items()},
        "parent": row.parent,
    }
    return HistoryEntry(row.element, row.version, Action.DELETED, before, {})


def record(author: Author, entries: Sequence[HistoryEntry]) -> None:
    """Write the entries in one statement. A change gets a later time than those before it even if the clock was set
    back (D156)."""
    if entries:
        sql = """INSERT INTO elements_elementchange (id, element_id, version_id, action, before, after, changed_on,
                caller_id, caller_label, request_id)
            SELECT n.id, n.element, n.version, n.action, n.before, n.after,
                coalesce((SELECT max(c.changed_on) + interval '1 microsecond' FROM elements_elementchange c
                    WHERE c.element_id = n.element AND c.changed_on > t.now), t.now), %s::uuid, %s::text, %s::text
            FROM (SELECT %s::timestamptz AS now) t, unnest(
                %s::uuid[], %s::uuid[], %s::uuid[], %s::text[], %s::jsonb[], %s::jsonb[])
                AS n (id, element, version, action, before, after)"""
        # Ascending ids keep the order of several changes to one element at the same time.
        ids = sorted(uuid4() for _ in entries)
        rows = [
            (own, each.element, each.version, each.action.value, _json(each.before), _json(each.after))
            for own, each in zip(ids, entries, strict=True)
        ]
        execute(sql, [author.element, author.label, author.request_id, author.now, *as_arrays(rows)])
        # Deleting is the way out of a full storage.
        if author.quota is not None and any(each.action is not Action.DELETED for each in entries):
            author.quota.check()


def _json(value: dict[str, Any]) -> str:
    return to_json(value).decode()
