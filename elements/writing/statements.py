"""Statements that write. Each handles all elements of a request, so their number does not grow with it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple
from uuid import UUID, uuid4

from django.db.models import ManyToOneRel

from elements.models import ElementVersion
from elements.permission_sets.inheritance import keep_inherited
from elements.reading.rows import VersionRow
from elements.writing.deciding.sibling_order import Sibling
from facets.permission_sets import PermissionSets
from repository_site.core.database.prepared import Statement
from repository_site.core.database.statements import as_arrays, engine, fetch, look_up


def execute(sql: str, parameters: Sequence[Any]) -> None:
    """Run a statement of fixed text, which is planned once as those that read are."""
    look_up(sql, parameters)


def execute_together(statements: Sequence[Statement]) -> None:
    """Run independent statements in one trip."""
    engine().look_up_all(statements)


def insert_elements(
    sets: PermissionSets, rows: Sequence[tuple[str, str, str, str | None, int, str, str, str | None]]
) -> None:
    """Insert rows of id, creation id, type, parent, position, rank, newest and published version, below the permission
    sets of the storage."""
    if rows:
        sql = """INSERT INTO elements_element
                (id, creation_id, type_id, parent_id, position, rank, newest_id, published_id)
            SELECT n.id, n.creation, n.type, n.parent, n.position, n.rank, n.newest, n.published FROM unnest(
                %s::uuid[], %s::uuid[], %s::uuid[], %s::uuid[], %s::int[], %s::text[], %s::uuid[], %s::uuid[])
                AS n (id, creation, type, parent, position, rank, newest, published)"""
        execute(sql, as_arrays(rows))
        keep_inherited(sets, [row[0] for row in rows])


def insert_versions(rows: Sequence[tuple[Any, ...]]) -> None:
    """Insert rows of id, element, state, category, major, minor, stereotype, attributes, sort name, valid from, valid
    until, time and caller."""
    if rows:
        sql = """INSERT INTO elements_elementversion (id, element_id, state, category, major, minor, stereotype,
                attributes, sort_name, valid_from, valid_until, created_on, changed_on, created_by_id, changed_by_id)
            SELECT n.id, n.element, n.state, n.category, n.major, n.minor, n.stereotype, n.attributes, n.sort_name,
                n.valid_from, n.valid_until, n.at, n.at, n.caller, n.caller FROM unnest(
                %s::uuid[], %s::uuid[], %s::text[], %s::text[], %s::int[], %s::int[], %s::text[], %s::jsonb[],
                %s::text[], %s::timestamptz[], %s::timestamptz[], %s::timestamptz[], %s::uuid[])
                AS n (id, element, state, category, major, minor, stereotype, attributes, sort_name, valid_from,
                valid_until, at, caller)"""
        execute(sql, as_arrays(rows))


def update_of_versions(rows: Sequence[tuple[Any, ...]]) -> list[Statement]:
    """Return the update by rows of id, stereotype, attributes, sort name, valid from, valid until, time and caller."""
    if rows:
        sql = """UPDATE elements_elementversion v SET stereotype = n.stereotype, attributes = n.attributes,
                sort_name = n.sort_name, valid_from = n.valid_from, valid_until = n.valid_until, changed_on = n.at,
                changed_by_id = n.caller, revision = repository_new_revision() FROM unnest(
                %s::uuid[], %s::text[], %s::jsonb[], %s::text[], %s::timestamptz[], %s::timestamptz[],
                %s::timestamptz[], %s::uuid[])
                AS n (id, stereotype, attributes, sort_name, valid_from, valid_until, at, caller)
            WHERE v.id = n.id"""
        return [(sql, as_arrays(rows))]
    return []


def set_states(versions: Sequence[VersionRow], now: datetime, caller: UUID | None) -> None:
    if versions:
        sql = """UPDATE elements_elementversion v SET state = n.state, category = n.category, major = n.major,
                minor = n.minor, released_on = n.released_on, released_by_id = n.released_by, valid_from = n.valid_from,
                valid_until = n.valid_until, changed_on = %s, changed_by_id = %s,
                revision = repository_new_revision() FROM unnest(
                %s::uuid[], %s::text[], %s::text[], %s::int[], %s::int[], %s::timestamptz[], %s::uuid[],
                %s::timestamptz[], %s::timestamptz[])
                AS n (id, state, category, major, minor, released_on, released_by, valid_from, valid_until)
            WHERE v.id = n.id"""
        rows = [
            (
                each.version, each.state, each.category, each.major, each.minor, each.released_on, each.released_by,
                each.valid_from, each.valid_until,
            )
            for each in versions
        ]  # fmt: skip
        execute(sql, [now, caller, *as_arrays(rows)])


def point_elements(rows: Sequence[tuple[str, str, str | None]]) -> None:
    """Set the newest and the published version of elements, which the two audiences read (D6)."""
    if rows:
        sql = """UPDATE elements_element e SET newest_id = n.newest, published_id = n.published
            FROM unnest(%s::uuid[], %s::uuid[], %s::uuid[]) AS n (id, newest, published) WHERE e.id = n.id"""
        execute(sql, as_arrays(rows))


def touch_versions(versions: Sequence[str], now: Any, caller: Any) -> None:
    """Mark versions as changed whose diagrams have changed."""
    sql = """UPDATE elements_elementversion SET changed_on = %s, changed_by_id = %s,
        revision = repository_new_revision() WHERE id = ANY(%s::uuid[])"""
    execute(sql, [now, caller, list(versions)])


def replace_references(contexts: Iterable[tuple[str, str, Sequence[str]]]) -> None:
    """Replace the targets of contexts, given as version, context and targets."""
    every = list(contexts)
    if not every:
        return
    sql = """DELETE FROM elements_reference r USING unnest(%s::uuid[], %s::text[]) AS n (version, context)
        WHERE r.version_id = n.version AND r.context = n.context"""
    execute(sql, as_arrays([(version, context) for version, context, _ in every]))
    rows = [
        (uuid4(), version, context, position, target)
        for version, context, targets in every
        for position, target in enumerate(targets)
    ]
    if rows:
        sql = """INSERT INTO elements_reference (id, version_id, context, position, target_id)
            SELECT * FROM unnest(%s::uuid[], %s::uuid[], %s::text[], %s::int[], %s::uuid[])"""
        execute(sql, as_arrays(rows))


def move_elements(sets: PermissionSets, rows: Sequence[tuple[str, str | None, int, str]]) -> None:
    """Move elements by rows of element, parent, position and rank, below the permission sets of the storage."""
    if rows:
        sql = """UPDATE elements_element e SET parent_id = n.parent, position = n.position, rank = n.rank
            FROM unnest(%s::uuid[], %s::uuid[], %s::int[], %s::text[]) AS n (id, parent, position, rank)
            WHERE e.id = n.id"""
        execute(sql, as_arrays(rows))
        keep_inherited(sets, [row[0] for row in rows])


class Siblings(NamedTuple):
    """The children of a parent: their number, and the position after the last one."""

    number: int
    next_position: int


def read_siblings(parents: Sequence[str]) -> dict[str, Siblings]:
    """Return the children of each parent, and make other requests that add children there wait.

    Advisory locks, at most 64 per storage, do that instead of row locks on the parents: a request that changes a parent
    may be waiting for this one.
    """
    if not parents:
        return {}
    sql = """SELECT pg_advisory_xact_lock(key) FROM (SELECT DISTINCT hashtextextended(
            'children ' || current_setting('repository.storage') || (hashtext(id) & 63), 0) AS key
        FROM unnest(%s::text[]) AS id ORDER BY key) AS keys"""
    fetch(sql, [list(parents)])
    sql = """SELECT e.parent_id::text, count(*), max(e.position) + 1 FROM elements_element e
        WHERE e.parent_id = ANY(%s::uuid[]) GROUP BY e.parent_id"""
    found = {parent: Siblings(*numbers) for parent, *numbers in fetch(sql, [list(parents)])}
    return {parent: found.get(parent, Siblings(0, 0)) for parent in parents}


def read_order(parents: Sequence[str], without: Sequence[str]) -> dict[str, list[Sibling]]:
    """Return the children of each parent in their order, except those of the types `without`."""
    sql = """SELECT e.parent_id::text, e.id::text, e.position, e.rank FROM elements_element e
        WHERE e.parent_id = ANY(%s::uuid[]) AND e.type_id <> ALL(%s::uuid[])
        ORDER BY e.parent_id, e.position, e.rank, e.id"""
    found: dict[str, list[Sibling]] = {parent: [] for parent in parents}
    for parent, *sibling in fetch(sql, [list(parents), list(without)]):
        found[parent].append(Sibling(*sibling))
    return found


def delete_elements(elements: Sequence[str]) -> None:
    """Delete elements with their versions and references. The transaction checks foreign keys when it ends."""
    if not elements:
        return
    versions = "SELECT id FROM elements_elementversion WHERE element_id = ANY(%s::uuid[])"
    for table in ("elements_reference", "elements_versionfile"):
        execute(f"DELETE FROM {table} WHERE version_id IN ({versions})", [list(elements)])  # noqa: S608  constants
    execute("DELETE FROM elements_elementversion WHERE element_id = ANY(%s::uuid[])", [list(elements)])
    execute("DELETE FROM elements_element WHERE id = ANY(%s::uuid[])", [list(elements)])


def delete_parts(versions: Sequence[str]) -> None:
    """Delete what other apps have linked to versions, such as their tasks (D347)."""
    for table, column in _links_to_versions() if versions else ():
        execute(f"DELETE FROM {table} WHERE {column} = ANY(%s::uuid[])", [list(versions)])  # noqa: S608  names of our tables


@cache
def _links_to_versions() -> list[tuple[str, str]]:
    """Return tables and columns that link to versions. This app cannot name the apps above it; the models know them."""
    found = ElementVersion._meta.get_fields(include_hidden=True)
    links = [each.field for each in found if isinstance(each, ManyToOneRel)]
    others = [each for each in links if each.model._meta.app_label != "elements"]
    return [(each.model._meta.db_table, f"{each.name}_id") for each in others]


def delete_versions(rows: Sequence[tuple[str, str, str]]) -> None:
    """Delete versions by rows of element, version and the version that is the newest one then."""
    if not rows:
        return
    elements, versions, newest = as_arrays(rows)
    for table in ("elements_reference", "elements_versionfile"):
        execute(f"DELETE FROM {table} WHERE version_id = ANY(%s::uuid[])", [versions])  # noqa: S608  constants
    execute("DELETE FROM elements_elementversion WHERE id = ANY(%s::uuid[])", [versions])
    sql = """UPDATE elements_element e SET newest_id = n.newest
        FROM unnest(%s::uuid[], %s::uuid[]) AS n (id, newest) WHERE e.id = n.id"""
    execute(sql, [elements, newest])
