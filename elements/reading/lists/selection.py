"""Selection of the elements of a list, their order (D9), and their pages (D12).

Pages are found by narrow keys first. The wide columns are read for the rows of the page only, because PostgreSQL also
computes the columns of rows that an OFFSET skips.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from django.db import connection

from elements.filters.conditions import Condition
from elements.reading import rows
from elements.reading.rows import BY_POSITION, Audience, VersionRow
from repository_site.core.database.statements import Question, engine, fetch, id_array, look_up, set_for_transaction

BY_NAME = "v.sort_name, e.id"
BY_AGE = "v.major, v.minor, v.id"
# Tables of conditions that test references, and of those that an index of names narrows down.
REFERENCES, NAMES = "elements_reference", "elements_versionname"


@dataclass(frozen=True, slots=True)
class Milestone:
    """An element of a list ordered by name, and the number of elements before it."""

    place: int
    name: str
    element: str

    @property
    def and_after(self) -> Condition:
        # Also a condition on the name alone, which the index can use.
        condition = "v.sort_name >= %s AND (v.sort_name, e.id) >= (%s, %s::uuid)"
        return Condition(condition, (self.name, self.name, self.element))


@dataclass(frozen=True, slots=True)
class Selection:
    """Which versions a list contains. `tables` names e, the element, and v, its version; AND joins the `conditions`."""

    tables: str
    conditions: tuple[Condition, ...]
    order: str
    order_parameters: tuple[Any, ...] = ()
    without_versions: str = ""
    """A statement that counts without reading the versions, if no condition is about them."""

    @property
    def source(self) -> str:
        return f"{self.tables} WHERE {self._where}"

    @property
    def is_whole(self) -> bool:
        """Whether this is a whole list, or all of its roots: without a filter and without a start."""
        return bool(self.without_versions)

    @property
    def tests_all_references(self) -> bool:
        """Whether the filter tests the references of all elements of some types, and no index narrows them down."""
        _, *others = self.conditions
        return bool(others) and all(REFERENCES in each.sql and NAMES not in each.sql for each in others)

    @property
    def counted(self) -> str:
        return f"{self.without_versions} AND {self._where}" if self.is_whole else self.source

    @property
    def _where(self) -> str:
        return " AND ".join(f"({each.sql})" for each in self.conditions)

    @property
    def parameters(self) -> list[Any]:
        return [value for each in self.conditions for value in each.parameters]

    @property
    def ordered_parameters(self) -> list[Any]:
        return [*self.parameters, *self.order_parameters]

    def ordered_by(self, order: Condition | None) -> Selection:
        """Return the same selection in another order, as `read_order` returns it."""
        return self if order is None else replace(self, order=order.sql, order_parameters=order.parameters)

    def matching(self, condition: Condition | None) -> Selection:
        if condition is None:
            return self
        return replace(self, conditions=(*self.conditions, condition), without_versions="")


def current_versions(audience: Audience) -> str:
    return f"elements_element e JOIN elements_elementversion v ON v.id = e.{audience.pointer}"


def of_types(audience: Audience, types: Sequence[str]) -> Selection:
    return Selection(current_versions(audience), (_of_types(types),), BY_NAME, without_versions=_counted(audience))


def roots_of_types(audience: Audience, types: Sequence[str]) -> Selection:
    conditions = (_of_types(types), Condition("e.parent_id IS NULL", ()))
    return Selection(current_versions(audience), conditions, BY_NAME, without_versions=_counted(audience))


def children_of(audience: Audience, element: str, types: Sequence[str]) -> Selection:
    parent = Condition("e.parent_id = %s::uuid", (element,))
    return Selection(current_versions(audience), (parent, _of_types(types)), BY_POSITION)


def versions_of(audience: Audience, element: str) -> Selection:
    tables = "elements_element e JOIN elements_elementversion v ON v.element_id = e.id"
    conditions = [Condition("e.id = %s::uuid", (element,))]
    if not audience.sees_drafts:
        conditions.append(Condition("v.id = e.published_id", ()))
    return Selection(tables, tuple(conditions), BY_AGE)


def these_versions(versions: Sequence[str]) -> Selection:
    """Select among versions that were already found, to test a filter."""
    return Selection(rows.VERSION_AND_ELEMENT, (Condition("v.id = ANY(%s::uuid[])", (list(versions),)),), BY_AGE)


def these_elements(ids: Sequence[str]) -> Condition:
    return Condition("e.id = ANY(%s::uuid[])", (id_array(ids),))


def _counted(audience: Audience) -> str:
    return f"elements_element e WHERE e.{audience.pointer} IS NOT NULL"


def _of_types(types: Sequence[str]) -> Condition:
    """Put the types into the text of a statement whose plan is kept, because their sizes decide about the plan."""
    return Condition(f"e.type_id = ANY('{id_array(types)}'::uuid[])", ())


def count(selection: Selection) -> int:
    sql = f"SELECT count(*) FROM {selection.counted}"  # noqa: S608  constants
    with _without_loops(selection):
        return int(fetch(sql, selection.parameters)[0][0])


@contextmanager
def _without_loops(selection: Selection) -> Iterator[None]:
    """Let a statement that tests the references of all elements as of a time join them by hashes (D603).

    PostgreSQL has no statistics for a UNION ALL. It expects 200 different values in each column, so it takes a look-up
    for each row to be cheaper than a hash. A distributed database plans on its nodes.
    """
    if not engine().as_of or engine().is_distributed or not selection.tests_all_references:
        yield
        return
    set_for_transaction("enable_nestloop", "off")
    yield
    # After an error the transaction ends, and the parameter with it.
    set_for_transaction("enable_nestloop", "on")


def version_ids(selection: Selection) -> set[str]:
    return {row[0] for row in fetch(f"SELECT v.id::text FROM {selection.source}", selection.parameters)}  # noqa: S608  constants


def find_elements(selection: Selection, limit: int) -> list[str]:
    """Return the ids of the elements, in the order of the list."""
    sql = f"SELECT e.id::text FROM {selection.source} ORDER BY {selection.order} LIMIT %s"  # noqa: S608  constants
    return [row[0] for row in fetch(sql, [*selection.ordered_parameters, limit])]


def place_of(selection: Selection, audience: Audience, identity: str) -> int | None:
    """Return the number of elements before the one with this id or version id; None if it is not in the list."""
    # A viewer must not learn to which element an unpublished version belongs.
    owner = "SELECT element_id FROM elements_elementversion WHERE id = %s::uuid"
    own = f"(SELECT coalesce(({owner}), %s::uuid))" if audience.sees_drafts else "%s::uuid"
    named = f"{own} IN (e.id, v.id)" if not audience.sees_drafts else f"e.id = {own}"
    key = [identity, identity] if audience.sees_drafts else [identity]
    if selection.order != BY_NAME:
        return _place_in_order(selection, named, key)
    # Comparing rows of keys gives the order of the list; no key is ever null.
    sql = f"""WITH wanted AS (SELECT {selection.order} FROM {selection.source} AND {named} LIMIT 1)
        SELECT count(*) FROM {selection.source} AND ({selection.order}) < (SELECT * FROM wanted)
        HAVING EXISTS (SELECT FROM wanted)"""  # noqa: S608  constants
    found = fetch(sql, [*selection.parameters, *key, *selection.parameters])
    return int(found[0][0]) if found else None


def _place_in_order(selection: Selection, named: str, key: Sequence[str]) -> int | None:
    """Number all elements: keys may be missing or descend, so that rows of keys cannot be compared."""
    sql = f"""WITH placed AS MATERIALIZED (SELECT e.id AS element, v.id AS version,
            row_number() OVER (ORDER BY {selection.order}) - 1 AS place FROM {selection.source})
        SELECT p.place FROM placed p WHERE {named.replace("e.id", "p.element").replace("v.id", "p.version")} LIMIT 1"""  # noqa: S608  constants
    found = fetch(sql, [*selection.order_parameters, *selection.parameters, *key])
    return int(found[0][0]) if found else None


def read_page(
    selection: Selection,
    limit: int | None,
    offset: int = 0,
) -> list[VersionRow]:
    """Return the rows of a page without attributes, or all without a limit."""
    sql = _page_sql(selection, "LIMIT %s OFFSET %s")
    return [VersionRow(*row) for row in fetch(sql, [*selection.ordered_parameters, limit, offset])]


def page_of(selection: Selection, limit: int | None, offset: int = 0) -> Question[list[VersionRow]]:
    """Return a page of a selection whose values do not affect the plan, such as the children of an element. The limit
    affects it, so it is in the text."""
    bounds = f"LIMIT {limit:d} OFFSET %s" if limit else "OFFSET %s"
    parameters = [*selection.ordered_parameters, offset]
    return Question(_page_sql(selection, bounds), parameters, lambda found: [VersionRow(*row) for row in found])


def _page_sql(selection: Selection, bounds: str) -> str:
    """The wide columns are read for the rows of the page only."""
    return f"""WITH page AS MATERIALIZED (SELECT found.id, row_number() OVER () AS place
            FROM (SELECT v.id FROM {selection.source} ORDER BY {selection.order} {bounds}) AS found)
        SELECT {rows.row_columns("NULL")} FROM page JOIN elements_elementversion v ON v.id = page.id
        JOIN elements_element e ON e.id = v.element_id ORDER BY page.place"""  # noqa: S608  constants


def find_page(selection: Selection, limit: int | None, offset: int = 0, start: Milestone | None = None) -> list[str]:
    """Return the versions of a page. `start` is a milestone before it."""
    if start is not None:
        selection, offset = selection.matching(start.and_after), offset - start.place
    # Most clients begin here. The text contains everything that decides about the plan, so it is planned once.
    is_first = selection.is_whole and selection.order == BY_NAME and limit and not offset
    bounds = f"LIMIT {limit:d}" if is_first else "LIMIT %s OFFSET %s"
    # MATERIALIZED: otherwise PostgreSQL would also convert the ids that OFFSET skips to texts.
    sql = f"""WITH page AS MATERIALIZED (SELECT v.id FROM {selection.source} ORDER BY {selection.order} {bounds})
        SELECT id::text FROM page"""  # noqa: S608  constants
    found = look_up(sql) if is_first else fetch(sql, [*selection.ordered_parameters, limit, offset])
    return [row[0] for row in found]


def set_milestones(selection: Selection, step: int, upto: int, last: Milestone | None) -> list[Milestone]:
    """Return an element for every so many, after the last known one."""
    begin = last.place if last else 0
    rest = selection.matching(last.and_after) if last else selection
    sql = f"""SELECT place, name, element::text FROM (
            SELECT v.sort_name AS name, e.id AS element, row_number() OVER (ORDER BY {rest.order}) - 1 AS place
            FROM {rest.source} ORDER BY {rest.order} LIMIT %s) passed
        WHERE place > 0 AND place %% %s = 0 ORDER BY place"""  # noqa: S608  constants
    found = fetch(sql, [*rest.parameters, upto - begin + 1, step])
    return [Milestone(begin + place, name, element) for place, name, element in found]


def page_keys(selection: Selection, limit: int, offset: int) -> Iterator[tuple[int, list[str]]]:
    """Return the versions of a page with their number, as `stream_keys` does for a whole list."""
    if versions := find_page(selection, limit, offset):
        yield len(versions), versions


def stream_keys(selection: Selection, size: int) -> Iterator[tuple[int, list[str]]]:
    """Return all version ids, in batches from a server-side cursor, each with the total.

    The total comes with the keys and so from the same snapshot: `count` precedes the elements in a response.
    """
    sql = f"SELECT v.id::text, count(*) OVER () FROM {selection.source} ORDER BY {selection.order}"  # noqa: S608  constants
    with connection.chunked_cursor() as cursor:
        with _without_loops(selection):
            cursor.execute(sql, selection.ordered_parameters)
        while batch := cursor.fetchmany(size):
            yield batch[0][1], [row[0] for row in batch]
