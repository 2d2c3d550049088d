"""Which state of its content a storage is in, and what is kept of it for as long as it stays in that state.

The marks of `ContentMark` are read with the snapshot of the request, so they stand for just what the request sees: a
transaction that changes something leaves a mark that was never there before, and its changes and its mark come into
sight together.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections import OrderedDict
from hashlib import blake2b
from typing import Generic, TypeVar

from elements.reading import selection as selecting
from elements.reading.selection import Milestone, Selection
from repository_site.core.database.statements import look_up

T = TypeVar("T")
# How many elements lie between two milestones: passing over these costs little beside reading a page.
STEP = 2_000


class Kept(Generic[T]):
    """The `most` things that were used last, of all storages together."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._found: OrderedDict[bytes, T] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: bytes) -> T | None:
        with self._lock:
            if key in self._found:
                self._found.move_to_end(key)
            return self._found.get(key)

    def keep(self, key: bytes, value: T) -> T:
        with self._lock:
            self._found[key] = value
            self._found.move_to_end(key)
            if len(self._found) > self.most:
                self._found.popitem(last=False)
        return value


_totals: Kept[int] = Kept(10_000)
_milestones: Kept[tuple[Milestone, ...]] = Kept(100)


def content_state() -> str:
    """Of the storage of the scope. Empty while nobody has changed anything since marks are made.

    Whoever goes on to change something in the same transaction makes another mark: the one that was read is taken. That
    is forgotten by a rollback to a savepoint from before the reading; requests that read do not change anything.
    """
    sql = """SELECT string_agg(id::text, ' ' ORDER BY id), current_setting('repository.storage'),
        set_config('repository.marked', '', true) FROM elements_contentmark"""
    [(marks, storage, _)] = look_up(sql)
    return f"{storage} {marks}" if marks else ""


def total_of(selection: Selection, state: str) -> int:
    """How many a list has; counted once in a state of the storage, since counting takes longer the more there are."""
    if not state:
        return selecting.count(selection)
    key = _key(state, selection.counted, selection.parameters)
    found = _totals.get(key)
    return _totals.keep(key, selecting.count(selection)) if found is None else found


def milestone_before(selection: Selection, state: str, offset: int) -> Milestone | None:
    """From where to go on to a page far down a list, instead of passing over everything before it.

    The way there is gone once in a state of the storage, and milestones are set on it for all that come later.
    """
    if not state or offset < STEP or selection.order != selecting.BY_NAME:
        return None
    key = _key(state, selection.source, selection.parameters)
    known = _milestones.get(key) or ()
    last = known[-1] if known else None
    if offset - (last.place if last else 0) >= STEP:
        known = _milestones.keep(key, (*known, *selecting.set_milestones(selection, STEP, offset, last)))
    index = bisect_right(known, offset, key=lambda each: each.place)
    return known[index - 1] if index else None


def _key(*parts: object) -> bytes:
    """As a digest: a filter may be long, and there may be many."""
    return blake2b(repr(parts).encode(), digest_size=32).digest()
