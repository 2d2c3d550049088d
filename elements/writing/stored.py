"""Current state of what a change touches, read under locks that last until the transaction ends.

Every change locks elements in the order of their ids, and diagrams before the elements that live in them, so two
changes of the same elements wait for each other without a deadlock. Targets of references get a light lock that only
prevents their deletion. A deadlock remains possible when one request deletes a diagram while another refers to its
parts; the database then aborts one of them, and the server retries it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from django.conf import settings

from elements.permission_sets.callers import Denied, denied_on, hidden_among
from elements.permissions import Permission
from elements.reading import rows
from elements.reading.bounds import most_text, most_written_rows
from elements.reading.rows import VersionRow
from repository_site.core.database.statements import fetch, id_array, look_up


class StoredElement(NamedTuple):
    element: str
    type: str
    parent: str | None
    newest: str
    published: str | None


class Diagram(NamedTuple):
    version: str
    state: str
    category: str


@dataclass(frozen=True, slots=True)
class Stored:
    """Locked elements, with their rows and references by version id."""

    elements: Mapping[str, StoredElement]
    versions: Mapping[str, VersionRow]
    references: Mapping[str, Mapping[str, Sequence[str]]]
    drawn_in: Mapping[str, Sequence[Diagram]]
    """The versions whose diagrams show an element, by element."""
    denied: Denied = field(default_factory=dict)
    """Permissions that permission sets deny the caller, by element (D490)."""

    def visible(self) -> Stored:
        """Return the same without the elements that the caller does not see. A request that names them names
        nothing."""
        hidden = {element for element, denied in self.denied.items() if Permission.OPEN in denied}
        if not hidden:
            return self
        elements = {element: each for element, each in self.elements.items() if element not in hidden}
        versions = {version: row for version, row in self.versions.items() if row.element not in hidden}
        return replace(self, elements=elements, versions=versions)

    def diagrams(self, element: str) -> Sequence[Diagram]:
        return self.drawn_in.get(element, ())

    def version_of(self, element: str | None, version: str | None) -> VersionRow | None:
        """Return the version that a request names by its own id, or the newest version of the element."""
        if version is not None:
            return self.versions.get(version)
        known = self.elements.get(element) if element else None
        return self.versions.get(known.newest) if known else None


def lock_elements(
    elements: Collection[str],
    versions: Collection[str],
    *,
    to_delete: bool = False,
    living_in_diagrams: Sequence[str] = (),
) -> Stored:
    """Lock and read elements; unknown ids are missing from the result.

    Other requests may still refer to an element that is being changed, but not to one that is to be deleted. For
    elements of the types `living_in_diagrams`, the diagrams that show them are locked, too.
    """
    return _read(
        hold_elements(elements, versions, to_delete=to_delete, living_in_diagrams=living_in_diagrams), versions
    )


def keep_elements(elements: Collection[str]) -> Stored:
    """Read elements, and only prevent their deletion. Call this for the elements of a diagram that is locked: those
    that live in it cannot change meanwhile, and a stronger lock on the others could deadlock."""
    return _read(_lock(elements, "KEY SHARE"), ()) if elements else Stored({}, {}, {}, {})


def _read(found: dict[str, StoredElement], versions: Collection[str]) -> Stored:
    wanted = {*versions, *(each.newest for each in found.values())}
    # Whatever an element contains, it can be changed and deleted by itself.
    read = rows.read_versions(wanted, most=most_text(1) if len(found) > 1 else None)
    drawn_in = _drawn_in(found)
    diagrams = {each.version for found in drawn_in.values() for each in found}
    references = rows.read_references(sorted({*read, *diagrams}), None, most_written_rows())
    return Stored(found, read, references, drawn_in, denied_on(found))


def hold_elements(
    elements: Collection[str],
    versions: Collection[str],
    *,
    to_delete: bool = False,
    living_in_diagrams: Sequence[str] = (),
) -> dict[str, StoredElement]:
    """Lock elements, and read nothing else of them."""
    wanted = {*elements, *elements_of(versions).values()}
    if living_in_diagrams and wanted:
        _hold_diagrams(wanted, living_in_diagrams)
    return _lock(wanted, "UPDATE" if to_delete else "NO KEY UPDATE")


def _lock(elements: Collection[str], strength: str) -> dict[str, StoredElement]:
    sql = f"""SELECT e.id::text, e.type_id::text, e.parent_id::text, e.newest_id::text, e.published_id::text
        FROM elements_element e WHERE e.id = ANY(%s::uuid[]) ORDER BY e.id FOR {strength}"""  # noqa: S608  constants
    return {row[0]: StoredElement(*row) for row in look_up(sql, [id_array(elements)])}


class ReferenceTarget(NamedTuple):
    """An element that a request refers to, with the values that decide whether it may."""

    element: str
    type: str
    parent: str | None


def lock_targets(
    elements: Collection[str], versions: Collection[str], *, to_delete: bool = False
) -> dict[str, ReferenceTarget]:
    """Return targets by element id and by version id. Nobody can delete them before this transaction ends. Those that
    the caller does not see are missing, unless they are to be deleted with what contains them."""
    owners = elements_of(versions)
    wanted = {*elements, *owners.values()}
    if not wanted:
        return {}
    strength = "UPDATE" if to_delete else "KEY SHARE"
    sql = f"""SELECT e.id::text, e.type_id::text, e.parent_id::text FROM elements_element e
        WHERE e.id = ANY(%s::uuid[]) ORDER BY e.id FOR {strength}"""  # noqa: S608  constants
    found = {row[0]: ReferenceTarget(*row) for row in look_up(sql, [id_array(wanted)])}
    for hidden in () if to_delete else hidden_among(found):
        del found[hidden]
    return found | {version: found[element] for version, element in owners.items() if element in found}


def elements_of(versions: Collection[str]) -> dict[str, str]:
    """Return the element of each version. A separate statement, as row-level security keeps a sub-select from using
    the index."""
    sql = "SELECT v.id::text, v.element_id::text FROM elements_elementversion v WHERE v.id = ANY(%s::uuid[])"
    return dict(look_up(sql, [id_array(versions)])) if versions else {}


def _drawn_in(elements: Collection[str]) -> dict[str, list[Diagram]]:
    found: dict[str, list[Diagram]] = {}
    if elements:
        sql = """SELECT DISTINCT s.element_id::text, v.id::text, v.state, v.category FROM elements_shape s
            JOIN elements_elementversion v ON v.id = s.version_id WHERE s.element_id = ANY(%s::uuid[])"""
        for element, *diagram in look_up(sql, [id_array(elements)]):
            found.setdefault(element, []).append(Diagram(*diagram))
    return found


def _hold_diagrams(elements: Collection[str], living_in_diagrams: Sequence[str]) -> None:
    """Lock the diagrams that show these elements.

    An element that lives only in a diagram follows the state of the diagram's version, which must not change before
    the transaction ends. A request that draws locks the diagram before its elements, so this does the same. Other
    elements that the request names may be such diagrams, so they are locked here as well: all in one order and with
    the stronger lock, because upgrading a lock later could deadlock.
    """
    sql = """SELECT DISTINCT s.element_id::text, v.element_id::text FROM elements_shape s
        JOIN elements_element e ON e.id = s.element_id JOIN elements_elementversion v ON v.id = s.version_id
        WHERE s.element_id = ANY(%s::uuid[]) AND e.type_id = ANY(%s::uuid[])"""
    drawn = look_up(sql, [id_array(elements), id_array(living_in_diagrams)])
    if drawn:
        others = {*elements} - {element for element, _ in drawn}
        strength = "NO KEY UPDATE" if others else "SHARE"
        sql = f"SELECT 1 FROM elements_element WHERE id = ANY(%s::uuid[]) ORDER BY id FOR {strength}"  # noqa: S608  constants
        fetch(sql, [sorted(others | {owner for _, owner in drawn})])


@dataclass(slots=True)
class Ancestry:
    """Parents and types of elements around those that move. Decisions about moves update the parents in turn."""

    parents: dict[str, str | None]
    types: dict[str, str]
    heights: Mapping[str, int] = field(default_factory=dict)
    """Levels below each element that moves; elements that also move do not count."""

    def level(self, element: str | None) -> int:
        """Return the number of elements from the root down to this one."""
        return sum(1 for _ in self.above(element))

    def above(self, element: str | None) -> Iterator[str]:
        seen = set()
        while element is not None and element not in seen:
            seen.add(element)
            yield element
            element = self.parents.get(element)

    def in_cycles(self) -> set[str]:
        """Return the elements that are above themselves. Visits each element once."""
        found: set[str] = set()
        visited: set[str] = set()
        for start in self.parents:
            path: dict[str, int] = {}
            element: str | None = start
            while element is not None and element not in visited and element not in path:
                path[element] = len(path)
                element = self.parents.get(element)
            if element in path:
                found.update(each for each, place in path.items() if place >= path[element])
            visited.update(path)
        return found


def lock_ancestry(moving: Collection[str], around: Collection[str]) -> Ancestry:
    """Read elements that move, the elements `around` them, which are their new parents and those of new elements, and
    all their ancestors.

    Moves lock the tree: they happen one at a time in a storage, because two moves that are valid separately could form
    a cycle together.
    """
    if moving:
        fetch("SELECT pg_advisory_xact_lock(hashtextextended('tree ' || current_setting('repository.storage'), 0))")
    found = Ancestry({}, {}, _read_heights(moving))
    elements = {*moving, *around}
    if elements:
        sql = """WITH RECURSIVE above AS (
                SELECT e.id, e.parent_id, e.type_id FROM elements_element e WHERE e.id = ANY(%s::uuid[])
                UNION SELECT e.id, e.parent_id, e.type_id FROM above JOIN elements_element e ON e.id = above.parent_id)
            SELECT id::text, parent_id::text, type_id::text FROM above"""
        for element, parent, type in fetch(sql, [list(elements)]):
            found.parents[element], found.types[element] = parent, type
    return found


def _read_heights(moving: Collection[str]) -> dict[str, int]:
    if not moving:
        return {}
    # One level more than is allowed is enough to know. The database aggregates, because the tree may be large.
    sql = """WITH RECURSIVE below AS (
            SELECT m.id AS root, m.id, 0 AS height FROM unnest(%s::uuid[]) AS m (id)
            UNION ALL SELECT below.root, e.id, below.height + 1 FROM below
                JOIN elements_element e ON e.parent_id = below.id
                WHERE below.height < %s AND e.id <> ALL(%s::uuid[]))
        SELECT root::text, max(height) FROM below GROUP BY root"""
    return dict(fetch(sql, [list(moving), settings.MAX_DEPTH, list(moving)]))


def hidden_around(stored: Stored, ancestors: Iterable[str] = ()) -> frozenset[str]:
    """Return the targets of stored references, and ancestors, that the caller does not see."""
    held = {one for contexts in stored.references.values() for ids in contexts.values() for one in ids}
    return frozenset(hidden_among(held.union(ancestors)))


@dataclass(frozen=True, slots=True)
class CurrentState:
    stored: Stored
    targets: Mapping[str, ReferenceTarget]
    ancestry: Ancestry
    denied: Denied = field(default_factory=dict)
    """Permissions that permission sets deny the caller on the targets, some of which are new parents."""
    hidden: frozenset[str] = frozenset()
    """Targets of stored references, and ancestors, that the caller does not see. They stay (D493)."""
