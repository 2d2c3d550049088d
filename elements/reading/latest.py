"""Latest changes of all elements of a storage, from the change history."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson

from elements.models import ElementChange
from facets.configuration import Configuration
from repository_site.core.database.statements import fetch

Action = ElementChange.Action
# The name comes from the change itself, because a deleted element has no other place for it. Elements that live only in
# diagrams come and go with them by the dozen; the change of the diagram covers them.
SQL = """SELECT c.element_id, c.version_id, c.action, c.changed_on, c.caller_id, c.caller_label, c.after->>'state',
        coalesce(c.before->'attributes'->'name', c.after->'attributes'->'name')
    FROM elements_elementchange c LEFT JOIN elements_element e ON e.id = c.element_id
    WHERE (c.action <> ALL(%s) OR NOT coalesce(e.type_id = ANY(%s::uuid[]),
        c.before->>'type' = ANY(%s), c.after->>'type' = ANY(%s), jsonb_exists(c.after, 'copiedFrom')))
        AND coalesce(e.type_id <> ALL(%s::uuid[]), c.before->>'type' <> ALL(%s), TRUE)
    ORDER BY c.changed_on DESC, c.id DESC LIMIT %s"""
COMING_AND_GOING = [Action.CREATED.value, Action.DELETED.value]


@dataclass(frozen=True, slots=True)
class LatestChange:
    element: UUID
    version: UUID
    action: str
    changed_on: datetime
    caller: UUID | None
    label: str
    state: str | None
    """The new state, if the state changed."""
    earlier_names: dict[str, Any]
    """Names by culture, if the change replaced them."""


def read_latest_changes(configuration: Configuration, limit: int) -> list[LatestChange]:
    living = list(configuration.living_in_diagrams)
    keys = [configuration.types_by_id[each].key for each in living]
    found = []
    closed = sorted(configuration.closed)
    hidden = [each.key for each in configuration.named.values()]
    for row in fetch(SQL, [COMING_AND_GOING, living, keys, keys, closed, hidden, limit]):
        element, version, action, changed_on, caller, label, state, names = row
        earlier = orjson.loads(names) if names else {}
        found.append(LatestChange(element, version, action, changed_on, caller, label, state, earlier))
    return found
