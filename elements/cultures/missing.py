"""Elements without a value in a culture that they have in another one (D484)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from elements.filters.compiling import FILLED, FIRST_FILLED
from elements.filters.conditions import Condition
from elements.reading.rows import IDENTITY, Audience, Identity
from elements.writing.inputs import SERVER_ATTRIBUTES
from facets.configuration import Configuration
from repository_site.core.database.statements import fetch, id_array
from repository_site.core.rest.rendering import to_json

_FILLED = FILLED.json("x.value")
# Tests `a.stored`, the values of an attribute by culture, and `y.value`, the one of a culture.
IS_MISSING = Condition(
    f"""({FIRST_FILLED.sql}) IS NOT TRUE
        AND EXISTS (SELECT FROM jsonb_each(a.stored) AS x(culture, value) WHERE {_FILLED.sql})""",
    (*FIRST_FILLED.parameters, *_FILLED.parameters),
)


@dataclass(frozen=True, slots=True)
class Untranslated:
    identity: Identity
    names: Sequence[str]
    """Attributes without a value in the culture."""


def read_untranslated(
    configuration: Configuration, audience: Audience, lcid: int, *, facet: str, after: str | None, limit: int
) -> list[Untranslated]:
    """Return elements in the order of their names, after the one with the id `after`. Versions are those that the
    caller sees; attributes that the caller does not see are not looked at."""
    ids = {key: str(id) for key, id in configuration.type_ids.items()}
    names = {
        ids[type.key]: [
            each.key
            for each in type.properties
            if each.attribute and not each.attribute.is_invariant_culture and each.key not in SERVER_ATTRIBUTES
        ]
        for type in configuration.types.values()
        if type.facet == facet and ids[type.key] not in audience.closed
    }
    # Comparing rows of keys gives the order of the list. The first condition is one that an index can use.
    start = """AND v.sort_name >= (SELECT w.sort_name FROM wanted w)
        AND (v.sort_name, e.id) > (SELECT w.sort_name, w.id FROM wanted w)"""
    sql = f"""WITH wanted AS MATERIALIZED (SELECT v.sort_name, e.id FROM elements_element e
            JOIN elements_elementversion v ON v.id = e.{audience.pointer} WHERE e.id = %s::uuid)
        SELECT m.names, {IDENTITY} FROM elements_element e
            JOIN elements_elementversion v ON v.id = e.{audience.pointer}
            CROSS JOIN LATERAL (SELECT array_agg(p.name ORDER BY p.place) AS names
                FROM jsonb_array_elements_text(%s::jsonb -> e.type_id::text) WITH ORDINALITY AS p(name, place),
                    LATERAL (SELECT v.attributes -> p.name AS stored) a,
                    LATERAL (SELECT a.stored -> %s::text AS value) y
                WHERE {IS_MISSING.sql}) m
        WHERE e.type_id = ANY(%s::uuid[]) AND m.names IS NOT NULL {start if after else ""}
        ORDER BY v.sort_name, e.id LIMIT %s"""  # noqa: S608  constants
    given = [after, to_json(names).decode(), str(lcid), *IS_MISSING.parameters, id_array(names), limit]
    return [Untranslated(Identity._make(row[1:]), row[0]) for row in fetch(sql, given)]
