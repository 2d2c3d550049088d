"""Which elements a list holds, in which order (D9), and how a page of them is found (D12).

Pages are found by narrow keys first; the wide columns are read for the rows of the page only, since a column that an
OFFSET passes over is computed all the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db import connection

from elements.filters.conditions import Condition
from elements.reading import rows
from elements.reading.rows import Audience, VersionRow
from repository_site.core.database.statements import fetch, id_array, look_up

BY_NAME = "v.sort_name, e.id"
BY_POSITION = "e.position, e.id"
BY_AGE = "v.major, v.minor, v.id"


@dataclass(frozen=True, slots=True)
class Milestone:
    """An element of a list that is ordered by name, and how many come before it."""

    place: int
    name: str
    element: str

    @property
    def and_after(self) -> Condition:
        # Said of the name alone as well: that is what the index can begin with.
        condition = "v.sort_name >= %s AND (v.sort_name, e.id) >= (%s, %s::uuid)"
        return Condition(condition, (self.name, self.name, self.element))


@dataclass(frozen=True, slots=True)
class Selection:
    """`tables` names e, the element, and v, its version; `conditions` are joined by AND."""

    tables: str
    conditions: tuple[Condition, ...]
    order: str
    without_versions: str = ""
    """How to count without a look at the versions, while no condition is about them."""

    @property
    def source(self) -> str:
        return f"{self.tables} WHERE {self._where}"

    @property
    def is_whole(self) -> bool:
        """All of a list, or of its roots: nobody's filter, and no place to begin at, is among the conditions."""
        return bool(self.without_versions)

    @property
    def counted(self) -> str:
        return f"{self.without_versions} AND {self._where}" if self.is_whole else self.source

    @property
    def _where(self) -> str:
        return " AND ".join(f"({each.sql})" for each in self.conditions)

    @property
    def parameters(self) -> list[Any]:
        return [value for each in self.conditions for value in each.parameters]

    def matching(self, condition: Condition | None) -> Selection:
        if condition is None:
            return self
        return replace(self, conditions=(*self.conditions, condition), without_versions="")


def current_versions(audience: Audience) -> str:
    return f"elements_element e JOIN elements_elementversion v ON v.id = e.{audience.pointer}"


def of_types(audience: Audience, types: Sequence[str]) -> Selection:
    """Every element of these types."""
    return Selection(current_versions(audience), (_of_types(types),), BY_NAME, _counted(audience))


def roots_of_types(audience: Audience, types: Sequence[str]) -> Selection:
    """Elements of these types that have no parent."""
    conditions = (_of_types(types), Condition("e.parent_id IS NULL", ()))
    return Selection(current_versions(audience), conditions, BY_NAME, _counted(audience))


def children_of(audience: Audience, element: str, types: Sequence[str]) -> Selection:
    parent = Condition("e.parent_id = %s::uuid", (element,))
    return Selection(current_versions(audience), (parent, _of_types(types)), BY_POSITION)


def versions_of(audience: Audience, element: str) -> Selection:
    """All versions that the reader may see."""
    tables = "elements_element e JOIN elements_elementversion v ON v.element_id = e.id"
    conditions = [Condition("e.id = %s::uuid", (element,))]
    if not audience.sees_drafts:
        conditions.append(Condition("v.id = e.published_id", ()))
    return Selection(tables, tuple(conditions), BY_AGE)


def these_versions(versions: Sequence[str]) -> Selection:
    """For testing a filter on versions that were found already."""
    return Selection(rows.VERSION_AND_ELEMENT, (Condition("v.id = ANY(%s::uuid[])", (list(versions),)),), BY_AGE)


def _counted(audience: Audience) -> str:
    return f"elements_element e WHERE e.{audience.pointer} IS NOT NULL"


def _of_types(types: Sequence[str]) -> Condition:
    """Said in the text, for plans that are kept: how many elements the types have decides about them."""
    return Condition(f"e.type_id = ANY('{id_array(types)}'::uuid[])", ())


def count(selection: Selection) -> int:
    return int(fetch(f"SELECT count(*) FROM {selection.counted}", selection.parameters)[0][0])  # noqa: S608  constants of ours


def version_ids(selection: Selection) -> set[str]:
    return {row[0] for row in fetch(f"SELECT v.id::text FROM {selection.source}", selection.parameters)}  # noqa: S608  constants of ours


def place_of(selection: Selection, audience: Audience, identity: str) -> int | None:
    """How many come before the element with this id, or with a version of this id; None when it is not among them."""
    # A viewer must not learn which element a version belongs to that is not published.
    owner = "SELECT element_id FROM elements_elementversion WHERE id = %s::uuid"
    own = f"(SELECT coalesce(({owner}), %s::uuid))" if audience.sees_drafts else "%s::uuid"
    named = f"{own} IN (e.id, v.id)" if not audience.sees_drafts else f"e.id = {own}"
    # A row of keys is smaller than another exactly when it comes before it; no key is ever null.
    sql = f"""WITH wanted AS (SELECT {selection.order} FROM {selection.source} AND {named} LIMIT 1)
        SELECT count(*) FROM {selection.source} AND ({selection.order}) < (SELECT * FROM wanted)
        HAVING EXISTS (SELECT FROM wanted)"""  # noqa: S608  constants of ours
    key = [identity, identity] if audience.sees_drafts else [identity]
    found = fetch(sql, [*selection.parameters, *key, *selection.parameters])
    return int(found[0][0]) if found else None


def read_page(
    selection: Selection,
    limit: int | None,
    offset: int = 0,
    *,
    start: Milestone | None = None,
    with_attributes: bool = True,
    for_reporting: bool = False,
) -> list[VersionRow]:
    """The rows of a page; without a limit, all. `start` is somewhere before it."""
    if start is not None:
        selection, offset = selection.matching(start.and_after), offset - start.place
    versions = _find_page(selection, limit, offset)
    found = rows.read_versions(versions, with_attributes=with_attributes, for_reporting=for_reporting)
    # Outside of a snapshot one may have gone in between.
    return [found[version] for version in versions if version in found]


def _find_page(selection: Selection, limit: int | None, offset: int) -> list[str]:
    # Where most clients begin: all that decides about the plan stands in the text, so it can be planned once.
    is_first = selection.is_whole and limit and not offset
    bounds = f"LIMIT {limit:d}" if is_first else "LIMIT %s OFFSET %s"
    # MATERIALIZED: inlined, the text would be made of each id that OFFSET then drops.
    sql = f"""WITH page AS MATERIALIZED (SELECT v.id FROM {selection.source} ORDER BY {selection.order} {bounds})
        SELECT id::text FROM page"""  # noqa: S608  constants of ours
    found = look_up(sql) if is_first else fetch(sql, [*selection.parameters, limit, offset])
    return [row[0] for row in found]


def set_milestones(selection: Selection, step: int, upto: int, last: Milestone | None) -> list[Milestone]:
    """Each so many elements, behind the last one that is known."""
    begin = last.place if last else 0
    rest = selection.matching(last.and_after) if last else selection
    sql = f"""SELECT place, name, element::text FROM (
            SELECT v.sort_name AS name, e.id AS element, row_number() OVER (ORDER BY {rest.order}) - 1 AS place
            FROM {rest.source} ORDER BY {rest.order} LIMIT %s) passed
        WHERE place > 0 AND place %% %s = 0 ORDER BY place"""  # noqa: S608  constants of ours
    found = fetch(sql, [*rest.parameters, upto - begin + 1, step])
    return [Milestone(begin + place, name, element) for place, name, element in found]


def stream_keys(selection: Selection, size: int) -> Iterator[tuple[int, list[str]]]:
    """Every version id, in batches from a server-side cursor, with how many there are in all.

    The total comes with the keys, and so from the same snapshot: `count` stands before the elements in an answer.
    """
    sql = f"SELECT v.id::text, count(*) OVER () FROM {selection.source} ORDER BY {selection.order}"  # noqa: S608  constants of ours
    with connection.chunked_cursor() as cursor:
        cursor.execute(sql, selection.parameters)
        while batch := cursor.fetchmany(size):
            yield batch[0][1], [row[0] for row in batch]
