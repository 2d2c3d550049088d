"""Events of an import (D329, D621): its new elements, and their published versions, which readers may see.

`elements/writing/events.py` asks the database for the type and the state of each element; an import knows them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import count
from types import MappingProxyType

from elements.transfer.file_facts import ImportedElement
from elements.writing.authors import Author
from facets.blueprint.definitions import ElementType
from repository_site.core.database.statements import fetch, id_array
from repository_site.core.rest.rendering import to_json
from storage.models import Event, EventType
from storage.tenancy.bulk import ascending_ids, copy_row, copy_rows, copy_text

COLUMNS = (
    "id", "type", "time", "subject_id", "version_id", "facet", "element_type", "state", "caller_label", "request_id",
    "is_public", "data",
)  # fmt: skip
MOMENT = timedelta(microseconds=1)
# Events of an element: it is created, and a version is published.
EVENTS_AT_MOST = 2
EMPTY: Mapping[str, datetime] = MappingProxyType({})
# An element that was deleted and is imported again may have events of this moment, or of a clock that was ahead.
EARLIER = """SELECT o.subject_id::text, max(o.time) FROM storage_event o
    WHERE o.subject_id = ANY(%s::uuid[]) AND o.time >= %s::timestamptz GROUP BY 1"""


class EventRows:
    """Makes rows of events. A thread and its caller can do so at the same time: they share no counter."""

    def __init__(self, author: Author, types: Mapping[str, ElementType]) -> None:
        self.author, self.types = author, types
        # Read here: a thread does not have the clock of its caller (`changes_at`).
        self.now = author.now

    def write(self, first: int, elements: Sequence[tuple[str, ImportedElement]], rows: Sequence[str]) -> None:
        """Write the rows of elements, which are made again if one of them has events that are later."""
        earlier: dict[str, datetime] = dict(fetch(EARLIER, [id_array(element for element, _ in elements), self.now]))
        copy_rows(Event, COLUMNS, [*self.rows(first, elements, earlier)] if earlier else rows)

    def rows(
        self, first: int, elements: Sequence[tuple[str, ImportedElement]], earlier: Mapping[str, datetime] = EMPTY
    ) -> Iterator[str]:
        """Return the rows of elements in the order of the file. `first` is the place of the first of them."""
        ids, moments = ascending_ids(), count(first * EVENTS_AT_MOST)
        for element, known in elements:
            is_public = known.newest == known.published
            last = earlier.get(element)
            start = next(ids), self._time(next(moments), last)
            yield self._row(*start, EventType.ELEMENT_CREATED, element, known, known.newest, known.state, is_public)
            if self.types[known.type].is_versioned and known.published:
                data = to_json({"version": f"{known.published_major}.{known.published_minor}"}).decode()
                start = next(ids), self._time(next(moments), last and last + MOMENT)
                state = known.published_state
                yield self._row(*start, EventType.VERSION_RELEASED, element, known, known.published, state, True, data)

    def _time(self, moment: int, last: datetime | None) -> datetime:
        """Return a time that is later than the last event of the element (D325)."""
        now = self.now + moment * MOMENT
        return now if last is None else max(now, last + MOMENT)

    def _row(
        self,
        id: str,
        time: datetime,
        type: EventType,
        element: str,
        known: ImportedElement,
        version: str | None,
        state: str,
        is_public: bool,
        data: str = "{}",
    ) -> str:
        element_type = self.types[known.type]
        kind = element_type.facet, element_type.key, copy_text(state or element_type.static_state)
        caller = self.author.label, self.author.request_id
        what = id, type.value, time.isoformat(), element, version
        return copy_row(*what, *kind, *caller, "t" if is_public else "f", data)
