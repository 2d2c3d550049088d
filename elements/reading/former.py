"""Versions that were published once. Links to them lead readers to what is published today (D411).

A reader learns the number of such a version and nothing else of it. Versions that were never published stay unknown.
"""

from __future__ import annotations

from typing import NamedTuple

from elements.reading.assembly.assembler import Reader
from elements.reading.rows import VERSION_AND_ELEMENT
from facets.blueprint.cycles import EVER_PUBLISHED
from repository_site.core.database.statements import id_array, look_up, text_array

# A version that was retired without a release was never published.
_WAS_PUBLISHED = "v.released_on IS NOT NULL AND v.category = ANY(%s::text[])"
_FOUND = "SELECT e.type_id::text, v.major, v.minor, e.published_id::text"
_BY_VERSION = f"{_FOUND} FROM {VERSION_AND_ELEMENT} WHERE v.id = %s::uuid AND {_WAS_PUBLISHED}"
_BY_ELEMENT = f"""{_FOUND} FROM {VERSION_AND_ELEMENT} WHERE v.element_id = %s::uuid AND {_WAS_PUBLISHED}
    ORDER BY v.major DESC, v.minor DESC LIMIT 1"""
# A new version of a diagram has copies of its parts, below the same element and with the same creation id (D11).
_BY_PART = f"""SELECT p.type_id::text, NULL, NULL, coalesce(
        (SELECT c.id FROM elements_element c WHERE c.parent_id = p.parent_id AND c.creation_id = p.creation_id
            AND c.published_id IS NOT NULL ORDER BY c.id LIMIT 1), e.published_id)::text
    FROM elements_shape s JOIN elements_element p ON p.id = s.element_id
    JOIN elements_elementversion v ON v.id = s.version_id JOIN elements_element e ON e.id = v.element_id
    WHERE s.element_id = %s::uuid AND {_WAS_PUBLISHED} AND p.type_id = ANY(%s::uuid[])
    ORDER BY v.major DESC, v.minor DESC LIMIT 1"""  # noqa: S608  constants


class Former(NamedTuple):
    """A version or part that was published once. `successor` is the version or part that is published today, if any."""

    type: str
    major: int | None
    minor: int | None
    successor: str | None


def find_former(reader: Reader, identity: str) -> Former | None:
    """Return what was published with this id, for a reader who finds nothing with it now.

    The id is that of a version, of an element that has been retired, or of a part of a diagram.
    """
    ever = text_array(sorted(EVER_PUBLISHED))
    parts = id_array(reader.configuration.living_in_diagrams)
    found = (
        look_up(_BY_VERSION, [identity, ever])
        or look_up(_BY_ELEMENT, [identity, ever])
        or look_up(_BY_PART, [identity, ever, parts])
    )
    former = Former(*found[0]) if found else None
    return former if former is not None and former.type not in reader.audience.closed else None
