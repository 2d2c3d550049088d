"""Rows that tell which permission sets apply to elements (D492).

The functions that insert and move elements call `keep_inherited` in the same transaction. Their number of statements
does not depend on the number of elements.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from facets.permission_sets import PermissionSets
from repository_site.core.database.statements import as_arrays, fetch, id_array, look_up
from storage.tenancy.scope import whole_content

BATCH = 10_000
ROOTS = "SELECT e.id::text FROM elements_element e WHERE e.parent_id IS NULL"
# The sets above the given elements, then everything below these. An ancestor of one can be below another one that moves
# with it, so the sets above are found in the tree and not in the rows that are being renewed.
FIND = """WITH RECURSIVE above AS (
        SELECT e.id AS root, e.parent_id, 0 AS height FROM elements_element e WHERE e.id = ANY(%s::uuid[])
        UNION ALL SELECT a.root, p.parent_id, a.height + 1 FROM above a JOIN elements_element p ON p.id = a.parent_id),
    outers AS (SELECT DISTINCT ON (a.root) a.root, s.number FROM above a
        JOIN elements_element p ON p.id = a.parent_id JOIN facets_permissionset s ON s.creation_id = p.creation_id
        ORDER BY a.root, a.height),
    below AS (
        SELECT e.id, e.type_id, coalesce(o.number, 0) AS outer_number, s.number AS own_number,
            coalesce(s.number, o.number, 0) AS set_number
        FROM elements_element e LEFT JOIN outers o ON o.root = e.id
        LEFT JOIN facets_permissionset s ON s.creation_id = e.creation_id WHERE e.id = ANY(%s::uuid[])
        UNION SELECT e.id, e.type_id, b.set_number, s.number, coalesce(s.number, b.set_number)
        FROM below b JOIN elements_element e ON e.parent_id = b.id
        LEFT JOIN facets_permissionset s ON s.creation_id = e.creation_id)
    SELECT r.id::text, r.set_number, r.facet_number, r.own_number, r.outer_number, r.is_wrong FROM (
        SELECT b.*, coalesce(f.number, 0) AS facet_number,
            (b.set_number, coalesce(f.number, 0))
                <> (coalesce(i.set_number, 0), coalesce(i.facet_number, 0)) AS is_wrong
        FROM below b JOIN facets_elementtype t ON t.id = b.type_id
        LEFT JOIN facets_permissionset f ON f.facet_id = t.facet_id
        LEFT JOIN elements_inheritedset i ON i.id = b.id) r
    WHERE r.own_number IS NOT NULL OR r.is_wrong"""
KEEP = """INSERT INTO elements_inheritedset (id, set_number, facet_number)
    SELECT n.id, n.set_number, n.facet_number FROM unnest(%s::uuid[], %s::int[], %s::int[])
        AS n (id, set_number, facet_number)
    ON CONFLICT (storage_id, id) DO UPDATE SET set_number = excluded.set_number, facet_number = excluded.facet_number"""
FORGET = "DELETE FROM elements_inheritedset i WHERE i.id = ANY(%s::uuid[])"
# Only if it changes: every change of a set renews the revision of the configuration.
NEST = """UPDATE facets_permissionset s SET outer_number = n.outer_number
    FROM unnest(%s::int[], %s::int[]) AS n (number, outer_number)
    WHERE s.number = n.number AND s.outer_number <> n.outer_number"""
NESTING = "SELECT s.number, s.outer_number FROM facets_permissionset s WHERE s.number = ANY(%s::int[])"


class Inherited(NamedTuple):
    """An element whose row is missing or has changed, or that has a set of its own."""

    element: str
    set_number: int
    facet_number: int
    own_number: int | None
    outer_number: int
    is_wrong: bool


def keep_inherited(sets: PermissionSets, elements: Collection[str]) -> None:
    """Renew the rows of elements that are new or have moved, and of everything below them."""
    if sets and elements:
        renew_inherited(elements)


def rebuild_inherited(*, dry_run: bool = False) -> int:
    """Renew the rows of all elements of the scope, and return how many rows and sets were wrong."""
    return renew_inherited([row[0] for row in fetch(ROOTS)], dry_run=dry_run)


@whole_content()
def renew_inherited(elements: Collection[str], *, dry_run: bool = False) -> int:
    """Renew the rows of elements and of everything below them, and return how many rows and sets were wrong."""
    ids = id_array(elements)
    found = [Inherited(*row) for row in fetch(FIND, [ids, ids])]
    wrong = [each for each in found if each.is_wrong]
    nested = _nested({each.own_number: each.outer_number for each in found if each.own_number})
    if not dry_run:
        for start in range(0, len(wrong), BATCH):
            _write(wrong[start : start + BATCH])
        if nested:
            look_up(NEST, as_arrays(nested))
    return len(wrong) + len(nested)


def _write(found: Sequence[Inherited]) -> None:
    limited = [each[:3] for each in found if each.set_number or each.facet_number]
    free = [each.element for each in found if not (each.set_number or each.facet_number)]
    if limited:
        look_up(KEEP, as_arrays(limited))
    if free:
        look_up(FORGET, [id_array(free)])


def _nested(outers: dict[int, int]) -> list[tuple[int, int]]:
    """Return the sets that are below another set than before, with its number."""
    known: dict[int, int] = dict(look_up(NESTING, [list(outers)])) if outers else {}
    return [(number, outer) for number, outer in outers.items() if known.get(number, outer) != outer]
