"""What keeps elements from being deleted (D19): children, and whatever else names them."""

from __future__ import annotations

from collections.abc import Sequence

from elements.reading.rows import fetch

# Enough to see what is meant.
SHOWN = 5


def find_obstacles(elements: Sequence[str], versions: Sequence[str], *, also_shapes: bool = True) -> list[str]:
    """A sentence for each kind of obstacle, apart from these elements and versions themselves."""
    both = [list(elements), list(versions)]
    found = [
        _named("it has children", "SELECT c.id::text FROM elements_element c WHERE c.parent_id = ANY(%s::uuid[])"
               " AND c.id <> ALL(%s::uuid[])", [both[0], both[0]]),
        _named("it is referred to", "SELECT r.context || ' of ' || r.version_id::text FROM elements_reference r"
               " WHERE r.target_id = ANY(%s::uuid[]) AND r.version_id <> ALL(%s::uuid[])", both),
        _named("it has created, changed or released elements", """SELECT v.id::text FROM elements_elementversion v
            WHERE v.id = ANY(ARRAY(
                SELECT c.id FROM elements_elementversion c WHERE c.created_by_id = ANY(%s::uuid[])
                UNION ALL SELECT c.id FROM elements_elementversion c WHERE c.changed_by_id = ANY(%s::uuid[])
                UNION ALL SELECT c.id FROM elements_elementversion c WHERE c.released_by_id = ANY(%s::uuid[])))
            AND v.id <> ALL(%s::uuid[])""", [both[0], both[0], both[0], both[1]]),
    ]  # fmt: skip
    if also_shapes:
        sql = "SELECT DISTINCT s.version_id::text FROM elements_shape s WHERE s.element_id = ANY(%s::uuid[])"
        found.append(_named("it is drawn in the diagram", f"{sql} AND s.version_id <> ALL(%s::uuid[])", both))
    return [text for text in found if text]


def _named(what: str, sql: str, parameters: Sequence[object]) -> str:
    names = [row[0] for row in fetch(f"{sql} LIMIT {SHOWN + 1}", parameters)]
    more = " and others" if len(names) > SHOWN else ""
    return f"{what}: {', '.join(names[:SHOWN])}{more}" if names else ""
