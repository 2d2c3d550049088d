"""Elements that are new, changed or deleted between two times (D570)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from elements.reading.assembly.assembler import Reader
from elements.reading.names import ByCulture
from elements.reading.referrers import read_whole_names
from elements.reading.rows import IDENTITY, Identity
from repository_site.core.database.statements import id_array, look_up
from repository_site.core.problems import Invalid
from storage.tenancy.scope import read_as_of

# Limit of the changes that are read from the history, and of the elements that are read by their time (D605).
MOST_CHANGES = 20_000
TOO_MANY = "There are more than {most:,} changes between these times. {advice}"
SHORTER = "Compare a shorter period, such as up to {time}."
AT_ONCE = "A shorter period would have as many, because all were made at once: compare the lists of both times ($asOf)."
# The history has the time at which a change was written, the past that of its transaction. Another clock may differ.
MARGIN = timedelta(minutes=1)
FIND = """SELECT c.element_id::text, count(*), max(c.changed_on) FROM (
        SELECT c.element_id, c.changed_on FROM elements_elementchange c
        WHERE c.changed_on > %s::timestamptz AND c.changed_on <= %s::timestamptz
        ORDER BY c.changed_on, c.id LIMIT {most}) c
    GROUP BY c.element_id"""
# Elements that an import has created have no history. To be read as of the second time.
FIND_DATED = """SELECT e.id::text, e.since FROM elements_element e
    WHERE e.since > %s::timestamptz AND e.type_id = ANY(%s::uuid[]) ORDER BY e.since LIMIT {most}"""
# Each LATERAL with a limit is one index look-up for each row, regardless of the planner's estimate.
READ = f"""SELECT {IDENTITY}, e.parent_id::text, v.since FROM unnest(%s::uuid[]) AS w(id)
    CROSS JOIN LATERAL (SELECT e.id, e.creation_id, e.type_id, e.parent_id, e.{{pointer}} AS shown
        FROM elements_element e WHERE e.id = w.id LIMIT 1) e
    CROSS JOIN LATERAL (SELECT v.id, v.state, v.stereotype, v.since FROM elements_elementversion v
        WHERE v.id = e.shown LIMIT 1) v"""  # noqa: S608  constants


class ChangeKind(StrEnum):
    NEW = "new"
    CHANGED = "changed"
    DELETED = "deleted"


class ElementState(NamedTuple):
    """An element at a time. Every change of its version begins another `since`."""

    identity: Identity
    parent: str | None
    since: datetime


@dataclass(frozen=True, slots=True)
class ChangedElement:
    kind: ChangeKind
    identity: Identity
    """The element at the new time, or a deleted one at the old time."""
    names: ByCulture


@dataclass(frozen=True, slots=True)
class ChangedElements:
    """A page of changed elements. `counts` has the elements on all pages."""

    page: Sequence[ChangedElement]
    counts: Mapping[ChangeKind, int]


def read_changed_elements(
    reader: Reader, old: datetime, new: datetime | None, *, limit: int, offset: int = 0
) -> ChangedElements:
    """Return the elements that the reader sees differently at two times, those that were changed last first. None means
    now. Raise Invalid if there are too many, and TooHeavy if the names of the page are too long together."""
    until = (new + MARGIN).isoformat() if new else "infinity"
    most, types = MOST_CHANGES + 1, [id for id in _seen(reader) if not reader.types[id].lives_in_diagrams]
    found = look_up(FIND.format(most=most), [(old - MARGIN).isoformat(), until])
    with read_as_of(new):
        dated = look_up(FIND_DATED.format(most=most), [old.isoformat(), id_array(types)])
    if sum(row[1] for row in found) >= most:
        raise _too_many(old, max(row[2] for row in found) - MARGIN)
    if len(dated) >= most:
        raise _too_many(old, dated[-1][1])
    last = dict(dated) | {id: time for id, _, time in found}
    elements = sorted(last, key=lambda id: (last[id], id), reverse=True)
    before, after = _states(reader, elements, old), _states(reader, elements, new)
    changes = [
        (kind, state.identity)
        for id in elements
        if (kind := _kind(reader, before.get(id), after.get(id))) and (state := after.get(id) or before.get(id))
    ]
    shown = changes[offset : offset + limit]
    deleted = {identity.version for kind, identity in shown if kind is ChangeKind.DELETED}
    names = _names(deleted, old) | _names({identity.version for _, identity in shown} - deleted, new)
    page = [ChangedElement(kind, identity, names.get(identity.version, {})) for kind, identity in shown]
    return ChangedElements(page, Counter(kind for kind, _ in changes))


def _too_many(old: datetime, excess: datetime) -> Invalid:
    """Return the problem of a comparison that starts at `old`. Changes before `excess` would not be too many."""
    until = excess - timedelta(microseconds=1)
    time = until.astimezone(UTC).replace(tzinfo=None).isoformat() + "Z"
    return Invalid(TOO_MANY.format(most=MOST_CHANGES, advice=SHORTER.format(time=time) if until > old else AT_ONCE))


def _states(reader: Reader, elements: Collection[str], time: datetime | None) -> dict[str, ElementState]:
    with read_as_of(time):
        found = look_up(READ.format(pointer=reader.audience.pointer), [id_array(elements)]) if elements else []
    seen = _seen(reader)
    return {row[0]: ElementState(Identity(*row[:6]), *row[6:]) for row in found if row[2] in seen}


def _seen(reader: Reader) -> set[str]:
    """Return the types of elements that the reader sees."""
    return reader.types.keys() - reader.audience.closed


def _kind(reader: Reader, before: ElementState | None, after: ElementState | None) -> ChangeKind | None:
    if before is None or after is None:
        state = before or after
        # A step that was added or removed, or copied into a new version, is a change of its diagram.
        if state is None or reader.types[state.identity.type].lives_in_diagrams:
            return None
        return ChangeKind.NEW if after else ChangeKind.DELETED
    # Only administrators and the user can read the history of a user (D398).
    if before == after or after.identity.type in reader.configuration.partial:
        return None
    return ChangeKind.CHANGED


def _names(versions: Collection[str], time: datetime | None) -> dict[str, ByCulture]:
    with read_as_of(time):
        return read_whole_names(versions)
