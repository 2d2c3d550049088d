"""Elements by an id that somebody searches for (D402)."""

from __future__ import annotations

from elements.reading.rows import Audience
from repository_site.core.database.statements import fetch
from repository_site.core.wording import GUID

# Copies of one element that are found.
MOST = 200


def versions_with_id(audience: Audience, text: str) -> list[str]:
    """Return the version of each element with this id: its own, that of its first copy (D11), or of a version.

    Readers who see no drafts find published versions only: they must not learn to which element another one belongs.
    """
    if not GUID.fullmatch(text):
        return []
    owner = "(SELECT o.element_id FROM elements_elementversion o WHERE o.id = %s::uuid)"
    own = f"e.id = {owner}" if audience.sees_drafts else "v.id = %s::uuid"
    can_open = audience.opens("e")
    sql = f"""SELECT v.id::text FROM elements_element e JOIN elements_elementversion v ON v.id = e.{audience.pointer}
        WHERE (%s::uuid IN (e.id, e.creation_id) OR {own}) AND {can_open.sql}
        ORDER BY v.sort_name, v.id LIMIT {MOST}"""  # noqa: S608  constants
    return [row[0] for row in fetch(sql, [text, text, *can_open.parameters])]
