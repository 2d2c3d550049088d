"""Read numbered events, for the change feed and for everything that reacts to events."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, NamedTuple
from uuid import UUID

import orjson
from django.conf import settings

from repository_site.core.database.statements import look_up, text_array
from storage.events.cursors import Cursor, mark_of
from storage.events.numbering import number_events
from storage.models import EventType, Storage
from storage.tenancy.scope import tenant_scope, whole_content

# Events that a request looks at to fill a page.
LOOKED_AT = 20_000
# The largest number that the column can have.
NO_END = 2**63 - 1
_LOG = "SELECT l.epoch, l.last_number, l.oldest_number FROM storage_eventlog l"
_ID = "SELECT e.id FROM storage_event e WHERE e.number = %s::bigint"
_COLUMNS = """e.number, e.id, e.type, e.time, e.subject_id, e.version_id, e.facet, e.element_type, e.state, e.caller_id,
    e.caller_label, e.request_id, e.data"""

# Data with ids of other elements and versions, which viewers may not be able to see.
_OTHER_IDS = {
    EventType.ELEMENT_MOVED.value: ("from", "to"),
    EventType.ELEMENT_CREATED.value: ("copiedFrom",),
    EventType.VERSION_CREATED.value: ("copiedFrom",),
}


class NumberedEvent(NamedTuple):
    number: int
    id: UUID
    type: str
    time: datetime
    subject: UUID
    version: UUID | None
    facet: str
    element_type: str
    state: str
    caller: UUID | None
    caller_label: str
    request_id: str
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Values of which an event must have one, by column; and a condition of the caller's rights."""

    values: tuple[tuple[str, tuple[str, ...]], ...] = ()
    visible: str = "TRUE"
    visible_values: tuple[str, ...] = ()

    def sql(self) -> str:
        return "".join(f" AND e.{column} = ANY(%s::text[])" for column, _ in self.values) + f" AND {self.visible}"

    def parameters(self) -> list[str]:
        return [*(text_array(values) for _, values in self.values), *self.visible_values]


EVERYTHING = EventFilter()


class CursorGone(Exception):
    """The events after a cursor were deleted; `oldest` is the first cursor that is valid."""

    def __init__(self, oldest: Cursor) -> None:
        super().__init__(str(oldest))
        self.oldest = oldest


@dataclass(frozen=True, slots=True)
class EventPage:
    events: Sequence[NumberedEvent]
    next: Cursor
    is_end: bool
    """Whether no numbered event follows."""


class EventBatch(NamedTuple):
    events: Sequence[NumberedEvent]
    is_full: bool
    """Whether there may be more: the batch has as many events as were asked for, or as many bytes as it can have."""


def read_events(storage: Storage, after: int, limit: int) -> EventBatch:
    """Number what has been committed, and return events with numbers after `after`, oldest first. Those that are older
    than the retention time are left out."""
    number_events(storage)
    with tenant_scope(storage):
        return _select(EVERYTHING, after, NO_END, limit)


def read_page(after: Cursor | None, limit: int, only: EventFilter = EVERYTHING) -> EventPage:
    """Return a page of the storage of the scope, whose events are numbered; raise CursorGone for a lost cursor."""
    epoch, last, oldest = look_up(_LOG)[0]
    start = Cursor(epoch, oldest - 1, _mark(oldest - 1)) if after is None else after
    if not _is_known(start, epoch, last, oldest):
        raise CursorGone(Cursor(epoch, oldest - 1, _mark(oldest - 1)))
    end = min(start.number + LOOKED_AT, last)
    if end == start.number:
        return EventPage([], start, is_end=True)
    found, is_full = _select(only, start.number, end, limit)
    if is_full:
        next = Cursor(epoch, found[-1].number, mark_of(found[-1].id))
        return EventPage(found, next, is_end=next.number == last)
    return EventPage(found, Cursor(epoch, end, _mark(end)), is_end=end == last)


def _is_known(cursor: Cursor, epoch: int, last: int, oldest: int) -> bool:
    if cursor.epoch != epoch or not oldest - 1 <= cursor.number <= last:
        return False
    # The event before the oldest one has been deleted; everything after it is there.
    return cursor.number == oldest - 1 or cursor.mark == _mark(cursor.number)


def _mark(number: int) -> bytes:
    # Marks are the same for all callers, so that a cursor stays valid when permission sets change.
    with whole_content():
        rows = look_up(_ID, [number])
    return mark_of(rows[0][0] if rows else None)


def _select(only: EventFilter, after: int, until: int, limit: int) -> EventBatch:
    """Return a batch of events, at least one if there are any. The data of one event can be large: a change of the
    configuration names all places."""
    sql = f"""SELECT {_COLUMNS}, e.found FROM (SELECT e.*, count(*) OVER () AS found,
            sum(octet_length(e.data::text)) OVER (ORDER BY e.number) - octet_length(e.data::text) AS before
        FROM (SELECT {_COLUMNS} FROM storage_event e WHERE e.number > %s::bigint AND e.number <= %s::bigint{only.sql()}
            ORDER BY e.number LIMIT %s::bigint) e) e
        WHERE e.before <= %s::bigint ORDER BY e.number"""  # noqa: S608  constants
    rows = look_up(sql, [after, until, *only.parameters(), limit, settings.RESPONSE_BYTES // 8])
    found = [NumberedEvent._make((*values, _data(data))) for *values, data, _found in rows]
    return EventBatch(found, len(found) == limit or bool(rows and len(rows) < rows[0][-1]))


def _data(value: Any) -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads(value) if isinstance(value, str | bytes) else value
    return found


def cloud_event(
    source: str,
    event: NumberedEvent,
    *,
    with_caller: bool = True,
    hidden_names: Mapping[str, Collection[str]] = MappingProxyType({}),
) -> dict[str, Any]:
    """Return an event as a CloudEvent 1.0 in JSON. `source` is the path of the storage. Without the caller, it is for
    viewers (D328). `hidden_names` are attributes, by type of elements, that the event must not name (D400)."""
    data: dict[str, Any] = {}
    if event.version is not None:
        data |= {"elementId": str(event.subject), "versionId": str(event.version)}
        data |= {"elementType": event.element_type, "facet": event.facet, "state": event.state}
    hidden = () if with_caller else _OTHER_IDS.get(event.type, ())
    data |= {name: value for name, value in event.data.items() if name not in hidden}
    if (names := hidden_names.get(event.element_type)) and "attributes" in data:
        data["attributes"] = [name for name in data["attributes"] if name not in names]
    if with_caller:
        data |= {"caller": event.caller_label, "requestId": event.request_id}
        if event.caller is not None:
            data["callerId"] = str(event.caller)
    return {
        "specversion": "1.0",
        "id": str(event.id),
        "source": source,
        "type": event.type,
        "subject": str(event.subject),
        "time": f"{event.time.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%f}Z",
        "datacontenttype": "application/json",
        "data": data,
    }
