"""Statements of reading, each for many elements at once, and the tuples they return.

Ids are read as texts, as responses need them, and no model instances are built on this path. Row-level security adds
the storage to each condition, so every look-up here uses an index that begins with it. Joining through the element's
pointer for the caller's audience leaves out, in SQL, what the caller must not see (D6).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from elements.filters.conditions import ALWAYS, Condition
from elements.reading.bounds import TooHeavy, at_most, halved, most_rows, most_text
from facets.blueprint.cycles import EVER_PUBLISHED
from repository_site.core.database.narrowing import IDENTIFIED_LATER
from repository_site.core.database.prepared import Row
from repository_site.core.database.statements import (
    Question,
    Reading,
    ask,
    ask_for,
    id_array,
    look_up,
    read,
    rows_of,
    text_array,
)


@dataclass(frozen=True, slots=True)
class Audience:
    """Callers who see drafts read the newest version of an element; viewers read only the published one.

    `closed` are the types of the elements that the caller must not open (D396), as the caller's part of the
    configuration names them.
    """

    sees_drafts: bool
    closed: frozenset[str] = frozenset()
    hidden: frozenset[str] = frozenset()
    """Those of them that are not even shown as references to callers who see drafts (D489)."""

    @property
    def pointer(self) -> str:
        return "newest_id" if self.sees_drafts else "published_id"

    @property
    def unnamed(self) -> frozenset[str]:
        """Types whose elements the caller does not even see as references. Callers above viewer see which program has
        changed an element (D206)."""
        return self.hidden if self.sees_drafts else self.closed

    def can_open(self, row: VersionRow | Identity) -> bool:
        return row.type not in self.closed

    def opens(self, element: str) -> Condition:
        """Return the condition that the caller can open an element; `element` is the name of its table."""
        return Condition(f"{element}.type_id <> ALL(%s::uuid[])", (sorted(self.closed),)) if self.closed else ALWAYS


class Identity(NamedTuple):
    """An element as a reference shows it, in the version that the reader sees."""

    element: str
    creation: str
    type: str
    version: str
    state: str
    stereotype: str


class VersionRow(NamedTuple):
    """A version with its element. The first fields are those of an Identity."""

    element: str
    creation: str
    type: str
    version: str
    state: str
    stereotype: str
    parent: str | None
    major: int | None
    minor: int | None
    changed_on: datetime
    created_on: datetime
    released_on: datetime | None
    valid_from: datetime | None
    valid_until: datetime | None
    changed_by: str | None
    created_by: str | None
    released_by: str | None
    newest: str
    published: str | None
    revision: int
    category: str
    newest_category: str
    """For reporting, which needs a role that sees drafts; else empty."""
    attributes: str

    @property
    def identity(self) -> Identity:
        return Identity(*self[:6])

    @property
    def entity_tag(self) -> str:
        """The entity tag of the version, which every change of the version changes (D135)."""
        return f'"{self.version}.{self.revision}"'


class VersionSummary(NamedTuple):
    """One version of an element, and whether it was ever released."""

    identity: Identity
    was_released: bool


IDENTITY = "e.id::text, e.creation_id::text, e.type_id::text, v.id::text, v.state, v.stereotype"
ROW = f"""{IDENTITY}, e.parent_id::text, v.major, v.minor, v.changed_on, v.created_on, v.released_on, v.valid_from,
    v.valid_until, v.changed_by_id::text, v.created_by_id::text, v.released_by_id::text, e.newest_id::text,
    e.published_id::text, v.revision, v.category"""
NEWEST_CATEGORY = "(SELECT n.category FROM elements_elementversion n WHERE n.id = e.newest_id)"
VERSION_AND_ELEMENT = "elements_elementversion v JOIN elements_element e ON e.id = v.element_id"
# Attributes as text, computed once; too long ones stay in the database.
AS_TEXT = "CROSS JOIN LATERAL (SELECT v.attributes::text AS attributes OFFSET 0) t"
SOME_AS_TEXT = """CROSS JOIN LATERAL (SELECT coalesce(jsonb_object_agg(a.key, a.value), '{}')::text AS attributes
    FROM jsonb_each(v.attributes) a WHERE a.key = ANY(%s) OFFSET 0) t"""
BOUNDED_TEXT = "CASE WHEN octet_length(t.attributes) <= %s THEN t.attributes END"


def row_columns(attributes: str, *, for_reporting: bool = False) -> str:
    newest = NEWEST_CATEGORY if for_reporting else "''"
    return f"{ROW}, {newest}, {attributes}"


def find_version(audience: Audience, identity: str) -> VersionRow | None:
    """Return the version that an id addresses: a version, or the version of an element that the reader sees (D6)."""
    return read(finding_version(audience, identity))


def finding_version(audience: Audience, identity: str) -> Reading[VersionRow | None]:
    found = yield from ask_for(any_version(audience, identity))
    if found is None or not audience.can_open(found):
        return None
    if found.attributes is None:
        raise TooHeavy
    return found


def find_any_version(audience: Audience, identity: str) -> VersionRow | None:
    """Do the same, but return a version without its attributes if they are too long to be read together."""
    found = ask(any_version(audience, identity))
    return found if found is None or audience.can_open(found) else None


def any_version(audience: Audience, identity: str) -> Question[VersionRow | None]:
    """Return the version of an id, even of a closed type: the question can be asked before the configuration is known.
    Its attributes are missing if they are too long to be read together."""
    visible = "" if audience.sees_drafts else " WHERE v.id = e.published_id"
    current = f"SELECT {audience.pointer} FROM elements_element WHERE id = %s::uuid"  # noqa: S608  constants
    # Finds the id separately: row-level security keeps a condition with a sub-select from using the index.
    sql = f"""WITH wanted AS MATERIALIZED (SELECT coalesce(({current}), %s::uuid) AS version_id)
        SELECT {row_columns(BOUNDED_TEXT)} FROM wanted JOIN elements_elementversion v ON v.id = wanted.version_id
        JOIN elements_element e ON e.id = v.element_id {AS_TEXT}{visible}"""  # noqa: S608  constants
    return Question(sql, [identity, identity, most_text(1)], lambda rows: VersionRow(*rows[0]) if rows else None)


def read_versions(
    versions: Collection[str],
    *,
    with_attributes: bool = True,
    for_reporting: bool = False,
    only: Collection[str] | None = None,
    most: int | None = None,
) -> dict[str, VersionRow]:
    """Return versions by id, with all attributes or `only` some. The caller has already checked visibility.

    Raise TooHeavy if the attributes have more than `most` bytes together. Reads of the API have this bound (D188).
    """
    return read(
        reading_versions(versions, with_attributes=with_attributes, for_reporting=for_reporting, only=only, most=most)
    )


def reading_versions(
    versions: Collection[str],
    *,
    with_attributes: bool = True,
    for_reporting: bool = False,
    only: Collection[str] | None = None,
    most: int | None = None,
) -> Reading[dict[str, VersionRow]]:
    if not versions:
        return {}
    attributes = "NULL" if not with_attributes else "t.attributes" if most is None else BOUNDED_TEXT
    columns = row_columns(attributes, for_reporting=for_reporting)
    text = "" if not with_attributes else AS_TEXT if only is None else SOME_AS_TEXT
    sql = f"SELECT {columns} FROM {VERSION_AND_ELEMENT} {text} WHERE v.id = ANY(%s::uuid[])"  # noqa: S608  constants
    ids = id_array(versions)
    named = [] if only is None or not with_attributes else [sorted(only)]
    if most is None or not with_attributes:
        return {row[3]: VersionRow(*row) for row in (yield from rows_of(sql, [*named, ids]))}
    # If no version exceeds its share, all together do not exceed the whole. Otherwise the sum decides.
    found = yield from rows_of(sql, [most // len(versions), *named, ids])
    if any(row[-1] is None for row in found):
        total = f"""SELECT coalesce(sum(octet_length(t.attributes)), 0) FROM elements_elementversion v {text}
            WHERE v.id = ANY(%s::uuid[])"""  # noqa: S608  constants
        [(size,)] = yield from rows_of(total, [*named, ids])
        if size > most:
            raise TooHeavy
        found = yield from rows_of(sql, [most, *named, ids])
    return {row[3]: VersionRow(*row) for row in found}


def read_some(versions: Sequence[str], *choices: Collection[str]) -> dict[str, VersionRow]:
    """Return versions with the attributes of the first choice, as far as they are not too many bytes together; others
    with those of the next choice, and so on. The last ones have no attributes."""
    found = read_versions(versions, with_attributes=False)
    for only in choices:
        room, fitting = most_text(2) // len(choices), []
        waiting = [each for each in versions if each in found and found[each].attributes is None]
        sql = f"""SELECT v.id::text, octet_length(t.attributes) FROM elements_elementversion v {SOME_AS_TEXT}
            WHERE v.id = ANY(%s::uuid[])"""  # noqa: S608  constants
        sizes: dict[str, int] = dict(look_up(sql, [sorted(only), id_array(waiting)]) if waiting else ())
        for version in waiting:
            if sizes.get(version, room) < room:
                room -= sizes[version]
                fitting.append(version)
        found |= read_versions(fitting, only=only)
    return found


def complete(row: VersionRow, only: Collection[str] | None = None) -> VersionRow:
    """Return a version with its attributes, or `only` some, if they were too long to be read together."""
    if row.attributes is not None:
        return row
    return read_versions([row.version], only=only).get(row.version) or row._replace(attributes="{}")


def read_in_batches(versions: Collection[str]) -> Iterator[Collection[VersionRow]]:
    """Return versions with their attributes for a change, in batches that are not too heavy. A version is read however
    heavy it is."""

    def read(few: Sequence[str]) -> Collection[VersionRow]:
        return read_versions(few, most=most_text(len(few)) if len(few) > 1 else None).values()

    return halved(sorted(versions), read)


def read_identities(audience: Audience, elements: Collection[str]) -> dict[str, Identity]:
    """Return identities by element id, without those that the reader must not see."""
    return ask(identities_of(audience, elements))


def identities_of(audience: Audience, elements: Collection[str]) -> Question[dict[str, Identity]]:
    sql = f"""SELECT {IDENTITY} FROM elements_element e
        JOIN elements_elementversion v ON v.id = e.{audience.pointer} WHERE e.id = ANY(%s::uuid[])"""  # noqa: S608  constants
    hidden = audience.unnamed
    return Question(
        sql if elements else "",
        [id_array(elements)],
        lambda rows: {row[0]: Identity(*row) for row in rows if row[2] not in hidden},
    )


References = dict[str, dict[str, list[str]]]


def read_references(versions: Collection[str], contexts: Collection[str] | None, most: int | None = None) -> References:
    return ask(references_of(versions, contexts, most))


def references_of(
    versions: Collection[str],
    contexts: Collection[str] | None,
    most: int | None = None,
    *,
    is_identified_later: bool = False,
) -> Question[References]:
    """Return target ids by version and context, in order. None means all contexts.

    Raise TooHeavy, here and below, if there are more than `most`. A caller that reads the identities of all targets
    afterwards, and leaves out targets without one, can skip the check for hidden targets here (D608).
    """
    name = IDENTIFIED_LATER if is_identified_later else "r"
    most = most_rows(len(versions)) if most is None else most

    def understand(rows: list[Row]) -> References:
        # References are most of the rows of a list; comparing with the previous row is faster than two dictionary
        # look-ups.
        found: References = {}
        before: tuple[str, str] | None = None
        for version, context, target in at_most(rows, most):
            if (version, context) != before:
                before = version, context
                targets = found.setdefault(version, {})[context] = []
            targets.append(target)
        return found

    if not versions or (contexts is not None and not contexts):
        return Question("", (), understand)
    only = "" if contexts is None else f" AND {name}.context = ANY(%s::text[])"
    sql = f"""SELECT {name}.version_id::text, {name}.context, {name}.target_id::text FROM elements_reference {name}
        WHERE {name}.version_id = ANY(%s::uuid[]){only} ORDER BY {name}.version_id, {name}.context, {name}.position
        LIMIT {most + 1:d}"""  # noqa: S608  constants
    return Question(
        sql, [id_array(versions)] if contexts is None else [id_array(versions), text_array(contexts)], understand
    )


Children = dict[str, list[Identity]]
# Order of siblings (D480).
BY_POSITION = "e.position, e.rank, e.id"


def children_of(audience: Audience, parents: Collection[str], types: Collection[str]) -> Question[Children]:
    most = most_rows(len(parents))

    def understand(rows: list[Row]) -> Children:
        found: Children = {}
        for row in at_most(rows, most):
            found.setdefault(row[0], []).append(Identity._make(row[1:]))
        return found

    if not parents or not types:
        return Question("", (), understand)
    sql = f"""SELECT e.parent_id::text, {IDENTITY} FROM elements_element e
        JOIN elements_elementversion v ON v.id = e.{audience.pointer}
        WHERE e.parent_id = ANY(%s::uuid[]) AND e.type_id = ANY(%s::uuid[])
        ORDER BY e.parent_id, {BY_POSITION} LIMIT {most + 1:d}"""  # noqa: S608  constants
    return Question(sql, [id_array(parents), id_array(types)], understand)


class ShapeRow(NamedTuple):
    version: str
    shape: str
    element: str


Shapes = dict[str, list[ShapeRow]]


def read_shapes(versions: Collection[str]) -> Shapes:
    return ask(shapes_of(versions))


def shapes_of(versions: Collection[str]) -> Question[Shapes]:
    most = most_rows(len(versions))

    def understand(rows: list[Row]) -> Shapes:
        found: Shapes = {}
        for row in at_most(rows, most):
            found.setdefault(row[0], []).append(ShapeRow(*row))
        return found

    sql = f"""SELECT s.version_id::text, s.id::text, s.element_id::text FROM elements_shape s
        WHERE s.version_id = ANY(%s::uuid[]) ORDER BY s.version_id, s.position LIMIT {most + 1:d}"""  # noqa: S608  constants
    return Question(sql if versions else "", [id_array(versions)], understand)


def predecessors_of(shapes: Sequence[str]) -> Question[dict[str, list[str]]]:
    most = most_rows(len(shapes))

    def understand(rows: list[Row]) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for shape, predecessor in at_most(rows, most):
            found.setdefault(shape, []).append(predecessor)
        return found

    sql = f"""SELECT f.shape_id::text, f.predecessor_id::text FROM elements_shapeflow f
        WHERE f.shape_id = ANY(%s::uuid[]) ORDER BY f.shape_id, f.position LIMIT {most + 1:d}"""  # noqa: S608  constants
    return Question(sql if shapes else "", [id_array(shapes)], understand)


def predecessors_in(version: str) -> Question[dict[str, list[str]]]:
    """Return the predecessors of the shapes of a diagram."""
    every = predecessors_of(())
    most = most_rows(1)
    sql = f"""SELECT f.shape_id::text, f.predecessor_id::text
        FROM elements_shape s JOIN elements_shapeflow f ON f.shape_id = s.id
        WHERE s.version_id = %s::uuid ORDER BY f.shape_id, f.position LIMIT {most + 1:d}"""  # noqa: S608  constants
    return Question(sql, [version], every.understand)


Parents = dict[str, str | None]


def read_parents(elements: Collection[str]) -> Parents:
    return ask(parents_of(elements))


def parents_of(elements: Collection[str]) -> Question[Parents]:
    """Return the parents of elements and of all their ancestors, by element."""
    most = most_rows(len(elements))
    # UNION instead of UNION ALL: shared ancestors are visited once, and a cycle would end. LATERAL with a limit is one
    # index look-up for each element, regardless of the planner's estimate.
    sql = f"""WITH RECURSIVE above AS (
            SELECT e.id, e.parent_id FROM elements_element e WHERE e.id = ANY(%s::uuid[])
            UNION SELECT up.id, up.parent_id FROM above CROSS JOIN LATERAL (
                SELECT e.id, e.parent_id FROM elements_element e WHERE e.id = above.parent_id LIMIT 1) up)
        SELECT id::text, parent_id::text FROM above LIMIT {most + 1:d}"""  # noqa: S608  constants
    return Question(sql if elements else "", [id_array(elements)], lambda rows: dict(at_most(rows, most)))


Known = dict[str, list[VersionSummary]]


def known_versions_of(audience: Audience, owners: Collection[VersionRow]) -> Question[Known]:
    """Return all versions of the elements of these rows that the reader may see, oldest first, by element."""
    elements = {row.element: row for row in owners}
    most = most_rows(len(elements))

    def understand(rows: list[Row]) -> Known:
        found: Known = {}
        for element, version, state, stereotype, was_released in at_most(rows, most):
            owner = elements[element]
            identity = Identity(element, owner.creation, owner.type, version, state, stereotype)
            found.setdefault(element, []).append(VersionSummary(identity, was_released))
        return found

    if not elements:
        return Question("", (), understand)
    parameters: list[object] = [text_array(sorted(EVER_PUBLISHED)), id_array(elements)]
    visible = ""
    if not audience.sees_drafts:
        visible = " AND v.id = ANY(%s::uuid[])"
        parameters.append(id_array(row.published for row in elements.values() if row.published))
    released = "v.released_on IS NOT NULL OR v.category = ANY(%s::text[])"
    sql = f"""SELECT v.element_id::text, v.id::text, v.state, v.stereotype, {released}
        FROM elements_elementversion v WHERE v.element_id = ANY(%s::uuid[]){visible}
        ORDER BY v.element_id, v.major, v.minor LIMIT {most + 1:d}"""  # noqa: S608  constants
    return Question(sql, parameters, understand)
