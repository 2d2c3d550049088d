"""What a change is about to touch, as it stands: read under locks, so that it stays so until the change is made.

Elements are locked in the order of their ids, diagrams before what lives in them, whoever comes: two changes of the
same elements wait for each other and never for ever. Targets of references are locked lightly, only against being
deleted meanwhile. Where somebody deletes a diagram whose parts another refers to, the two can still be caught in each
other; the database ends one of them, and it is tried again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from elements.reading import rows
from elements.reading.rows import VersionRow
from repository_site.core.database.statements import fetch


class StoredElement(NamedTuple):
    element: str
    type: str
    parent: str | None
    newest: str
    published: str | None


class Diagram(NamedTuple):
    """A version in whose diagram something is drawn."""

    version: str
    state: str
    category: str


@dataclass(frozen=True, slots=True)
class Stored:
    """Of elements that are to be changed: rows by version id, and what each version refers to."""

    elements: Mapping[str, StoredElement]
    versions: Mapping[str, VersionRow]
    references: Mapping[str, Mapping[str, Sequence[str]]]
    drawn_in: Mapping[str, Sequence[Diagram]]
    """By element: the versions in whose diagrams it is drawn."""

    def diagrams(self, element: str) -> Sequence[Diagram]:
        return self.drawn_in.get(element, ())

    def version_of(self, element: str | None, version: str | None) -> VersionRow | None:
        """The version that a request names: by its own id, or the newest of the element."""
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
    """Ids that nothing has are missing in what comes back.

    What is changed may still be referred to by others at the same time; what is to be deleted may not. Of elements of
    the types `living_in_diagrams` the diagrams are held, too.
    """
    strength = "UPDATE" if to_delete else "NO KEY UPDATE"
    wanted_elements = {*elements, *elements_of(versions).values()}
    if living_in_diagrams and wanted_elements:
        _hold_diagrams(wanted_elements, living_in_diagrams)
    sql = f"""SELECT e.id::text, e.type_id::text, e.parent_id::text, e.newest_id::text, e.published_id::text
        FROM elements_element e WHERE e.id = ANY(%s::uuid[]) ORDER BY e.id FOR {strength}"""  # noqa: S608  constants of ours
    found = {row[0]: StoredElement(*row) for row in fetch(sql, [sorted(wanted_elements)])}
    wanted = {*versions, *(each.newest for each in found.values())}
    read = rows.read_versions(wanted)
    drawn_in = _drawn_in(found)
    diagrams = {each.version for found in drawn_in.values() for each in found}
    return Stored(found, read, rows.read_references(sorted({*read, *diagrams}), None), drawn_in)


class Target(NamedTuple):
    """An element that a request names: what decides whether it may be named there."""

    element: str
    type: str
    parent: str | None


def lock_targets(elements: Collection[str], versions: Collection[str], *, to_delete: bool = False) -> dict[str, Target]:
    """By element id and by version id; none of them can be deleted before this transaction ends."""
    owners = elements_of(versions)
    wanted = {*elements, *owners.values()}
    if not wanted:
        return {}
    strength = "UPDATE" if to_delete else "KEY SHARE"
    sql = f"""SELECT e.id::text, e.type_id::text, e.parent_id::text FROM elements_element e
        WHERE e.id = ANY(%s::uuid[]) ORDER BY e.id FOR {strength}"""  # noqa: S608  constants of ours
    found = {row[0]: Target(*row) for row in fetch(sql, [sorted(wanted)])}
    return found | {version: found[element] for version, element in owners.items() if element in found}


def elements_of(versions: Collection[str]) -> dict[str, str]:
    """The element of each version. By itself, since a sub-select is no index condition under row-level security."""
    sql = "SELECT v.id::text, v.element_id::text FROM elements_elementversion v WHERE v.id = ANY(%s::uuid[])"
    return dict(fetch(sql, [list(versions)])) if versions else {}


def _drawn_in(elements: Collection[str]) -> dict[str, list[Diagram]]:
    found: dict[str, list[Diagram]] = {}
    if elements:
        sql = """SELECT DISTINCT s.element_id::text, v.id::text, v.state, v.category FROM elements_shape s
            JOIN elements_elementversion v ON v.id = s.version_id WHERE s.element_id = ANY(%s::uuid[])"""
        for element, *diagram in fetch(sql, [list(elements)]):
            found.setdefault(element, []).append(Diagram(*diagram))
    return found


def _hold_diagrams(elements: Collection[str], living_in_diagrams: Sequence[str]) -> None:
    """What lives only in a diagram follows the state of the version whose diagram it is, so that stays as it is until
    the change is made. Before the elements themselves: who draws in a diagram locks it before what is in it. So what
    else the request names comes before them, too; it may be such a diagram. In one order with one strength, that of the
    stronger: taking more of what one holds already would be another way to wait for each other."""
    sql = """SELECT DISTINCT s.element_id::text, v.element_id::text FROM elements_shape s
        JOIN elements_element e ON e.id = s.element_id JOIN elements_elementversion v ON v.id = s.version_id
        WHERE s.element_id = ANY(%s::uuid[]) AND e.type_id = ANY(%s::uuid[])"""
    drawn = fetch(sql, [sorted(elements), list(living_in_diagrams)])
    if drawn:
        others = {*elements} - {element for element, _ in drawn}
        strength = "NO KEY UPDATE" if others else "SHARE"
        sql = f"SELECT 1 FROM elements_element WHERE id = ANY(%s::uuid[]) ORDER BY id FOR {strength}"  # noqa: S608  ours
        fetch(sql, [sorted(others | {owner for _, owner in drawn})])
