"""State of a storage's content, and values that are cached for as long as the content does not change.

The marks of `ContentMark` are read in the snapshot of the request, so they identify exactly the content that the
request sees: a transaction that changes content adds a new unique mark, and its changes become visible together with
its mark.
"""

from __future__ import annotations

from bisect import bisect_right
from hashlib import blake2b
from typing import NamedTuple

from elements.reading.lists import selection as selecting
from elements.reading.lists.selection import Milestone, Selection
from repository_site.core.database.prepared import Row
from repository_site.core.database.statements import Question, ask, engine
from repository_site.core.recent_values import RecentValues

# Number of elements between two milestones; skipping so many costs little compared with reading a page.
STEP = 2_000


_totals: RecentValues[int] = RecentValues(10_000)
_milestones: RecentValues[tuple[Milestone, ...]] = RecentValues(100)


class ContentState(NamedTuple):
    """State of a storage's content; empty until its first change."""

    content: str = ""
    """Changes with every change."""
    structure: str = ""
    """Stays the same while only attributes of versions change (D607)."""


NO_STATE = ContentState()


def content_state() -> ContentState:
    return ask(content_state_of_scope())


def content_state_of_scope() -> Question[ContentState]:
    """Return the state of the scope's storage.

    A transaction that reads the state and then changes content adds another mark, because the one it read counts as
    used. A rollback to a savepoint before the read forgets that; requests that read do not change content.
    """
    sql = """SELECT string_agg(c.id::text, ' ' ORDER BY c.id), current_setting('repository.storage'),
        (SELECT string_agg(s.id::text, ' ' ORDER BY s.id) FROM elements_structuremark s),
        set_config('repository.marked', '', true), set_config('repository.restructured', '', true)
        FROM elements_contentmark c"""

    def understand(rows: list[Row]) -> ContentState:
        [(content, storage, structure, *_)] = rows
        if not content:
            return NO_STATE
        # What permission sets hide from the caller is as if it were not in the content (D491). Every time has its own
        # content (D564).
        limits = f"{engine().hidden} {engine().as_of}".rstrip()
        return ContentState(f"{storage} {content} {limits}", f"{storage} {structure or content} {limits}")

    return Question(sql, (), understand)


def total_of(selection: Selection, state: ContentState, revision: int) -> int:
    """Return the size of a list, counted once in each state of the storage, because counting takes longer the more
    there are. The configuration has another `revision` after each change of permission sets, which reuse numbers."""
    if not state.content:
        return selecting.count(selection)
    relevant = state.structure if selection.is_whole else state.content
    key = _key(relevant, revision, selection.counted, selection.parameters)
    found = _totals.get(key)
    return _totals.keep(key, selecting.count(selection)) if found is None else found


def milestone_before(selection: Selection, state: ContentState, revision: int, offset: int) -> Milestone | None:
    """Return the milestone before a page far down a list, so that the database does not skip everything before it.

    Milestones are found once in each state of the storage and serve all later requests.
    """
    if not state.content or offset < STEP or selection.order != selecting.BY_NAME:
        return None
    key = _key(state.content, revision, selection.source, selection.parameters)
    known = _milestones.get(key) or ()
    last = known[-1] if known else None
    if offset - (last.place if last else 0) >= STEP:
        known = _milestones.keep(key, (*known, *selecting.set_milestones(selection, STEP, offset, last)))
    index = bisect_right(known, offset, key=lambda each: each.place)
    return known[index - 1] if index else None


def _key(*parts: object) -> bytes:
    """Return a digest of a selection, because filters may be long and many."""
    return blake2b(repr(parts).encode(), digest_size=32).digest()
