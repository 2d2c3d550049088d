"""The record of changes: who, when, in which request, and what was before and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from elements.models import ElementChange
from elements.writing.statements import execute
from repository_site.rest.rendering import to_json

Action = ElementChange.Action


@dataclass(frozen=True, slots=True)
class Author:
    """Who changes something, when, and in which request; the clock is read once for all of it."""

    element: UUID | None
    label: str
    now: datetime
    request_id: str


@dataclass(frozen=True, slots=True)
class Entry:
    element: str
    version: str
    action: Action
    before: dict[str, Any]
    after: dict[str, Any]


def record(author: Author, entries: Sequence[Entry]) -> None:
    """One statement for all."""
    if entries:
        sql = """INSERT INTO elements_elementchange (id, element_id, version_id, action, before, after, changed_on,
                caller_id, caller_label, request_id)
            SELECT n.id, n.element, n.version, n.action, n.before, n.after, %s, %s, %s, %s FROM unnest(
                %s::uuid[], %s::uuid[], %s::uuid[], %s::text[], %s::jsonb[], %s::jsonb[])
                AS n (id, element, version, action, before, after)"""
        rows = [
            (uuid4(), each.element, each.version, each.action.value, _json(each.before), _json(each.after))
            for each in entries
        ]
        columns = [list(column) for column in zip(*rows, strict=True)]
        execute(sql, [author.now, author.element, author.label, author.request_id, *columns])


def _json(value: dict[str, Any]) -> str:
    return to_json(value).decode()
