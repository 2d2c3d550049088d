"""What keeps elements from being deleted (D19): children, and whatever else names them."""

from __future__ import annotations

from collections.abc import Sequence

from repository_site.database.statements import fetch

# Enough to see what is meant.
SHOWN = 5
# One statement for all kinds; of each a few are enough. One look-up a column, so that each has its index.
SQL = """
    (SELECT 'it has children', c.id::text FROM elements_element c
      WHERE c.parent_id = ANY(%(elements)s::uuid[]) AND c.id <> ALL(%(elements)s::uuid[]) LIMIT %(limit)s)
    UNION ALL (SELECT 'it is referred to', r.context || ' of ' || r.version_id::text FROM elements_reference r
      WHERE r.target_id = ANY(%(elements)s::uuid[]) AND r.version_id <> ALL(%(versions)s::uuid[]) LIMIT %(limit)s)
    UNION ALL (SELECT 'it is drawn in the diagram', s.version_id::text FROM elements_shape s
      WHERE s.element_id = ANY(%(elements)s::uuid[]) AND s.version_id <> ALL(%(versions)s::uuid[]) AND %(shapes)s
      LIMIT %(limit)s)
    UNION ALL (SELECT 'it has created elements', v.id::text FROM elements_elementversion v
      WHERE v.created_by_id = ANY(%(elements)s::uuid[]) AND v.id <> ALL(%(versions)s::uuid[]) LIMIT %(limit)s)
    UNION ALL (SELECT 'it has changed elements', v.id::text FROM elements_elementversion v
      WHERE v.changed_by_id = ANY(%(elements)s::uuid[]) AND v.id <> ALL(%(versions)s::uuid[]) LIMIT %(limit)s)
    UNION ALL (SELECT 'it has released elements', v.id::text FROM elements_elementversion v
      WHERE v.released_by_id = ANY(%(elements)s::uuid[]) AND v.id <> ALL(%(versions)s::uuid[]) LIMIT %(limit)s)
    UNION ALL (SELECT 'a token that is not revoked calls as it', t.name FROM storage_apitoken t
      WHERE t.storage_id = current_setting('repository.storage')::uuid AND t.revoked_on IS NULL
        AND (t.id = ANY(%(elements)s::uuid[]) OR t.user_id = ANY(%(elements)s::uuid[])) LIMIT %(limit)s)
"""


def find_obstacles(elements: Sequence[str], versions: Sequence[str], *, also_shapes: bool = True) -> list[str]:
    """A sentence for each kind of obstacle, apart from these elements and versions themselves."""
    named: dict[str, list[str]] = {}
    parameters = {"elements": list(elements), "versions": list(versions), "shapes": also_shapes, "limit": SHOWN + 1}
    for what, name in fetch(SQL, parameters):
        names = named.setdefault(what, [])
        if name not in names:
            names.append(name)
    return [
        f"{what}: {', '.join(names[:SHOWN])}{' and others' if len(names) > SHOWN else ''}"
        for what, names in named.items()
    ]
