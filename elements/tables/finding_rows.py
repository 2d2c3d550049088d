"""Find the elements of rows: by the value of a key attribute, and targets of references by their names."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

import orjson

from elements.filters.syntax import fold_case
from elements.naming import FOLDED_LENGTH
from elements.reading.rows import Audience
from repository_site.core.database.statements import fetch, text_array

AT_ONCE = 5_000


class NamedElement(NamedTuple):
    id: str
    type: str


def elements_by_value(
    audience: Audience, key: str, culture: str, texts: Collection[str]
) -> dict[str, list[NamedElement]]:
    """Return the elements whose newest version has one of these texts in an attribute, by the text."""
    found: dict[str, list[NamedElement]] = {}
    opens = audience.opens("e")
    sql = f"""SELECT v.attributes -> %s ->> %s, e.id::text, e.type_id::text FROM elements_element e
        JOIN elements_elementversion v ON v.id = e.newest_id
        WHERE v.attributes -> %s ->> %s = ANY(%s::text[]) AND {opens.sql} ORDER BY e.id"""  # noqa: S608  constants
    for some in _parts(texts):
        for text, *element in fetch(sql, [key, culture, key, culture, text_array(some), *opens.parameters]):
            found.setdefault(text, []).append(NamedElement(*element))
    return found


def elements_by_name(audience: Audience, names: Collection[str]) -> dict[str, list[NamedElement]]:
    """Return the elements that have one of these names in any culture, by the name."""
    found: dict[str, dict[NamedElement, None]] = {}
    opens = audience.opens("e")
    sql = f"""SELECT e.id::text, e.type_id::text, v.attributes -> 'name' FROM elements_versionname n
        JOIN elements_elementversion v ON v.id = n.version_id JOIN elements_element e ON e.newest_id = v.id
        WHERE n.folded = ANY(%s::text[]) AND {opens.sql} ORDER BY e.id"""  # noqa: S608  constants
    for some in _parts(names):
        folded = text_array(sorted({fold_case(each)[:FOLDED_LENGTH] for each in some}))
        for id, type, texts in fetch(sql, [folded, *opens.parameters]):
            for text in _names(texts):
                found.setdefault(text, {})[NamedElement(id, type)] = None
    return {name: [*found.get(name, ())] for name in names}


def _names(texts: str | bytes | None) -> set[str]:
    values: Mapping[str, object] = orjson.loads(texts or "{}")
    return {" ".join(str(each).split()) for each in values.values()}


def _parts(texts: Collection[str]) -> list[list[str]]:
    ordered = sorted(texts)
    return [ordered[start : start + AT_ONCE] for start in range(0, len(ordered), AT_ONCE)]
