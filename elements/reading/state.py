"""Which state of its content a storage is in, and what is kept of it for as long as it stays in that state.

The marks of `ContentMark` are read with the snapshot of the request, so they stand for just what the request sees: a
transaction that changes something leaves a mark that was never there before, and its changes and its mark come into
sight together.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from hashlib import blake2b

from elements.reading.selection import Selection, count
from repository_site.database.statements import look_up

# Of all storages together; a number each.
MOST_KEPT = 10_000
_totals: OrderedDict[bytes, int] = OrderedDict()
_lock = threading.Lock()


def content_state() -> str:
    """Empty while nobody has changed anything since marks are made.

    Whoever goes on to change something in the same transaction makes another mark: the one that was read is taken. That
    is forgotten by a rollback to a savepoint from before the reading; requests that read do not change anything.
    """
    sql = """SELECT coalesce(string_agg(id::text, ' ' ORDER BY id), ''), set_config('repository.marked', '', true)
        FROM elements_contentmark"""
    return str(look_up(sql)[0][0])


def total_of(selection: Selection, state: str) -> int:
    """How many a list has; counted once in a state of the storage, since counting takes longer the more there are."""
    if not state:
        return count(selection)
    # As a digest: a filter may be long, and there may be many.
    key = blake2b(repr((state, selection.counted, selection.parameters)).encode(), digest_size=32).digest()
    with _lock:
        found = _totals.get(key)
        if found is not None:
            _totals.move_to_end(key)
            return found
    found = count(selection)
    with _lock:
        _totals[key] = found
        if len(_totals) > MOST_KEPT:
            _totals.popitem(last=False)
    return found
