"""Elements by an id that somebody searches for (D402)."""

from __future__ import annotations

from elements.reading.rows import Audience
from repository_site.core.database.statements import fetch
from repository_site.core.wording import GUID

# Copies of one element that are found.
MOST = 200
OF_ANY_VERSION = "SELECT o.element_id FROM elements_elementversion o WHERE o.id = %s::uuid"
OF_SHOWN_VERSION = "SELECT o.id FROM elements_element o WHERE o.{pointer} = %s::uuid"
# One index look-up for each meaning of the id. Row-level security keeps a condition with OR from using the indexes.
FIND = """WITH wanted AS MATERIALIZED (SELECT %s::uuid AS id UNION ({own}) UNION (SELECT c.id FROM elements_element c
        WHERE c.creation_id = %s::uuid AND c.{pointer} IS NOT NULL LIMIT {most}))
    SELECT v.id::text FROM wanted w
    CROSS JOIN LATERAL (SELECT e.{pointer} AS shown, e.type_id FROM elements_element e WHERE e.id = w.id LIMIT 1) e
    CROSS JOIN LATERAL (SELECT v.id, v.sort_name FROM elements_elementversion v WHERE v.id = e.shown LIMIT 1) v
    WHERE {can_open} ORDER BY v.sort_name, v.id LIMIT {most}"""


def versions_with_id(audience: Audience, text: str) -> list[str]:
    """Return the version of each element with this id: its own, that of its first copy (D11), or of a version.

    Readers who see no drafts find published versions only: they must not learn to which element another one belongs.
    """
    if not GUID.fullmatch(text):
        return []
    own = OF_ANY_VERSION if audience.sees_drafts else OF_SHOWN_VERSION.format(pointer=audience.pointer)
    can_open = audience.opens("e")
    sql = FIND.format(own=own, pointer=audience.pointer, can_open=can_open.sql, most=MOST)
    return [row[0] for row in fetch(sql, [text, text, text, *can_open.parameters])]
